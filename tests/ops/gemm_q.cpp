#include <algorithm>
#include <cmath>

#include "block_weights.h"
#include "linear.h"

namespace ops_test {

namespace {

class GemmQTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = {{"schedule", {"", "unfused", "panels", "f32_panels", "interleaved"}}};
        for (const Choice &choice : block_choices()) {
            choices.push_back(choice);
        }
        const std::vector<Choice> others = {{"type", {"float32", "float16", "bfloat16"}},
                                            {"scaling", {"none", "scalar", "column", "row"}},
                                            {"add_bias", {"false", "true"}},
                                            {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                                            {"add_residual", {"false", "true"}},
                                            {"order", {kUsual, "residual,activation,bias,scale", "bias,scale,residual,activation"}},
                                            {"output", {"same", "float32", "float16", "bfloat16", "int8", "uint8"}},
                                            {"target", {"avx2", "host"}}};
        choices.insert(choices.end(), others.begin(), others.end());
        return choices;
    }

    void settle(Assignments &build) const override {
        const std::string variant = variant_of(build);
        if (variant == "panels" || variant == "f32_panels") {  // which are for one kind
            build.erase("activations");
        }
        if (variant == "panels") {  // of integers
            build.erase("rounded");
        }
        settle_formats(build);
        if (build["activation"] == "log_relu") {  // what may be less than it is would be more times a negative scale
            build["order"] = kUsual;
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        for (const Dims &dims : block_sizes(build, "m", "n", "k")) {
            cases.push_back({"random", dims});
        }
        cases.push_back({"special rows", {{"m", 11}, {"n", 19}, {"k", std::max(128, block_step(build))}}, special});
        return cases;
    }

    std::string held_to() const override {
        return "(k + 4)/2 of sum \\|a w\\|, then the epilogue as of gemm; of activations=int8 (k/32 + 12)/2 of sum \\|a w\\|, where a is "
               "rounded to a multiple of the largest of its block of 32 by 127, one step more or less at a tie";
    }

    // With activations=int8 blocks lie one after the other.
    bool needs_dense(const std::string &argument) const override {
        return is_block_of_file(argument);
    }

    bool has_loose_extents() const override {
        return true;
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    // Blocks of 32.
    Dims fixed_dims(const std::string &) const override {
        return {{"k", 64}};
    }

    void fill(KernelArguments &arguments, const Dims &, uint64_t seed) const override {
        fill_blocks(arguments, "b", seed);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int m = p.dim("m"), n = p.dim("n"), k = p.dim("k");
        const std::string activation = activation_of(p);
        const std::vector<std::string> order = order_of(p, kUsual);
        std::vector<Expected> y;
        for (int row = 0; row < m; row++) {
            const MultipliedRow a = multiplied_row(p, p["a"].row(row), k);
            for (int col = 0; col < n; col++) {
                const double scale = p.has("scale_column") ? p["scale_column"](col)
                                     : p.has("scale_row")  ? p["scale_row"](row)
                                                           : p.scalar("scale", 1);
                const Expected v =
                    in_order(order, block_product(p, a, "b", col, k),
                             {{"scale", [&](const Expected &x) { return scaled(x, scale); }},
                              {"bias", [&](const Expected &x) { return added(x, p.has("bias") ? p["bias"](col) : 0); }},
                              {"activation", [&](const Expected &x) { return ops_test::activated(activation, x.value, x.error); }},
                              {"residual", [&](const Expected &x) { return added(x, residual_at(p, col, row)); }}});
                y.push_back(stored_y(p, v));
            }
        }
        return y;
    }

private:
    static constexpr const char *kUsual = "scale,bias,activation,residual";

    static void special(KernelArguments &arguments, const Dims &) {
        HostBuffer &a = arguments.buffer("a");
        a.set({2, 0}, kNaN);
        a.set({127, 7}, kNaN);
        a.set({40, 3}, kInfinity);
        a.set({20, 5}, -kInfinity);
        for (int k = 0; k < a.extents()[0]; k++) {
            a.set({k, 6}, 6000);
            a.set({k, 8}, 6e-8);
            a.set({k, 9}, 0);
        }
    }
};

}  // namespace

const OpTest &gemm_q_test() {
    static const GemmQTest test;
    return test;
}

}  // namespace ops_test
