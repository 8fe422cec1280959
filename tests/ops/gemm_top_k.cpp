#include <numeric>

#include "draws.h"
#include "logits.h"

namespace ops_test {

namespace {

// On small integers, whose products and sums are exact: the indices have to be right, and there are
// many ties.
class GemmTopKTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = block_choices();
        const std::vector<Choice> others = {{"schedule", {"", "unfused", "blocks", "panels", "interleaved", "blocks_unfused"}},
                                            {"set.top_k", {"1", "3", "8"}},
                                            {"type", {"float32", "float16", "bfloat16"}},
                                            {"add_bias", {"false", "true"}},
                                            {"draw", {"false", "true"}},
                                            {"min_p_first", {"true", "false"}},
                                            {"temperature_last", {"false", "true"}},
                                            {"target", {"avx2", "host"}}};
        choices.insert(choices.end(), others.begin(), others.end());
        return choices;
    }

    bool is_of_host(const std::string &choice) const override {
        return is_block_choice(choice);
    }

    void settle(Assignments &build) const override {
        settle_blocks(build);
        if (build["draw"] != "true") {
            build.erase("min_p_first");
            build.erase("temperature_last");
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        for (const Dims &dims : product_sizes(build, "m", "n", "k")) {
            cases.push_back({"random", dims});
        }
        const auto found = build.find("draw");
        if (found != build.end() && found->second == "true") {
            const auto draws = [](KernelArguments &arguments, const Dims &) { special_draws(arguments); };
            cases.push_back(
                {"special draws", {{"m", 24}, {"n", 131}, {"k", has_blocks(variant_of(build)) ? block_step(build) : 5}}, draws});
        }
        if (has_blocks(variant_of(build))) {
            const auto nan = [](KernelArguments &arguments, const Dims &) { arguments.buffer("x").set({2, 1}, kNaN); };
            cases.push_back({"NaN in a row", {{"m", 4}, {"n", 50}, {"k", block_step(build)}}, nan});
            cases.push_back({"several chunks", {{"m", 3}, {"n", 3500}, {"k", block_step(build)}}});
            return cases;
        }
        const auto special = [](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            x.set({2, 0}, kNaN);
            for (int k = 0; k < 5; k++) {
                x.set({k, 1}, 0);
                x.set({k, 2}, 1);
                set_weight(arguments, "w", k, 5, k == 1 ? kInfinity : 1);
                set_weight(arguments, "w", k, 40, -1);
            }
        };
        cases.push_back({"special", {{"m", 4}, {"n", 50}, {"k", 5}}, special});
        const auto nothing = [](KernelArguments &arguments, const Dims &) {
            for (int row = 0; row < 3; row++) {
                arguments.buffer("x").set({0, row}, 1);
            }
            for (int col = 0; col < 50; col++) {
                set_weight(arguments, "w", 0, col, -kInfinity);
            }
        };
        cases.push_back({"all -infinity", {{"m", 3}, {"n", 50}, {"k", 2}}, nothing});
        cases.push_back({"several chunks", {{"m", 3}, {"n", 3500}, {"k", 2}}});
        const auto few_ties = [](KernelArguments &arguments, const Dims &dims) {
            for (int col = 0; col < int(dims.at("n")); col++) {
                set_weight(arguments, "w", 0, col, col * 37 % 251 - 125);
                set_weight(arguments, "w", 1, col, col * 101 % 241 - 120);
            }
        };
        cases.push_back({"few ties", {{"m", 3}, {"n", 3500}, {"k", 2}}, few_ties});
        return cases;
    }

    static void special_draws(KernelArguments &arguments) {
        const double numbers[] = {0, -1, kNaN, 2, 1e-9, kInfinity};
        const char *const names[] = {"temperature", "top_p", "min_p", "uniform"};
        for (int row = 0; row < 24; row++) {
            arguments.buffer(names[row / 6]).set({row}, numbers[row % 6]);
        }
        const double counts[] = {-1, 131, 2147483647, -2147483648.0};
        for (int row = 0; row < 4; row++) {
            arguments.buffer("row_top_k").set({18 + row}, counts[row]);
        }
    }

    std::string held_to() const override {
        return "0: inputs are small integers, so that every logit and the order of equal ones is exact; a token is held as that of sample";
    }

    Dims fixed_dims(const std::string &schedule) const override {
        return has_blocks(variant_of({{"schedule", schedule}})) ? Dims{{"k", 256}} : Dims{};
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument) || is_block_of_file(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        for (const char *name : {"x", "w_packed", "w_nk", "bias"}) {
            make_integers(find_buffer(arguments, name), 3, 1);
        }
        if (find_buffer(arguments, "token")) {
            const double temperatures[] = {6, 2.5, 0, 20, 1, 60, 3}, top_p[] = {0.9, 1, 0.5, 0.97, 0.3}, min_p[] = {0, 0.1, 0.02};
            const int top_k[] = {0, 5, 3, 1, 8, 7, 40};
            for (int row = 0; row < dims.at("m"); row++) {
                const auto set = [&](const char *name, double value) {
                    HostBuffer &buffer = arguments.buffer(name);
                    if (row < buffer.extents()[0]) {
                        buffer.set({row}, value);
                    }
                };
                set("temperature", temperatures[row % 7]);
                set("row_top_k", top_k[(row + row / 7) % 7]);
                set("top_p", top_p[row % 5]);
                set("min_p", min_p[row % 3]);
                set("uniform", std::fmod(0.137 + row * 0.6180339887, 1.0));
            }
        }
        spoil_padding(arguments, "w", dims.at("k"), dims.at("n"));
        fill_blocks(arguments, "w", seed);
        if (make_blocks_integers(arguments, "w")) {
            // In 8 bits they are the integers that they are, as the largest of each block is 127.
            HostBuffer &x = arguments.buffer("x");
            for (int row = 0; row < x.extents()[1]; row++) {
                for (int k = 0; k < x.extents()[0]; k++) {
                    x.set({k, row}, k % kOfBlock == row % kOfBlock ? 127 : (k * 7 + row) % 3 - 1);
                }
            }
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("values", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        const int best = std::stoi(param(p, "top_k", "8"));
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            const std::vector<Inexact> logits = logits_of(p, row);
            if (output == "token") {
                std::vector<double> x;
                for (const Inexact &logit : logits) {
                    x.push_back(logit.value);
                }
                const int asked = int(p["row_top_k"](row));
                y.push_back(one_of(tokens_of(p, x.data(), int(x.size()),
                                             {p["temperature"](row), p["top_p"](row), p["min_p"](row), p["uniform"](row),
                                              asked > 0 ? std::min(asked, best) : best})));
                continue;
            }
            std::vector<int> order(logits.size());
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
                const double x = logits[size_t(a)].value, y = logits[size_t(b)].value;
                return std::isnan(x) ? !std::isnan(y) : x > y;  // a NaN is the largest
            });
            for (int i = 0; i < best; i++) {
                const bool there = i < int(order.size());
                const double value = there ? logits[size_t(order[size_t(i)])].value : -kInfinity;
                y.push_back({output == "values" ? value : there ? order[size_t(i)] : -1, 0});
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &gemm_top_k_test() {
    static const GemmTopKTest test;
    return test;
}

}  // namespace ops_test
