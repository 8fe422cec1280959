#include <algorithm>
#include <cmath>

#include "rows.h"
#include "window.h"

namespace ops_test {

namespace {

class DepthwiseConv2dInt8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"x_type", {"uint8", "int8"}},
                {"kernel", {"3", "5", "2"}},
                {"stride", {"1", "2"}},
                {"dilation", {"1", "2", "5"}},
                {"padding", {"1", "0"}},
                {"zero_point", {"true", "false"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"output", {"same", "float32", "uint8", "int8"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"none", "before_activation", "after_activation"}},
                {"residual_type", {"same", "uint8", "int8"}},
                {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        if (build["add_residual"] == "none") {
            build.erase("residual_type");
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        const int least = Window(build).smallest();
        std::vector<Case> cases;
        const std::vector<int> channels = {1, 3, 16, 17, 31, 33, 65, 8, 40, 64, 130};
        const std::vector<int> widths = {least, 13, 7, 18, least + 3, 31, least + 1, 9, 40};
        for (size_t i = 0; i < channels.size(); i++) {
            cases.push_back({"random", dims(channels[i], std::max(cycle(widths, i), least), least + int(i) % 5, 1 + int(i) % 3)});
        }
        cases.push_back({"several bands", dims(20, least + 5, least + 37, 2)});
        cases.push_back({"extreme", dims(70, least + 9, least + 7, 1), extreme});
        cases.push_back({"special residual", dims(33, least + 15, least + 2, 1), special_residual});
        return cases;
    }

    std::string held_to() const override {
        return "the sum is exact; 3.5 \\|product\\| + 1.5 (\\|bias\\| + \\|residual\\|), then the activation, and 1 of \\|result\\| + "
               "\\|residual\\|";
    }

    bool has_loose_extents() const override {
        return true;
    }

    std::vector<std::string> open_dims() const override {
        return {"n", "c"};
    }

    bool needs_some(const std::string &dim, const Assignments &choices) const override {
        return Window(choices).is_only_padding(dim);
    }

    void fill(KernelArguments &arguments, const Dims &, uint64_t) const override {
        arguments.buffer("weight_scale").fill_random(5, 0.0001, 0.004);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const Window window(p.params);
        std::vector<Expected> y;
        for (int n = 0; n < p.dim("n"); n++) {
            for (int row = 0; row < window.windows(p.dim("h")); row++) {
                for (int col = 0; col < window.windows(p.dim("w")); col++) {
                    for (int c = 0; c < p.dim("c"); c++) {
                        y.push_back(element(p, window, c, col, row, n));
                    }
                }
            }
        }
        return y;
    }

private:
    static Dims dims(int c, int w, int h, int n) {
        return {{"c", c}, {"w", w}, {"h", h}, {"n", n}};
    }

    static Expected element(const Problem &p, const Window &window, int c, int col, int row, int n) {
        const double zero = p.scalar("x_zero_point", 0);
        const Tensor &x = p["x"], &weight = p["weight"];
        const int w = p.dim("w"), h = p.dim("h");
        double sum = 0;  // exact
        for (int r = 0; r < window.kernel; r++) {
            for (int s = 0; s < window.kernel; s++) {
                const int at_col = window.at(col, s), at_row = window.at(row, r);
                const bool inside = at_col >= 0 && at_col < w && at_row >= 0 && at_row < h;
                sum += inside ? (x(c, at_col, at_row, n) - zero) * weight(c, s, r) : 0;
            }
        }
        // Rounded to f32, and the scales multiplied: 4 roundings, of which the sum's is one of `terms`.
        const double product = sum * p.scalar("x_scale", 1);
        return stored_y(p, epilogue(p, product, std::fabs(product), 3, p["weight_scale"](c), p.has("bias") ? p["bias"](c) : 0,
                                    residual_at(p, c, col, row, n)));
    }

    // Every product as large as it gets: where sums of two are kept in 16 bits, they saturate.
    static void extreme(KernelArguments &arguments, const Dims &) {
        HostBuffer &x = arguments.buffer("x");
        x.fill(x.type().code == halide_type_uint ? 255 : -128);
        arguments.buffer("weight").fill(-128);
    }

    static void special_residual(KernelArguments &arguments, const Dims &) {
        if (HostBuffer *residual = residual_of_floats(arguments)) {
            residual->set({0, 0, 0, 0}, kNaN);
            residual->set({32, 3, 0, 0}, kInfinity);
            residual->set({20, 5, 0, 0}, -kInfinity);
            residual->set({31, 6, 0, 0}, 1e30);
        }
    }
};

}  // namespace

const OpTest &depthwise_conv2d_int8_test() {
    static const DepthwiseConv2dInt8Test test;
    return test;
}

}  // namespace ops_test
