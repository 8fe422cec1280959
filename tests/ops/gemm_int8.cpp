#include "epilogue.h"
#include "linear_int8.h"

namespace ops_test {

namespace {

class GemmInt8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = int8_choices("a");
        choices.insert(choices.begin(), {"schedule", {"", "unfused", "mma"}});
        choices.push_back({"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}});
        choices.push_back({"add_residual", {"true", "false"}});
        choices.push_back({"residual_type", {"same", "uint8", "int8"}});
        choices.push_back({"order", {kUsual, "bias,dequantize,residual,activation", "dequantize,activation,residual,bias"}});
        choices.push_back({"target", {"avx2", "host"}});
        return choices;
    }

    void settle(Assignments &build) const override {
        if (build["add_residual"] != "true") {
            build.erase("residual_type");
        }
        if (build["activation"] == "log_relu") {  // what may be less than it is would be more times a negative scale
            build["order"] = kUsual;
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        if (build.count("weights") && build.at("weights") == "nk") {
            return tile_cases();
        }
        const std::vector<int> rows = {1, 2, 3, 4, 5, 7, 8, 9, 11, 16, 17, 33, 6};
        const std::vector<int> depths = {1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 129, 15, 100};
        for (size_t n = 0; n < kOddSizes.size(); n++) {
            cases.push_back({"random", {{"m", cycle(rows, n)}, {"n", kOddSizes[n]}, {"k", cycle(depths, n)}}});
        }
        cases.push_back({"several tasks", {{"m", 301}, {"n", 130}, {"k", 11}}});
        cases.push_back({"no depth", {{"m", 9}, {"n", 65}, {"k", 0}}});
        cases.push_back({"extreme", {{"m", 9}, {"n", 50}, {"k", 1030}}, extreme});
        cases.push_back({"special residual", {{"m", 9}, {"n", 50}, {"k", 6}}, special_residual});
        return cases;
    }

    std::string held_to() const override {
        return "the sum is exact; 1/2 of it, then 1 of each scale's result, 1 of \\|result\\| + \\|operand\\| of each addition, and the "
               "activation";
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        fill_weights(arguments, "b", dims.at("k"), 5);
        fill_rows(arguments, "a");
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const std::string activation = activation_of(p);
        const std::vector<std::string> order = order_of(p, kUsual);
        const ProductInt8 product(p, "a", "b", p.dim("k"));
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            for (int col = 0; col < p.dim("n"); col++) {
                const Inexact sum = product.sum(row, col);
                const Expected v = in_order(order, {sum.value, sum.error},
                                            {{"dequantize", [&](const Expected &x) { return scaled(x, product.unit(row, col)); }},
                                             {"bias", [&](const Expected &x) { return added(x, p.has("bias") ? p["bias"](col) : 0); }},
                                             {"activation", [&](const Expected &x) { return activated(activation, x.value, x.error); }},
                                             {"residual", [&](const Expected &x) { return added(x, residual_at(p, col, row)); }}});
                y.push_back(stored_y(p, v));
            }
        }
        return y;
    }

private:
    static constexpr const char *kUsual = "dequantize,bias,activation,residual";

    // Tiles of 128 x 256, 128 deep, fetched by TMA where rows begin at multiples of 16 bytes: dense, or with 3
    // more between them.
    static std::vector<Case> tile_cases() {
        return {{"a tile", {{"m", 128}, {"n", 256}, {"k", 128}}},
                {"beyond a tile", {{"m", 130}, {"n", 261}, {"k", 144}}},
                {"odd", {{"m", 129}, {"n", 257}, {"k", 133}}},
                {"several steps", {{"m", 37}, {"n", 93}, {"k", 405}}},
                {"a row", {{"m", 1}, {"n", 272}, {"k", 80}}},
                {"an element", {{"m", 1}, {"n", 1}, {"k", 1}}},
                {"several tiles", {{"m", 200}, {"n", 528}, {"k", 144}}},
                {"extreme", {{"m", 9}, {"n", 50}, {"k", 272}}, extreme},
                {"extreme, odd", {{"m", 9}, {"n", 50}, {"k", 270}}, extreme},
                {"no depth", {{"m", 9}, {"n", 69}, {"k", 0}}},
                {"special residual", {{"m", 9}, {"n", 50}, {"k", 16}}, special_residual}};
    }

    static void extreme(KernelArguments &arguments, const Dims &dims) {
        make_extreme(arguments, "a", {"b"}, dims.at("k"));
    }

    static void special_residual(KernelArguments &arguments, const Dims &) {
        if (HostBuffer *residual = residual_of_floats(arguments)) {
            residual->set({0, 0}, kNaN);
            residual->set({49, 3}, kInfinity);
            residual->set({20, 5}, -kInfinity);
            residual->set({48, 8}, 1e30);
        }
    }
};

}  // namespace

const OpTest &gemm_int8_test() {
    static const GemmInt8Test test;
    return test;
}

}  // namespace ops_test
