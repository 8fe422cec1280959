#ifndef HALYARD_TESTS_OPS_LOGITS_H
#define HALYARD_TESTS_OPS_LOGITS_H

/** \file
 * The logits of a row and the logarithm of the sum of their exponentials.
 */

#include "linear.h"

namespace ops_test {

inline std::vector<Inexact> logits_of(const Problem &p, int row) {
    std::vector<Inexact> logits;
    for (int col = 0; col < p.dim("n"); col++) {
        logits.push_back(linear(p, "x", row, "w", col, p.dim("k"), "bias"));
    }
    return logits;
}

/** The error of a logit is one of the result at most. Each e^x is off by 4 + 2 |x| roundings, twice, as a
 * panel's sum is scaled by another; the sum by as many as it has terms; the logarithm by 2 of its own. */
inline Inexact logsumexp_of(const std::vector<Inexact> &logits) {
    double top = -kInfinity, bottom = kInfinity, worst = 0, sum = 0;
    for (const Inexact &l : logits) {
        if (std::isnan(l.value)) {
            return {kNaN, 0};
        }
        top = std::max(top, l.value);
        if (std::isfinite(l.value)) {
            worst = std::max(worst, l.error);
            bottom = std::min(bottom, l.value);
        }
    }
    if (!std::isfinite(top)) {
        return {top, 0};  // no logit that is larger than -infinity, or one that is infinity
    }
    for (const Inexact &l : logits) {
        sum += std::exp(l.value - top);
    }
    const double value = top + std::log(sum);
    const double relative = double(logits.size()) + 12 + 4 * std::min(top - bottom, 90.0);
    return {value, worst + kRoundoff * (relative + 4 * std::fabs(top) + 4 * std::fabs(value) + 8)};
}

/** logsumexp - the logit of a label: a distance from the largest, so that large logits leave it its digits. NaN where none is the
 * largest. */
inline Inexact loss_of(const std::vector<Inexact> &logits, size_t label) {
    double top = -kInfinity;
    for (const Inexact &l : logits) {
        top = std::isnan(l.value) ? kInfinity : std::max(top, l.value);
        if (top == kInfinity) {
            break;
        }
    }
    if (!std::isfinite(top)) {
        return {kNaN, 0};
    }
    std::vector<Inexact> below;
    for (const Inexact &l : logits) {
        below.push_back({l.value - top, l.error});
    }
    Inexact loss = plus(logsumexp_of(below), -below[label].value);
    loss.error += below[label].error;
    return loss;
}

inline std::vector<Case> logits_cases(const Assignments &build) {
    std::vector<Case> cases;
    for (const Dims &dims : product_sizes(build, "m", "n", "k")) {
        // A rare tie of rows in 8 bits is most of a bound: it is counted wherever an output lies.
        const bool whole = has_blocks(variant_of(build)) && cases.size() > 2;
        cases.push_back({"random", dims, nullptr, whole});
    }
    if (has_blocks(variant_of(build))) {
        cases.push_back({"special rows", {{"m", 11}, {"n", 49}, {"k", block_step(build)}}, special_rows});
        return cases;
    }
    cases.push_back({"special rows", {{"m", 11}, {"n", 49}, {"k", 5}}, special_rows});
    // A column of -infinity, and of what exponentials cannot hold.
    const auto columns = [](KernelArguments &arguments, const Dims &) {
        for (int k = 0; k < 5; k++) {
            arguments.buffer("x").set({k, 0}, 1 + k);
            set_weight(arguments, "w", k, 3, -kInfinity);
            set_weight(arguments, "w", k, 60, 60);
            set_weight(arguments, "w", k, 61, -60);
        }
    };
    cases.push_back({"special columns", {{"m", 2}, {"n", 62}, {"k", 5}}, columns});
    // Three logits of 2^126, all of them, all of -2^126, and one that is infinite. Products by powers of two are exact.
    const auto huge = [](KernelArguments &arguments, const Dims &dims) {
        HostBuffer &x = arguments.buffer("x");
        const double unit = x.type().bits == 16 && x.type().code == halide_type_float ? 0x1p15 : 0x1p63;
        const double rows[][3] = {{unit, 0, 0}, {0, unit, 0}, {0, -unit, 0}, {0, 0, kInfinity}};
        for (int k = 0; k < 3; k++) {
            for (int row = 0; row < dims.at("m"); row++) {
                x.set({k, row}, rows[row % 4][k]);
            }
            for (int n = 0; n < dims.at("n"); n++) {
                set_weight(arguments, "w", k, n, k == 0 ? (n % 30 == 7 && n < 90 ? unit : 0) : k == 1 ? unit : n == 7 ? 1 : -1);
            }
        }
        if (HostBuffer *labels = find_buffer(arguments, "labels")) {
            labels->set({0}, 37);
        }
        if (HostBuffer *bias = find_buffer(arguments, "bias")) {
            bias->fill(0);
        }
    };
    cases.push_back({"huge logits", {{"m", 10}, {"n", 100}, {"k", 3}}, huge});
    return cases;
}

}  // namespace ops_test

#endif
