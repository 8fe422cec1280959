#include <algorithm>
#include <cmath>

#include "rows.h"
#include "window.h"

namespace ops_test {

namespace {

class Conv2dTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "oihw", "grouped", "mma"}},
                {"set.panel", {"64", "32"}},
                {"set.skip_padding", {"true", "false"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"kernel", {"3", "1", "2"}},
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
        if (build["schedule"] == "mma") {
            build["type"] = "bfloat16";
            build["set.tiles"] = build["set.panel"] == "32" ? "amx" : "always";
            build.erase("set.skip_padding");
        } else if (build["schedule"] != "") {  // the others have just one panel
            build.erase("set.panel");
            build.erase("set.skip_padding");
        }
        if (is_grouped(build["schedule"]) && build.count("panel")) {
            build["panel"] = "4";
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        const int least = Window(build).smallest();
        std::vector<Case> cases;
        if (build.count("target") && build.at("target") == "cuda" && !is_grouped(build.at("schedule"))) {
            return box_cases(build);
        }
        const auto fixed = build.find("set.channels");
        int channels = fixed == build.end() ? 0 : std::stoi(fixed->second);
        if (is_grouped(build.at("schedule"))) {  // groups of a fixed size, as many as a vector has and fewer
            const auto panel = build.find("set.panel");
            const int outputs = panel == build.end() ? 4 : std::stoi(panel->second);
            channels = channels == 0 ? 4 : channels;
            for (int groups : {1, 3, 4, 9, 2}) {
                cases.push_back(
                    {"random", dims(channels, outputs, std::max(9 + 2 * groups, least), least + groups, groups, 1 + groups % 2)});
            }
            cases.push_back({"several bands", dims(channels, outputs, 9, least + 21, 5, 2)});
            return cases;
        }
        const std::vector<int> depths = {1, 3, 2, 17, 4, 33};
        const std::vector<int> widths = {least, 13, 7, 18, least + 3, 31};
        const std::vector<int> outputs = {1, 15, 33, 64, 70, 130};
        for (size_t i = 0; i < 6; i++) {
            const int groups = i % 3 == 2 ? 2 : 1;
            cases.push_back({"random", dims(channels > 0 ? channels : depths[i], outputs[i], std::max(widths[i], least), least + int(i) % 5,
                                            groups, 1 + int(i) % 2)});
        }
        cases.push_back({"several bands", dims(channels > 0 ? channels : 5, 20, 9, least + 21, 1, 2)});
        if (channels > 0 && channels != 3) {
            return cases;
        }
        cases.push_back({"special values", dims(3, 17, least + 7, least + 5, 1, 1), special_values});
        if (Window(build).padding == 0 || skips_padding(build)) {  // else times a zero outside of x it may be anything
            cases.push_back({"infinite weight", dims(3, 17, least + 7, least + 5, 1, 1), infinite_weight});
        }
        return cases;
    }

    std::string held_to() const override {
        return "(c kernel^2 + 1)/2 of \\|scale\\| sum \\|x w\\| + 1.5 (\\|scale sum\\| + \\|bias\\| + \\|residual\\|), then the "
               "activation, and 1 of \\|result\\| + \\|residual\\|";
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

    // What fills packed weights up must not matter: it stays NaN.
    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        if (!arguments.has_buffer("weight_packed")) {
            return;
        }
        HostBuffer &weight = arguments.buffer("weight_packed");
        weight.fill_random(seed + 17);
        const std::vector<int> e = weight.extents();
        each(e, [&](const std::vector<int> &i) {
            if (i[1] + i[5] * e[1] >= dims.at("o") || i[0] + i[2] * e[0] >= dims.at("c")) {
                weight.set(i, kNaN);
            }
        });
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const Window window(p.params);
        const int c = p.dim("c"), k = p.dim("o"), groups = p.dim("groups"), w = p.dim("w"), h = p.dim("h");
        std::vector<Expected> y;
        for (int n = 0; n < p.dim("n"); n++) {
            for (int row = 0; row < window.windows(h); row++) {
                for (int col = 0; col < window.windows(w); col++) {
                    for (int g = 0; g < groups; g++) {
                        for (int out = 0; out < k; out++) {
                            y.push_back(element(p, window, c, out, g, col, row, n));
                        }
                    }
                }
            }
        }
        return y;
    }

private:
    static bool is_grouped(const std::string &schedule) {
        return schedule == "grouped" || schedule == "conv2d.grouped";
    }

    static bool skips_padding(const Assignments &build) {
        const auto skip = build.find("set.skip_padding");
        const bool on_host = build.count("target") == 0 || build.at("target") != "cuda";
        const std::string &schedule = build.at("schedule");
        const bool by_tiles = schedule == "mma" || schedule == "conv2d.mma";
        return on_host && !is_grouped(schedule) && !by_tiles && (skip == build.end() || skip->second == "true");
    }

    static Dims dims(int c, int k, int w, int h, int groups, int n) {
        return {{"c", c}, {"o", k}, {"w", w}, {"h", h}, {"groups", groups}, {"n", n}};
    }

    // Of 128 pixels by 64 or 128 channels, in boxes of 2 or of 32 images, fetched by TMA where channels come in eights and lie dense.
    static std::vector<Case> box_cases(const Assignments &build) {
        const Window window(build);
        const int least = window.smallest();
        const auto fitting = [&](int c, int k, int w, int h, int groups, int n) {
            return dims(c, k, std::max(w, least), std::max(h, least), groups, n);
        };
        std::vector<Case> cases = {{"a box", fitting(64, 64, 8, 8, 1, 2)},
                                   {"beyond a box", fitting(72, 72, 11, 9, 1, 3)},
                                   {"a wide image", fitting(8, 16, 37, 3, 1, 1)},
                                   {"odd", fitting(33, 70, 10, 13, 1, 1)},
                                   {"groups", fitting(8, 16, 7, 9, 3, 2)},
                                   {"odd groups", fitting(5, 33, 9, 5, 2, 1)},
                                   {"several steps", fitting(136, 8, 5, 6, 1, 1)},
                                   {"many images", fitting(8, 72, 3, 3, 1, 26)},
                                   {"many images, few channels", fitting(9, 16, 3, 2, 1, 33)},
                                   {"one channel", fitting(1, 1, 1, 1, 1, 1)},
                                   {"special values", dims(3, 17, least + 7, least + 5, 1, 1), special_values}};
        if (window.padding == 0) {
            cases.push_back({"infinite weight", dims(3, 17, least + 7, least + 5, 1, 1), infinite_weight});
        }
        return cases;
    }

    static Expected element(const Problem &p, const Window &window, int channels, int k, int g, int col, int row, int n) {
        const Layout layout = p.has("weight") ? kOihw : p.has("weight_ohwi") ? kOhwi : kPacked;
        const Tensor &image = p["x"], &weights = p[layout == kOihw ? "weight" : layout == kOhwi ? "weight_ohwi" : "weight_packed"];
        const int w = p.dim("w"), h = p.dim("h");
        double sum = 0, sum_abs = 0;
        for (int r = 0; r < window.kernel; r++) {
            for (int s = 0; s < window.kernel; s++) {
                const int at_col = window.at(col, s), at_row = window.at(row, r);
                if (at_col < 0 || at_col >= w || at_row < 0 || at_row >= h) {
                    continue;
                }
                for (int c = 0; c < channels; c++) {
                    const double product = image(c, g, at_col, at_row, n) * weight(weights, layout, k, c, s, r, g);
                    sum += product;
                    sum_abs += std::fabs(product);
                }
            }
        }
        return epilogue(p, sum, sum_abs, channels * window.kernel * window.kernel, p.has("scale") ? p["scale"](k, g) : 1,
                        p.has("bias") ? p["bias"](k, g) : 0, p.has("residual") ? p["residual"](k, g, col, row, n) : 0);
    }

    enum Layout { kOihw, kOhwi, kPacked };

    static double weight(const Tensor &w, Layout layout, int k, int c, int s, int r, int g) {
        if (layout == kOihw) {
            return w(s, r, c, k, g);
        }
        if (layout == kOhwi) {
            return w(c, s, r, k, g);
        }
        const int group = w.extents[0], panel = w.extents[1];
        return w(c % group, k % panel, c / group, s, r, k / panel, g);
    }

    template<typename Function>
    static void each(const std::vector<int> &extents, Function function) {
        size_t size = 1;
        for (int e : extents) {
            size *= size_t(e);
        }
        for (size_t n = 0; n < size; n++) {
            std::vector<int> index;
            size_t rest = n;
            for (int e : extents) {
                index.push_back(int(rest % size_t(e)));
                rest /= size_t(e);
            }
            function(index);
        }
    }

    static void special_values(KernelArguments &arguments, const Dims &) {
        HostBuffer &x = arguments.buffer("x");
        x.set({0, 0, 0, 0, 0}, kInfinity);
        x.set({1, 0, 3, 1, 0}, -kInfinity);
        x.set({2, 0, 6, 2, 0}, kNaN);
        x.set({0, 0, 5, 4, 0}, 60000);
    }

    static void infinite_weight(KernelArguments &arguments, const Dims &) {
        const bool packed = arguments.has_buffer("weight_packed"), ohwi = arguments.has_buffer("weight_ohwi");
        HostBuffer &weight = arguments.buffer(packed ? "weight_packed" : ohwi ? "weight_ohwi" : "weight");
        const auto at = [&](int k, int c) {
            const int group = weight.extents()[0];
            return packed ? std::vector<int>{c % group, k, c / group, 0, 0, 0, 0}
                   : ohwi ? std::vector<int>{c, 0, 0, k, 0}
                          : std::vector<int>{0, 0, c, k, 0};
        };
        weight.set(at(1, 0), kInfinity);
        weight.set(at(16, 2), kNaN);
    }
};

}  // namespace

const OpTest &conv2d_test() {
    static const Conv2dTest test;
    return test;
}

}  // namespace ops_test
