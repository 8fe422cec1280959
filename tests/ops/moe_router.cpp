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
                {"scoring", {"softmax", "sigmoid"}},
                {"bias_correction", {"false", "true"}},
                {"groups", {"1", "4"}},
                {"group_score", {"top_two", "max"}},
                {"scaled", {"false", "true"}},
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
        if (build["groups"] == "4") {
            build["top_groups"] = "2";
        } else {
            build.erase("top_groups");
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
        for (Case &c : cases) {
            const int groups = std::stoi(build.count("groups") ? build.at("groups") : "1");
            c.dims["n"] = (c.dims["n"] + groups - 1) / groups * groups;
        }
        return cases;
    }

    std::string held_to() const override {
        return "(6 + experts/2 + 2 (highest - lowest logit)) of the score, of sigmoids 2 \\|logit\\| in place of the difference; logits "
               "are exact, of "
               "small integers";
    }

    bool has_loose_extents() const override {
        return true;
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    bool needs_some(const std::string &dim, const Assignments &build) const override {
        const auto is = [&](const char *name, const char *value) { return build.count(name) && build.at(name) == value; };
        return dim == "n" && (is("scoring", "sigmoid") || is("bias_correction", "true") || is("groups", "4"));
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        make_integers(find_buffer(arguments, "x"), 2, 1);
        for (const char *name : {"w_packed", "w_nk", "logits"}) {
            make_integers(find_buffer(arguments, name), 3, 0.25);
        }
        make_integers(find_buffer(arguments, "bias"), 8, 0.0625);
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
        const bool plain = !p.is("scoring", "sigmoid") && !p.has("bias") && std::stoi(param(p, "groups", "1")) == 1;
        std::vector<Expected> y = plain ? of_softmax(output, p) : of_scores(output, p);
        if (output == "scores" && p.is("scaled", "true")) {
            const double scale = p.scalar("scale", 1);
            for (Expected &v : y) {
                v = {v.value * scale, v.error * scale + kRoundoff * std::fabs(v.value * scale)};
            }
        }
        return y;
    }

    static double logit_of(const Problem &p, int e, int row) {
        return p.has("logits") ? p["logits"](e, row) : linear(p, "x", row, "w", e, p.dim("k"), "").value;
    }

    /** The places of the largest, a NaN being larger than all, of equal ones the lower. */
    static std::vector<int> ranking(const std::vector<float> &values) {
        std::vector<int> order(values.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
            const float x = values[size_t(a)], y = values[size_t(b)];
            return std::isnan(x) || std::isnan(y) ? std::isnan(x) && !std::isnan(y) : x > y;
        });
        return order;
    }

    /** What experts are chosen by is rounded as f32 is: whether two are equal decides which is first. */
    std::vector<Expected> of_scores(const std::string &output, const Problem &p) const {
        const int best = std::stoi(param(p, "top_k", "2")), n = p.dim("n");
        const int groups = std::stoi(param(p, "groups", "1")), top_groups = groups > 1 ? 2 : 1, size = n / groups;
        const bool sigmoid = p.is("scoring", "sigmoid"), renormalise = param(p, "renormalise", "true") == "true";
        const bool all = param(p, "softmax_first", "true") == "true" && !renormalise, top_two = !p.is("group_score", "max");
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            std::vector<double> logits, scores;
            double largest = -kInfinity, sum = 0;
            bool nan = false;
            for (int e = 0; e < n; e++) {
                logits.push_back(logit_of(p, e, row));
                largest = std::max(largest, logits.back());
                nan = nan || std::isnan(logits.back());
            }
            const bool finite = !nan && std::isfinite(largest);
            for (double x : logits) {
                scores.push_back(sigmoid ? 1 / (1 + std::exp(-x)) : std::exp(x - largest));
                sum += scores.back();
            }
            std::vector<float> choice;
            for (int e = 0; e < n; e++) {
                const double x = logits[size_t(e)];
                const float s = sigmoid ? 1 / (1 + float(std::exp(-x))) : float(scores[size_t(e)] / sum);
                const bool by_score = sigmoid || p.has("bias") || (groups > 1 && top_two);
                choice.push_back(!by_score || (!sigmoid && !finite) ? float(x) : p.has("bias") ? s + float(p["bias"](e)) : s);
            }
            std::vector<float> of_group;
            for (int g = 0; g < groups; g++) {
                const std::vector<float> members(choice.begin() + g * size, choice.begin() + (g + 1) * size);
                const std::vector<int> order = ranking(members);
                const float first = members[size_t(order[0])];
                of_group.push_back(top_two && size > 1 && !std::isnan(first) ? first + members[size_t(order[1])] : first);
            }
            const std::vector<int> order_of_groups = ranking(of_group);
            std::vector<int> chosen;
            for (int e : ranking(choice)) {
                const auto end = order_of_groups.begin() + top_groups;
                if (int(chosen.size()) < best && std::find(order_of_groups.begin(), end, e / size) != end) {
                    chosen.push_back(e);
                }
            }
            double of_chosen = 0, spread = 0;
            bool lost = sigmoid ? false : !finite;
            for (int e : chosen) {
                of_chosen += scores[size_t(e)];
                lost = lost || (sigmoid && renormalise && std::isnan(logits[size_t(e)]));
            }
            for (double x : logits) {
                spread = std::max(spread, std::isfinite(x) ? sigmoid ? std::fabs(x) : largest - x : 0);
            }
            for (int i = 0; i < best; i++) {
                if (i >= int(chosen.size())) {
                    y.push_back({output == "indices" ? -1.0 : 0, 0});
                    continue;
                }
                const int e = chosen[size_t(i)];
                const double divisor = sigmoid ? renormalise ? of_chosen + 1e-20 : 1 : all ? sum : of_chosen;
                const double value = lost ? kNaN : scores[size_t(e)] / divisor;
                const double error = (12 + 4 * std::min(spread, 90.0) + n) * kRoundoff * value + 1e-37;
                y.push_back(output == "indices" ? Expected{double(e), 0} : Expected{value, std::isnan(value) ? 0 : error});
            }
        }
        return y;
    }

    static std::vector<Expected> of_softmax(const std::string &output, const Problem &p) {
        const int best = std::stoi(param(p, "top_k", "2")), n = p.dim("n");
        const bool all = param(p, "softmax_first", "true") == "true" && param(p, "renormalise", "true") == "false";
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            std::vector<double> logits;
            for (int e = 0; e < n; e++) {
                logits.push_back(logit_of(p, e, row));
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
