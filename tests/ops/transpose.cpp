#include <cmath>

#include "epilogue.h"

namespace ops_test {

namespace {

class TransposeTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"add_scale", {"false", "true"}},
                {"add_bias", {"none", "before", "after"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"false", "true"}},
                {"set.blocks", {"auto", "always"}},
                {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        if (build.at("schedule") == "unfused" || build.at("target") == "cuda") {
            build.erase("set.blocks");
        }
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        for (size_t n = 0; n < kOddSizes.size(); n++) {
            const int rows = cycle({5, 16, 1, 33, 8, 17, 64, 70, 9}, n);
            cases.push_back({"random", {{"cols", kOddSizes[n]}, {"rows", rows}, {"batch", 1 + int(n) % 3}}});
        }
        cases.push_back({"large", {{"cols", 130}, {"rows", 301}, {"batch", 1}}});
        cases.push_back({"special", {{"cols", 37}, {"rows", 19}, {"batch", 2}}, special});
        return cases;
    }

    std::string held_to() const override {
        return "\\|scale x\\| + \\|scale x + bias\\|, then the activation, and 1 of \\|result\\| + \\|residual\\|";
    }

    std::vector<std::string> open_dims() const override {
        return {"rows", "cols", "batch"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        std::vector<Expected> y;
        for (int n = 0; n < p.dim("batch"); n++) {
            for (int col = 0; col < p.dim("cols"); col++) {
                for (int row = 0; row < p.dim("rows"); row++) {
                    y.push_back(element(p, row, col, n));
                }
            }
        }
        return y;
    }

private:
    static Expected element(const Problem &p, int row, int col, int n) {
        const double bias = p.has("bias") ? p["bias"](col) : p.has("bias_after") ? p["bias_after"](row) : 0;
        const double residual = p.has("residual") ? p["residual"](row, col, n) : 0;
        const double scaled = p.scalar("scale", 1) * p["x"](col, row, n), linear = scaled + bias;
        const double error = 2 * kRoundoff * (std::fabs(scaled) + std::fabs(linear));
        return epilogue(activation_of(p), linear, error, residual);
    }

    static void special(KernelArguments &arguments, const Dims &) {
        HostBuffer &x = arguments.buffer("x");
        x.set({0, 0, 0}, kNaN);
        x.set({36, 18, 0}, kInfinity);
        x.set({5, 7, 1}, -kInfinity);
        x.set({17, 16, 1}, 60000);
    }
};

}  // namespace

const OpTest &transpose_test() {
    static const TransposeTest test;
    return test;
}

}  // namespace ops_test
