#include <algorithm>
#include <cmath>

#include "rows.h"
#include "window.h"

namespace ops_test {

namespace {

class Conv2dInt8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "mma", "grouped"}},
                {"set.skip_padding", {"true", "false"}},
                {"x_type", {"uint8", "int8"}},
                {"kernel", {"3", "1", "2"}},
                {"stride", {"1", "2"}},
                {"dilation", {"1", "2"}},
                {"padding", {"1", "0"}},
                {"zero_point", {"true", "false"}},
                {"type", {"float32", "bfloat16", "float16"}},
                {"output", {"same", "uint8", "int8", "float32", "float16"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"none", "before_activation", "after_activation"}},
                {"residual_type", {"same", "uint8", "int8"}},
                {"target", {"avx2", "host"}}};
    }

    // Fewer pixels have fewer sizes of tiles, so that most kernels compile much faster.
    void settle(Assignments &build) const override {
        if (build["schedule"] == "mma") {
            build["set.tiles"] = build["set.skip_padding"] == "true" ? "amx" : "always";
        }
        if (build["schedule"] != "") {
            build.erase("set.skip_padding");
        }
        if (build["add_residual"] == "none") {
            build.erase("residual_type");
        }
        if (build["schedule"] == "" && build["target"] != "cuda" && (build["output"] != "same" || build["kernel"] != "3")) {
            build["set.pixels"] = build["kernel"] == "1" ? "7" : "4";
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        const int least = Window(build).smallest();
        std::vector<Case> cases;
        if (build.count("weights") && build.at("weights") == "ohwi") {
            return box_cases(least);
        }
        if (is_grouped(build.at("schedule"))) {
            return grouped_cases(build, least);
        }
        const std::vector<int> depths = {1, 3, 8, 17, 4, 34};
        const std::vector<int> widths = {least, 13, 7, 18, least + 3, 31};
        const std::vector<int> outputs = {1, 15, 33, 64, 70, 20};
        for (size_t i = 0; i < depths.size(); i++) {
            const int groups = i % 3 == 2 ? 2 : 1;
            const int width = std::max(widths[i], least), height = least + int(i) % 5;
            cases.push_back({"random", dims(depths[i], outputs[i], width, height, groups, 1 + int(i) % 2)});
        }
        cases.push_back({"several bands", dims(5, 20, 9, least + 21, 1, 1)});
        cases.push_back({"extreme", dims(66, 33, least + 15, least + 2, 1, 1), extreme});
        cases.push_back({"special residual", dims(6, 33, least + 15, least + 2, 1, 1), special_residual});
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
        return {"n", "groups"};
    }

    bool needs_some(const std::string &dim, const Assignments &choices) const override {
        return Window(choices).is_only_padding(dim);
    }

    Dims fixed_dims(const std::string &schedule) const override {
        return is_grouped(schedule) ? Dims{{"c", 4}, {"o", 4}} : Dims{};
    }

    bool needs_dense(const std::string &argument) const override {
        return argument == "weight_packed";
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        set_sums(arguments, dims);
        arguments.buffer("weight_scale").fill_random(5, 0.0001, 0.004);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const Window window(p.params);
        std::vector<Expected> y;
        for (int n = 0; n < p.dim("n"); n++) {
            for (int row = 0; row < window.windows(p.dim("h")); row++) {
                for (int col = 0; col < window.windows(p.dim("w")); col++) {
                    for (int g = 0; g < p.dim("groups"); g++) {
                        for (int o = 0; o < p.dim("o"); o++) {
                            y.push_back(element(p, window, o, g, col, row, n));
                        }
                    }
                }
            }
        }
        return y;
    }

private:
    // Of 128 pixels by 64 or 128 channels, in boxes of 2 or of 32 images, 128 deep, fetched by TMA where channels come in sixteens and lie dense.
    static std::vector<Case> box_cases(int least) {
        const auto fitting = [&](int c, int o, int w, int h, int groups, int n) {
            return dims(c, o, std::max(w, least), std::max(h, least), groups, n);
        };
        return {{"a box", fitting(128, 64, 8, 8, 1, 2)},
                {"beyond a box", fitting(144, 72, 11, 9, 1, 3)},
                {"a wide image", fitting(16, 16, 37, 3, 1, 1)},
                {"odd", fitting(33, 70, 10, 13, 1, 1)},
                {"groups", fitting(16, 32, 7, 9, 3, 2)},
                {"odd groups", fitting(5, 33, 9, 5, 2, 1)},
                {"several steps", fitting(272, 16, 5, 6, 1, 1)},
                {"many images", fitting(16, 72, 3, 3, 1, 26)},
                {"many images, few channels", fitting(17, 16, 3, 2, 1, 33)},
                {"one channel", fitting(1, 1, 1, 1, 1, 1)},
                {"extreme", dims(144, 33, least + 15, least + 2, 1, 1), extreme},
                {"special residual", dims(16, 33, least + 15, least + 2, 1, 1), special_residual}};
    }

    static bool is_grouped(const std::string &schedule) {
        return schedule == "grouped" || schedule == "conv2d_int8.grouped";
    }

    // Groups of a fixed size, as many as a vector has and fewer.
    static std::vector<Case> grouped_cases(const Assignments &build, int least) {
        const auto size = [&](const char *param) {
            const auto given = build.find(param);
            return given == build.end() ? 4 : std::stoi(given->second);
        };
        const int c = size("set.channels"), o = size("set.panel");
        std::vector<Case> cases;
        for (int groups : {1, 3, 4, 9, 2}) {
            cases.push_back({"random", dims(c, o, std::max(9 + 2 * groups, least), least + groups, groups, 1 + groups % 2)});
        }
        cases.push_back({"several bands", dims(c, o, 9, least + 21, 5, 2)});
        cases.push_back({"extreme", dims(c, o, least + 15, least + 2, 5, 1), extreme});
        cases.push_back({"special residual", dims(c, o, least + 15, least + 2, 5, 1), special_residual});
        return cases;
    }

    static Dims dims(int c, int o, int w, int h, int groups, int n) {
        return {{"c", c}, {"o", o}, {"w", w}, {"h", h}, {"groups", groups}, {"n", n}};
    }

    static Expected element(const Problem &p, const Window &window, int o, int g, int col, int row, int n) {
        const bool packed = p.has("weight_packed");
        const Tensor &x = p["x"], &weight = p[packed ? "weight_packed" : "weight_ohwi"];
        const int panel = weight.extents[1], channels = p.dim("c"), w = p.dim("w"), h = p.dim("h");
        const double zero = p.scalar("x_zero_point", 0);
        double sum = 0;  // exact
        for (int r = 0; r < window.kernel; r++) {
            for (int s = 0; s < window.kernel; s++) {
                const int at_col = window.at(col, s), at_row = window.at(row, r);
                if (at_col < 0 || at_col >= w || at_row < 0 || at_row >= h) {
                    continue;
                }
                for (int c = 0; c < channels; c++) {
                    sum += (x(c, g, at_col, at_row, n) - zero) *
                           (packed ? weight(c % 4, o % panel, c / 4, s, r, o / panel, g) : weight(c, s, r, o, g));
                }
            }
        }
        // Rounded to f32, and the scales multiplied: 4 roundings, of which the sum's is one of `terms`.
        const double product = sum * p.scalar("x_scale", 1);
        return stored_y(p, epilogue(p, product, std::fabs(product), 3, p["weight_scale"](o, g), p.has("bias") ? p["bias"](o, g) : 0,
                                    residual_at(p, o, g, col, row, n)));
    }

    static HostBuffer &weight_of(KernelArguments &arguments) {
        return arguments.buffer(arguments.has_buffer("weight_packed") ? "weight_packed" : "weight_ohwi");
    }

    static void set_sums(KernelArguments &arguments, const Dims &dims) {
        const bool by_tap = arguments.has_buffer("weight_tap_sum");
        if (!by_tap && !arguments.has_buffer("weight_sum")) {
            return;
        }
        const bool packed = arguments.has_buffer("weight_packed");
        HostBuffer &weight = weight_of(arguments), &sums = arguments.buffer(by_tap ? "weight_tap_sum" : "weight_sum");
        const int panel = weight.extents()[1], kernel = weight.extents()[packed ? 3 : 1];
        const Tensor values = {weight.extents(), weight.values()};
        const int channels = int(dims.at("c"));
        const auto of_tap = [&](int o, int s, int r, int g) {
            double sum = 0;
            for (int c = 0; c < channels; c++) {
                sum += packed ? values(c % 4, o % panel, c / 4, s, r, o / panel, g) : values(c, s, r, o, g);
            }
            return sum;
        };
        for (int g = 0; g < dims.at("groups"); g++) {
            for (int o = 0; o < dims.at("o"); o++) {
                double sum = 0;
                for (int tap = 0; tap < kernel * kernel; tap++) {
                    const int s = tap % kernel, r = tap / kernel;
                    const double one = of_tap(o, s, r, g);
                    sum += one;
                    if (by_tap) {
                        sums.set({o, s, r, g}, one);
                    }
                }
                if (!by_tap) {
                    sums.set({o, g}, sum);
                }
            }
        }
    }

    // Every product as large as it gets: where sums of two are kept in 16 bits, they saturate.
    static void extreme(KernelArguments &arguments, const Dims &dims) {
        HostBuffer &x = arguments.buffer("x");
        x.fill(x.type().code == halide_type_uint ? 255 : -128);
        weight_of(arguments).fill(-128);
        set_sums(arguments, dims);
    }

    static void special_residual(KernelArguments &arguments, const Dims &) {
        if (HostBuffer *residual = residual_of_floats(arguments)) {
            const int outputs = residual->extents()[0];
            residual->set({0, 0, 0, 0, 0}, kNaN);
            residual->set({32 % outputs, 0, 3, 0, 0}, kInfinity);
            residual->set({20 % outputs, 0, 5, 0, 0}, -kInfinity);
            residual->set({31 % outputs, 0, 6, 0, 0}, 1e30);
        }
    }
};

}  // namespace

const OpTest &conv2d_int8_test() {
    static const Conv2dInt8Test test;
    return test;
}

}  // namespace ops_test
