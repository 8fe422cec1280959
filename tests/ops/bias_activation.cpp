#include <cmath>

#include "epilogue.h"

namespace ops_test {

namespace {

class BiasActivationTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"add_scale", {"false", "true"}},
                {"add_bias", {"true", "false"}},
                {"activation", {"relu", "none", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"false", "true"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Case> cases(const Assignments &build) const override {
        return row_cases(build);
    }

    std::string held_to() const override {
        return "\\|scale x\\| + \\|scale x + bias\\|, then the activation, and 1 of \\|result\\| + \\|residual\\|";
    }

    std::vector<std::string> open_dims() const override {
        return {"rows", "cols"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("rows"); row++) {
            for (int col = 0; col < p.dim("cols"); col++) {
                y.push_back(element(p, col, row));
            }
        }
        return y;
    }

private:
    static Expected element(const Problem &p, int col, int row) {
        const std::string activation = activation_of(p, "relu");
        const double bias = p.has("bias") ? p["bias"](col) : 0;
        const double residual = p.has("residual") ? p["residual"](col, row) : 0;
        const double scaled = p.scalar("scale", 1) * p["x"](col, row), linear = scaled + bias;
        const double error = 2 * kRoundoff * (std::fabs(scaled) + std::fabs(linear));
        return epilogue(activation, linear, error, residual);
    }
};

}  // namespace

const OpTest &bias_activation_test() {
    static const BiasActivationTest test;
    return test;
}

}  // namespace ops_test
