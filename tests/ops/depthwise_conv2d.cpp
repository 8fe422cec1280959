#include <algorithm>
#include <cmath>

#include "rows.h"
#include "window.h"

namespace ops_test {

namespace {

class DepthwiseConv2dTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"kernel", {"3", "5", "2"}},
                {"stride", {"1", "2"}},
                {"dilation", {"1", "2"}},
                {"padding", {"1", "0"}},
                {"add_scale", {"false", "true"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"none", "before_activation", "after_activation"}},
                {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        if (build["kernel"] == "5" && build["schedule"] == "") {  // compiles much faster
            build["set.pixels"] = "2";
            build["set.rows"] = "1";
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        const int least = Window(build).smallest();
        std::vector<Case> cases;
        const std::vector<int> channels = {1, 3, 16, 17, 31, 33, 65, 8, 40};
        const std::vector<int> widths = {least, 13, 7, 18, least + 3, 31, least + 1, 9, 40};
        for (size_t i = 0; i < channels.size(); i++) {
            cases.push_back({"random", dims(channels[i], std::max(widths[i], least), least + int(i) % 5, 1 + int(i) % 3)});
        }
        cases.push_back({"several bands", dims(20, least + 5, least + 37, 2)});
        cases.push_back({"special values", dims(17, least + 9, least + 7, 1), special_values});
        if (Window(build).padding == 0) {  // times a zero outside of x it may be anything
            cases.push_back({"infinite weight", dims(17, least + 9, least + 7, 1), infinite_weight});
        }
        return cases;
    }

    std::string held_to() const override {
        return "(kernel^2 + 1)/2 of \\|scale\\| sum \\|x w\\| + 1.5 (\\|scale sum\\| + \\|bias\\| + \\|residual\\|), then the activation, "
               "and 1 of \\|result\\| + \\|residual\\|";
    }

    std::vector<std::string> open_dims() const override {
        return {"n", "c"};
    }

    // Fewer channels than a vector has are another loop, where the compiler adds up in another order.
    std::vector<std::string> batch_dims() const override {
        return {"n"};
    }

    bool needs_some(const std::string &dim, const Assignments &choices) const override {
        return Window(choices).is_only_padding(dim);
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
        const Tensor &x = p["x"], &weight = p["weight"];
        const int w = p.dim("w"), h = p.dim("h");
        double sum = 0, sum_abs = 0;
        for (int r = 0; r < window.kernel; r++) {
            for (int s = 0; s < window.kernel; s++) {
                const int at_col = window.at(col, s), at_row = window.at(row, r);
                const bool inside = at_col >= 0 && at_col < w && at_row >= 0 && at_row < h;
                const double product = (inside ? x(c, at_col, at_row, n) : 0) * weight(c, s, r);
                sum += product;
                sum_abs += std::fabs(product);
            }
        }
        return epilogue(p, sum, sum_abs, window.kernel * window.kernel, p.has("scale") ? p["scale"](c) : 1,
                        p.has("bias") ? p["bias"](c) : 0, p.has("residual") ? p["residual"](c, col, row, n) : 0);
    }

    static void special_values(KernelArguments &arguments, const Dims &) {
        HostBuffer &x = arguments.buffer("x");
        x.set({0, 0, 0, 0}, kInfinity);
        x.set({1, 3, 1, 0}, -kInfinity);
        x.set({16, 6, 2, 0}, kNaN);
        x.set({5, 5, 4, 0}, 60000);
    }

    static void infinite_weight(KernelArguments &arguments, const Dims &) {
        HostBuffer &weight = arguments.buffer("weight");
        weight.set({1, 0, 0}, kInfinity);
        weight.set({16, 1, 1}, kNaN);
    }
};

}  // namespace

const OpTest &depthwise_conv2d_test() {
    static const DepthwiseConv2dTest test;
    return test;
}

}  // namespace ops_test
