#ifndef HALYARD_TESTS_OPS_DRAWS_H
#define HALYARD_TESTS_OPS_DRAWS_H

/** \file
 * The token that a row of logits gives for a uniform number, in float64.
 */

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "rows.h"

namespace ops_test {

/** What a call asks of a row. */
struct Asked {
    double temperature, top_p, min_p, uniform;
    int top_k;
};

// NaN if no token has a probability.
inline double largest_of(const double *x, int vocab) {
    double top = -kInfinity;
    for (int i = 0; i < vocab; i++) {
        top = std::isnan(x[i]) || std::isnan(top) ? kNaN : std::max(top, x[i]);
    }
    return top == -kInfinity ? kNaN : top;
}

inline double below(double x, double top) {
    return x == top ? 0 : x - top;
}

inline int token_of(const Problem &p, const double *x, int vocab, const Asked &asked) {
    const double top = largest_of(x, vocab);
    if (std::isnan(top) || std::isnan(asked.temperature) || (asked.temperature > 0 && std::isnan(asked.uniform))) {
        return -1;
    }
    std::vector<int> order(static_cast<size_t>(vocab));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return x[a] > x[b]; });
    if (asked.temperature <= 0) {
        return order.front();
    }
    const double filter_temperature = p.is("temperature_last", "true") ? 1 : asked.temperature;
    const auto weight = [&](int i, double temperature) { return x[i] == -kInfinity ? 0 : std::exp(below(x[i], top) / temperature); };
    if (asked.top_k > 0 && asked.top_k < vocab) {
        order.resize(size_t(asked.top_k));
    }
    const auto keep_min_p = [&] {
        const double least = asked.min_p > 0 ? std::min(asked.min_p, 1.0) : 0;
        order.erase(std::remove_if(order.begin(), order.end(), [&](int i) { return weight(i, filter_temperature) < least; }), order.end());
    };
    if (!p.is("min_p_first", "false")) {
        keep_min_p();
    }
    if (asked.top_p < 1) {
        double all = 0, sum = 0;
        for (int i : order) {
            all += weight(i, filter_temperature);
        }
        size_t kept = 0;
        while (kept < order.size() && (kept == 0 || sum < asked.top_p * all)) {
            sum += weight(order[kept++], filter_temperature);
        }
        order.resize(kept);
    }
    keep_min_p();
    std::sort(order.begin(), order.end());
    double all = 0, sum = 0;
    for (int i : order) {
        all += weight(i, asked.temperature);
    }
    const double u = asked.uniform > 0 ? std::min(asked.uniform, 0x1.fffffep-1) : 0;
    int last = -1;
    for (int i : order) {
        const double w = weight(i, asked.temperature);
        sum += w;
        last = w > 0 ? i : last;
        if (sum > u * all) {
            break;
        }
    }
    return last;
}

/** The token, and those that are as good where a share of weights, which are exponentials of f32, is as good as at a limit. */
inline std::vector<int> tokens_of(const Problem &p, const double *x, int vocab, const Asked &asked) {
    std::vector<int> tokens = {token_of(p, x, vocab, asked)};
    const double near = 64 * kRoundoff;
    for (double by : {-near, near}) {
        std::vector<Asked> others(3, asked);
        others[0].top_p *= asked.top_p < 1 ? 1 + by : 1;
        others[1].min_p *= asked.min_p < 1 ? 1 + by : 1;
        others[2].uniform = asked.uniform < 0x1.fffffep-1 ? std::max(asked.uniform + by, 0.0) : asked.uniform;
        for (const Asked &other : others) {
            tokens.push_back(token_of(p, x, vocab, other));
        }
    }
    return tokens;
}

/** What is held to a range that ends at the first and the last of these. */
inline Expected one_of(const std::vector<int> &tokens) {
    const auto [low, high] = std::minmax_element(tokens.begin(), tokens.end());
    return {(*low + *high) / 2.0, (*high - *low) / 2.0};
}

}  // namespace ops_test

#endif
