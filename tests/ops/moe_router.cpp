#include <numeric>

#include "linear.h"

namespace ops_test {

namespace {

// On multiples of 1/4, whose products and sums are exact: the experts have to be right, and there
// are many ties. A weight is e^x, off by 4 + 2 |x| roundings, over a sum of such.
class MoeRouterTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "by tiles", "nk", "given", "unfused"}},
                {"set.top_k", {"1", "2", "6"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"softmax_first", {"true", "false"}},
                {"renormalise", {"true", "false"}},
                {"target", {"avx2", "host"}}};
    }

    // Tiles and threads of a token as a call's sizes have them, or one of each.
    std::vector<Choice> cuda_choices() const override {
        return {{"set.rows", {"0", "32"}}, {"set.lanes", {"32", "1"}}};
    }

    void settle(Assignments &build) const override {
        if (build["schedule"] == "by tiles") {
            build["schedule"] = "";
            build["type"] = build["type"] == "float16" ? "bfloat16" : build["type"];
            build["set.tiles"] = "always";
        }
        const auto rows = build.find("set.rows");
        if (build["target"] != "cuda" || build["schedule"] != "moe_router" || rows == build.end()) {
            return;
        }
        build["set.columns"] = "16";
        if (rows->second == "0") {
            for (const char *name : {"set.rows", "set.columns", "set.lanes"}) {
                build.erase(name);
            }
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        for (const Dims &dims : product_sizes("m", "n", "k")) {
            cases.push_back({"random", dims});
        }
        cases.push_back({"special rows", {{"m", 11}, {"n", 49}, {"k", 5}}, special_tokens});
        // Where the tiles are not given, on CUDA, there are others for many tokens, by the number of experts.
        if (build.at("target") == "cuda" && build.at("schedule") == "moe_router" && !build.count("set.rows")) {
            for (int experts : {3, 66, 130}) {
                cases.push_back({"many tokens", {{"m", 8200}, {"n", experts}, {"k", 2}}});
            }
            cases.push_back({"many tokens", {{"m", 2050}, {"n", 130}, {"k", 2}}});
        }
        return cases;
    }

    std::string held_to() const override {
        return "(6 + experts/2 + 2 (highest - lowest logit)) of the score; logits are exact, of small integers";
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        make_integers(find_buffer(arguments, "x"), 2, 1);
        for (const char *name : {"w_packed", "w_nk", "logits"}) {
            make_integers(find_buffer(arguments, name), 3, 0.25);
        }
        spoil_padding(arguments, "w", dims.at("k"), dims.at("n"));
    }

    // Tokens with a NaN and infinities.
    static void special_tokens(KernelArguments &arguments, const Dims &dims) {
        if (HostBuffer *logits = find_buffer(arguments, "logits")) {
            logits->set({3, 0}, kNaN);
            logits->set({48, 2}, kInfinity);
            logits->set({0, 4}, -kInfinity);
            set_row(*logits, 6, -kInfinity);
            logits->set({1, 8}, kInfinity);
            logits->set({2, 8}, kInfinity);
            return;
        }
        HostBuffer &x = arguments.buffer("x");
        x.set({2, 0}, kNaN);
        for (int expert = 0; expert < dims.at("n"); expert++) {  // of which x makes infinities
            set_weight(arguments, "w", 0, expert, expert == 17 ? -0.5 : 0.25);
        }
        x.set({0, 3}, kInfinity);
        x.set({0, 5}, -kInfinity);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("scores", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        const int best = std::stoi(param(p, "top_k", "2")), n = p.dim("n");
        const bool all = param(p, "softmax_first", "true") == "true" && param(p, "renormalise", "true") == "false";
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            std::vector<double> logits;
            for (int e = 0; e < n; e++) {
                logits.push_back(p.has("logits") ? p["logits"](e, row) : linear(p, "x", row, "w", e, p.dim("k"), "").value);
            }
            std::vector<int> order(logits.size());
            std::iota(order.begin(), order.end(), 0);
            // A NaN is the largest.
            std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
                const double x = logits[size_t(a)], y = logits[size_t(b)];
                return std::isnan(x) || std::isnan(y) ? std::isnan(x) && !std::isnan(y) : x > y;
            });
            double sum = 0;
            for (int i = 0; i < (all ? n : std::min(best, n)); i++) {
                sum += std::exp(logits[size_t(order[size_t(i)])] - logits[size_t(order[0])]);
            }
            for (int i = 0; i < best; i++) {
                const bool there = i < n;
                const double x = there ? logits[size_t(order[size_t(i)])] - logits[size_t(order[0])] : -kInfinity;
                const double spread = n > 0 ? logits[size_t(order[0])] - logits[size_t(order[size_t(n) - 1])] : 0;
                if (std::isnan(sum)) {  // of a NaN, of an infinity, of nothing but -infinity
                    y.push_back({output == "indices" ? there ? double(order[size_t(i)]) : -1 : there ? kNaN : 0, 0});
                    continue;
                }
                const double error = (12 + 4 * std::min(spread, 90.0) + n) * kRoundoff * std::exp(x) / sum + 1e-37;
                y.push_back(output == "scores" ? Expected{there ? std::exp(x) / sum : 0, there ? error : 0}
                                               : Expected{there ? double(order[size_t(i)]) : -1, 0});
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &moe_router_test() {
    static const MoeRouterTest test;
    return test;
}

}  // namespace ops_test
