#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "cache.h"
#include "keys.h"

namespace ops_test {

namespace {

class DecodeAttentionTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "fused", "unfused"}},
                {"set.head_dim", {"0", "64"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"padded", {"true", "false"}},
                {"causal", {"false", "true"}},
                {"diagonal", {"bottom_right", "top_left"}},
                {"windowed", {"false", "true"}},
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

    std::vector<Choice> cuda_choices() const override {
        return {{"set.head_dim", {"0", "64"}}, {"set.ahead", {"0", "1", "2"}}, {"set.threads", {"128", "64"}}};
    }

    void settle(Assignments &build) const override {
        settle_terms(build);
        if (build["schedule"] == "fused" || build["schedule"] == "decode_attention.fused") {
            build["store_lse"] = "false";
        }
    }

    bool has_batches(const Assignments &choices) const override {
        return !is_on(choices, "causal") && !is_on(choices, "windowed") && !is_on(choices, "alibi");
    }

    std::vector<Case> cases(const Assignments &build) const override {
        const auto fixed = build.find("set.head_dim");
        const bool one_query = build.at("schedule") == "decode_attention.mma";
        const std::vector<int> depths = one_query ? std::vector<int>{128}
                                        : fixed != build.end() && fixed->second != "0"
                                            ? std::vector<int>{std::stoi(fixed->second)}
                                            : std::vector<int>{1, 7, 64, 80, 16, 17, 256, 128, 96, 192};
        // Over one split and several, whatever their size.
        const std::vector<int> keys = {1, 17, 300, 64, 1100, 2};
        const std::vector<std::array<int64_t, 4>> heads = {{1, 1, 1, 1}, {4, 1, 1, 2}, {6, 2, 3, 1},
                                                           {3, 3, 1, 1}, {2, 1, 8, 1}, {5, 1, 1, 3}};  // with queries, batch
        std::vector<Case> cases;
        for (size_t c = 0; c < std::max<size_t>(depths.size(), 6); c++) {
            const auto &h = heads[c % heads.size()];
            cases.push_back({"random",
                             {{"d", cycle(depths, c)},
                              {"queries", one_query ? 1 : h[2]},
                              {"keys", cycle(keys, c)},
                              {"heads", h[0]},
                              {"key_heads", h[1]},
                              {"batch", h[3]}}});
        }
        const Dims some = {{"d", depths.front() == 1 ? 20 : depths.front()},
                           {"queries", one_query ? 1 : 3},
                           {"keys", 149},
                           {"heads", 2},
                           {"key_heads", 1},
                           {"batch", 2}};
        cases.push_back({"large scores", some, large_scores});
        // Tensor cores multiply the values of a whole block, of which a window may leave out some.
        const auto softmax = build.find("softmax");
        const bool whole_blocks = softmax != build.end() && softmax->second != "two_pass" && build.at("windowed") == "true";
        // A weight that ALiBi takes near 0 is 0 or not by how logits are rounded, and times infinity NaN or infinity; times NaN it is NaN.
        const bool top_left = build.count("diagonal") && build.at("diagonal") == "top_left";
        cases.push_back({"special values", some, whole_blocks ? special_query : top_left ? special_values<true> : special_values<false>});
        if (build.at("padded") == "true") {
            cases.push_back({"NaN behind the length", some, nan_behind_length});
        }
        if (build.count("page")) {
            cases.push_back({"a page that is none", some, a_page_that_is_none});
        }
        if (is_of_bytes(build) && !build.count("page") && depths.size() > 1) {
            cases.push_back(every_byte());
        }
        return cases;
    }

    std::string held_to() const override {
        return "keys + 12 + (d + 5) sum \\|scale q k\\| + 6 (\\|mask\\| + \\|bias\\| + \\|ALiBi\\| + \\|capped\\|, on a GPU 2 softcap) + 2 "
               "(highest - lowest logit), of the weighted mean of \\|v\\|; on a GPU weights that are rounded 2^-8 of it more in bf16, "
               "2^-11 in f16";
    }

    bool needs_some(const std::string &dim, const Assignments &build) const override {
        const auto lse = build.find("store_lse");  // of a split, which has a column then
        return dim == "key_heads" || (dim == "d" && lse != build.end() && lse->second == "true");
    }

    std::vector<std::string> open_dims() const override {
        return {"batch"};
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        set_cache(arguments, seed);
        set_pages(arguments);
        set_lengths(arguments, {dims.at("keys") * 2 / 3, dims.at("keys"), 0});
        set_window(arguments, dims);
        set_terms(arguments);
    }

    // As in attention, weights are rounded to bf16 where a GPU multiplies them.
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
    // An open form is that of tensor cores for heads of a size that they know.
    static bool rounds_weights(const Problem &p) {
        const std::set<int> known = {64, 80, 96, 128, 256};
        return p.is("softmax", "rescaled") || (p.is("softmax", "open") && !p.is("type", "float32") && known.count(p.dim("d")) > 0);
    }

    // As for attention: a logit is off by a rounding for each element of a head, of the size of the
    // sum of |scale q k|. The weights of keys and of splits are two exponentials.
    static void expect_query(const Problem &p, int i, int h, int n, bool lse, std::vector<Expected> &out) {
        const int d = p.dim("d"), hk = h / (p.dim("heads") / p.dim("key_heads"));
        const int length = p.has("lengths") ? int(p["lengths"](n)) : p.dim("keys");
        const int position = position_of(p, i, length, true);
        const double scale = p.scalar("scale", 1);
        const Tensor &q = p["q"], &k = cache_of(p, "k"), &v = cache_of(p, "v");
        const double sink = sink_of(p, h);
        std::vector<double> weights;
        std::vector<int> seen;
        double top = sink, bottom = kInfinity, worst = 0, sum = 0;
        for (int key = 0; key < length; key++) {
            double score = 0, sum_abs = 0;
            for (int c = 0; c < d; c++) {
                const double product = scale * q(c, i, h, n) * k(c, key, hk, n);
                score += product;
                sum_abs += std::fabs(product);
            }
            const Logit l = logit_of(p, score, sum_abs, position, i, key, h, n, length);
            if (l.seen) {
                seen.push_back(key);
                weights.push_back(l.value);
                top = std::max(top, l.value);
            }
            if (l.value != -kInfinity) {
                bottom = std::min(bottom, l.value);
                worst = std::max(worst, (d + 5) * l.sum_abs + 6 * l.added_abs);
            }
        }
        for (double &weight : weights) {
            const bool is_0 = weight == -kInfinity || weight - top < -86.9;  // in f32, which shows where the value is infinite
            sum += weight = is_0 ? 0 : std::exp(weight - top);
        }
        if (std::isfinite(sink)) {
            sum += std::exp(sink - top);
            bottom = std::min(bottom, sink);
        }
        const double spread = bottom == kInfinity ? 0 : 2 * std::min(top - bottom, 90.0);
        if (lse) {
            const double value = sum == 0 ? -kInfinity : top + std::log(sum);
            const double weight = worst + 8 + spread + double(seen.size()) + 8;
            out.push_back({value, sum == 0 ? 0 : (weight + 4 * std::fabs(value) + 4 * std::fabs(top)) * kRoundoff});
            return;
        }
        for (int c = 0; c < d; c++) {
            double value = 0, mean_abs = 0;
            for (size_t s = 0; s < seen.size(); s++) {
                const double product = (sum == 0 ? 0 : weights[s] / sum) * v(c, seen[s], hk, n);
                value += product;
                mean_abs += std::fabs(product);
            }
            const double weight = worst + 8 + spread;
            // On tensor cores the weights of keys have the storage type.
            const double rounding = !rounds_weights(p) ? 0 : p.is("type", "bfloat16") ? 0x1p-8 : 0x1p-11;
            out.push_back({value, ((2 * weight + 2 * double(seen.size()) + 8) * kRoundoff + rounding) * mean_abs + 1e-37});
        }
    }

    // A value that every query sees stays in its column; a query or a key with a NaN has it all over.
    static void special_query(KernelArguments &arguments, const Dims &dims) {
        arguments.buffer("q").set({1, int(dims.at("queries")) - 1, 1, 1}, kNaN);
    }

    // The key with infinity is where the first query stands: ALiBi takes nothing off it.
    template<bool top_left>
    static void special_values(KernelArguments &arguments, const Dims &dims) {
        special_query(arguments, dims);
        set_in_cache(arguments, "v", {3, 0, 0, 0}, kNaN);
        set_in_cache(arguments, "v", {5, top_left ? 0 : int(dims.at("keys") - dims.at("queries")), 0, 1}, kInfinity);
    }

    static void a_page_that_is_none(KernelArguments &arguments, const Dims &) {
        wrong_pages(arguments, true);
    }

    static void nan_behind_length(KernelArguments &arguments, const Dims &dims) {
        nan_behind_lengths(arguments, dims, 128);
    }
};

}  // namespace

const OpTest &decode_attention_test() {
    static const DecodeAttentionTest test;
    return test;
}

}  // namespace ops_test
