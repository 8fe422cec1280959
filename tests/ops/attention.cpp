#include <algorithm>
#include <array>
#include <cmath>

#include "cache.h"
#include "keys.h"

namespace ops_test {

namespace {

// In roundoffs of f32. A logit is off by as many roundings as a head has elements, of the size of
// the sum of |scale q k|, and 2 more for each of mask, bias and ALiBi; that is the relative error of its exponential,
// which adds 4 + 2 |x| of its own. A result is a mean of values with such weights over a sum of
// them: it is off by twice their error and one rounding a key, of the mean of |v|. A running
// maximum rescales once a block of keys: 6 more for each of 8 keys. In bf16 the weights may be rounded before they
// meet the values and before they are summed, each time by half an epsilon of bf16 at most, or by 2^-16 where they are two.
struct Tolerance {
    int d, keys;
    double rounding;  // of weights
    double least;     // half of the distance of weights near 0

    double logit(double sum_abs, double added_abs) const {
        return (d + 5) * sum_abs + 6 * added_abs;
    }
    double result(double worst_logit, double spread, double mean_abs, double values_abs) const {
        const double weight = worst_logit + 4 + 2 * std::min(spread, 90.0);
        return ((2 * weight + 2 * keys + 8) * kRoundoff + 2 * rounding) * mean_abs + least * values_abs + 1e-37;
    }
};

class AttentionTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "online", "mma"}},
                {"set.head_dim", {"0", "32"}},
                {"type", {"bfloat16", "float32", "float16"}},
                {"weight_type", {"exact", "two_bf16", "bf16"}},
                {"causal", {"false", "true"}},
                {"windowed", {"false", "true"}},
                {"padded", {"false", "true"}},
                {"diagonal", {"bottom_right", "top_left", "lengths"}},
                {"masked", {"false", "true"}},
                {"mask_type", {"added", "boolean"}},
                {"add_bias", {"false", "true"}},
                {"bias_type", {"added", "boolean", "excluded"}},
                {"alibi", {"false", "true"}},
                {"capped", {"false", "true"}},
                {"add_sink", {"false", "true"}},
                {"store_lse", {"false", "true"}},
                {"target", {"avx2", "host"}}};
    }

    bool has_batches(const Assignments &choices) const override {
        return !is_on(choices, "causal") && !is_on(choices, "windowed") && !is_on(choices, "alibi");
    }

    std::vector<Case> cases(const Assignments &build) const override {
        const auto fixed = build.find("set.head_dim");
        const std::vector<int> depths = fixed != build.end() && fixed->second != "0" ? std::vector<int>{std::stoi(fixed->second)}
                                                                                     : std::vector<int>{1, 7, 32, 33, 64, 80, 15, 16, 17};
        const std::vector<int> queries = {1, 2, 15, 16, 17, 33, 7, 49};
        const std::vector<int> keys = {1, 2, 15, 16, 17, 33, 7, 65, 129};
        const std::vector<std::array<int64_t, 3>> heads = {{1, 1, 1}, {2, 2, 1}, {3, 1, 2}, {4, 2, 1}, {1, 1, 3}};
        std::vector<Case> cases;
        for (size_t n = 0; n < keys.size(); n++) {
            const auto &h = heads[n % heads.size()];
            cases.push_back({"random",
                             {{"d", cycle(depths, n)},
                              {"queries", cycle(queries, n)},
                              {"keys", cycle(keys, n)},
                              {"heads", h[0]},
                              {"key_heads", h[1]},
                              {"batch", h[2]}}});
        }
        const Dims some = {
            {"d", depths.front() == 1 ? 20 : depths.front()}, {"queries", 19}, {"keys", 37}, {"heads", 2}, {"key_heads", 1}, {"batch", 2}};
        cases.push_back({"large scores", some, large_scores});
        cases.push_back({"special queries", some, special_queries});
        // Values that are not finite, where every query sees a key of their block.
        const auto bias_type = build.find("bias_type");
        const bool all_see = build.at("mask_type") == "added" && (bias_type == build.end() || bias_type->second == "added") &&
                             build.at("diagonal") == "bottom_right";
        cases.push_back({"special keys", some, all_see ? special_keys : special_key});
        if (build.at("masked") == "true" && build.at("mask_type") == "added") {
            cases.push_back({"mask of -infinity", some, mask_of_infinity});
        }
        if (build.at("padded") == "true") {
            cases.push_back({"NaN in the padding", some, nan_in_padding});
        }
        if (build.at("causal") == "true") {
            Dims dims = some;
            dims["keys"] = 9;
            cases.push_back({"queries that see nothing", dims});
            // Only the last query sees the last key, which begins a block, as the query begins a strip.
            dims["queries"] = dims["keys"] = 385;
            dims["heads"] = dims["batch"] = 1;
            cases.push_back({"NaN in a block that no query of a strip sees", dims, nan_in_last_value, true});
        }
        if (build.count("page")) {
            cases.push_back({"a page that is none", some, a_page_that_is_none});
        }
        if (is_of_bytes(build) && !build.count("page") && depths.size() > 1) {
            cases.push_back(every_byte());
        }
        return cases;
    }

    // CUDA schedules are for one size of a head. Small tiles take the emulator less time.
    void settle(Assignments &build) const override {
        settle_terms(build);
        if (build["schedule"] != "unfused" && build["schedule"] != "attention.unfused") {
            build["store_lse"] = "false";
        }
        if (build["schedule"] == "online" || build["schedule"] == "attention.online") {
            build["add_sink"] = "false";
        }
        if (build["schedule"] == "mma") {
            build["type"] = "bfloat16";
            build["set.tiles"] = "always";
        }
        const auto weights = build.find("weight_type");
        if (weights != build.end() && weights->second == "bf16" && build["store_lse"] == "true") {
            weights->second = "exact";  // lse is then of sums of f32, as accuracy.md has them
        }
        const bool in_parts = build["schedule"] == "" || build["schedule"] == "mma";
        if (weights != build.end() && weights->second == "two_bf16" && !in_parts) {
            weights->second = "exact";
        }
        const auto target = build.find("target");
        if (build.count("query_block") && target != build.end() && target->second == "cuda") {
            build.erase("weight_type");
            build["key_block"] = "64";
            if (build.at("schedule") == "attention") {
                build["set.head_dim"] = build.at("causal") == "true" ? "64" : "32";
                build["set.ping_pong"] = build.at("query_block") == "64" ? "false" : build.at("causal");
            } else {
                build["query_block"] = "64";
            }
        }
    }

    std::string held_to() const override {
        return "keys + 8 + (d + 5) sum \\|scale q k\\| + 6 (\\|mask\\| + \\|bias\\| + \\|ALiBi\\| + \\|capped\\|, on a GPU 2 softcap) + 2 "
               "(highest - lowest logit), of the weighted mean of \\|v\\|; weights that are rounded 2^-7 of it more in bf16, in two parts "
               "2^-15, and 2^-10 in f16";
    }

    bool needs_some(const std::string &dim, const Assignments &build) const override {
        const auto lse = build.find("store_lse");  // is computed for heads of no elements as well, which read values then
        return dim == "key_heads" || (dim == "d" && lse != build.end() && lse->second == "true");
    }

    bool has_loose_extents() const override {
        return true;
    }

    std::vector<std::string> open_dims() const override {
        return {"queries", "batch"};
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        set_cache(arguments, seed);
        set_pages(arguments);
        set_lengths(arguments, {dims.at("keys") / 2, dims.at("keys"), 0});
        set_window(arguments, dims);
        set_terms(arguments);
    }

    // Where weights are rounded to bf16, each by 2^-9 at most: 1.1e-3 was seen.
    double most_in_bf16(const Problem &p) const override {
        return rounds_weights(p) ? 0x1p-8 : 1e-3;
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("out", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        std::vector<Expected> out;
        for (int n = 0; n < p.dim("batch"); n++) {
            for (int h = 0; h < p.dim("heads"); h++) {
                for (int i = 0; i < p.dim("queries"); i++) {
                    expect_query(p, i, h, n, output == "lse", out);
                }
            }
        }
        return out;
    }

private:
    static bool rounds_weights(const Problem &p) {
        return p.is("type", "bfloat16") && (p.is("weight_type", "bf16") || p.is("softmax", "rescaled"));
    }

    static void expect_query(const Problem &p, int i, int h, int n, bool lse, std::vector<Expected> &out) {
        const int d = p.dim("d"), keys = p.dim("keys"), hk = h / (p.dim("heads") / p.dim("key_heads"));
        const double rounding = rounds_weights(p)                                        ? 0x1p-8
                                : p.is("type", "bfloat16")                               ? 0x1p-16
                                : p.is("type", "float16") && p.is("softmax", "rescaled") ? 0x1p-11
                                                                                         : 0;
        // Two numbers in f16 that stand for a weight on a GPU end at 2^-24.
        const Tolerance tolerance{d, keys, rounding, p.on_gpu && p.is("type", "float16") ? 0x1p-25 : 0};
        const double scale = p.scalar("scale", 1);
        const Tensor &q = p["q"], &k = cache_of(p, "k"), &v = cache_of(p, "v");
        const int length = p.has("lengths") ? int(p["lengths"](n)) : keys, position = position_of(p, i, length, false);
        const double sink = sink_of(p, h);
        std::vector<double> logits;
        std::vector<bool> sees;
        double top = sink, bottom = kInfinity, worst = 0, sum = 0;
        bool none = true;  // no key is seen
        for (int key = 0; key < keys; key++) {
            double score = 0, sum_abs = 0;
            for (int c = 0; c < d; c++) {
                const double product = scale * q(c, i, h, n) * k(c, key, hk, n);
                score += product;
                sum_abs += std::fabs(product);
            }
            const Logit l = logit_of(p, score, sum_abs, position, i, key, h, n, length);
            sees.push_back(l.seen);
            const double logit = l.value;
            logits.push_back(logit);
            top = std::max(top, logit);  // a NaN comes in with the sum
            none = none && logit == -kInfinity;
            if (std::isfinite(logit)) {
                bottom = std::min(logit, bottom);
                worst = std::max(worst, tolerance.logit(l.sum_abs, l.added_abs));
            }
        }
        std::vector<double> weights;
        for (double logit : logits) {
            weights.push_back(none ? 0 : std::exp(logit - top));
            sum += weights.back();
        }
        if (std::isfinite(sink)) {
            sum += std::exp(sink - top);
            bottom = std::min(bottom, sink);
        }
        if (lse) {
            const double value = sum == 0 ? -kInfinity : top + std::log(sum);
            const double weight = worst + 4 + 2 * std::min(top - bottom, 90.0);
            out.push_back(
                {value, sum == 0 ? 0 : (weight + keys + 8 + 4 * std::fabs(value) + 4 * std::fabs(top)) * kRoundoff + 2 * rounding});
            return;
        }
        for (double &weight : weights) {
            if (rounding == 0x1p-11 && weight < 0x1p-25) {
                weight = 0;  // in f16, which shows where the value is infinite
            }
        }
        for (int c = 0; c < d; c++) {
            double value = 0, mean_abs = 0, values_abs = 0;
            for (int key = 0; key < keys && !none; key++) {
                if (sees[size_t(key)]) {
                    const double product = weights[size_t(key)] / sum * v(c, key, hk, n);
                    value += product;
                    mean_abs += std::fabs(product);
                    values_abs += std::fabs(v(c, key, hk, n)) / sum;
                }
            }
            out.push_back({value, none ? 0 : tolerance.result(worst, top - bottom, mean_abs, values_abs)});
        }
    }

    static void special_queries(KernelArguments &arguments, const Dims &) {
        HostBuffer &q = arguments.buffer("q");
        q.set({0, 0, 0, 0}, kNaN);
        q.set({1, 17, 1, 1}, kNaN);
        q.set({2, 5, 0, 1}, kInfinity);
        for (int c = 0; c < q.extents()[0]; c++) {
            q.set({c, 3, 0, 0}, 0);
            q.set({c, 4, 0, 0}, 6e-8);
        }
    }

    // A value of one column and one head: it stays there, and a key that no query of it sees.
    static void special_keys(KernelArguments &arguments, const Dims &dims) {
        set_in_cache(arguments, "v", {3, 0, 0, 0}, kNaN);
        set_in_cache(arguments, "v", {5, 0, 0, 1}, kInfinity);
        special_key(arguments, dims);
    }

    static void special_key(KernelArguments &arguments, const Dims &dims) {
        set_in_cache(arguments, "k", {0, int(dims.at("keys")) - 1, 0, 1}, kNaN);
    }

    static void mask_of_infinity(KernelArguments &arguments, const Dims &dims) {
        HostBuffer &mask = arguments.buffer("mask");
        for (int i = 0; i < dims.at("queries"); i++) {
            for (int j = 0; j < dims.at("keys"); j++) {
                mask.set({j, i}, i == 2 || (i == 3 && j < 33) || (j / 5 + i) % 3 == 0 ? -kInfinity : 0.5);
            }
        }
    }

    static void nan_in_last_value(KernelArguments &arguments, const Dims &dims) {
        set_in_cache(arguments, "v", {0, int(dims.at("keys")) - 1, 0, 0}, kNaN);
    }

    static void a_page_that_is_none(KernelArguments &arguments, const Dims &) {
        wrong_pages(arguments, true);
    }

    static void nan_in_padding(KernelArguments &arguments, const Dims &dims) {
        nan_behind_lengths(arguments, dims, 16);
    }
};

}  // namespace

const OpTest &attention_test() {
    static const AttentionTest test;
    return test;
}

}  // namespace ops_test
