#include <algorithm>
#include <cmath>
#include <cstring>

#include "epilogue.h"
#include "rows.h"

namespace ops_test {

namespace {

// As many roundings as it has terms, each of the size of the sum of |a b|.
double product_error(int depth, double sum_abs) {
    return (depth + 1) * kRoundoff * sum_abs;
}

class GemmTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "deep", "unfused", "kn", "kn by tiles", "nk", "mma", "mma_f32"}},
                {"set.panel", {"32", "48", "64"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"tf32", {"false", "true"}},
                {"scaling", {"none", "scalar", "column", "row"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"false", "true"}},
                {"order", {kUsual, "residual,activation,bias,scale", "bias,scale,residual,activation", "activation,residual,scale,bias"}},
                {"output", {"same", "float32", "float16", "bfloat16", "int8", "uint8", "float8_e4m3"}},
                {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        if (build["schedule"] == "mma" || build["schedule"] == "mma_f32") {
            build["type"] = build["schedule"] == "mma" ? "bfloat16" : "float32";
            build["set.tiles"] = build["set.panel"] == "32" ? "amx" : "always";
            if (build["schedule"] == "mma" && build["set.panel"] == "48") {
                build["set.inner"] = "panels";
            }
        } else if (build["schedule"] == "deep") {
            build["set.depth"] = build["set.panel"] == "32" ? "512" : "1024";
            build["set.task"] = "8";
            if (build["set.panel"] == "48") {
                build["set.tiles"] = "always";
            }
        } else if (build["schedule"] == "kn by tiles") {
            build["schedule"] = "kn";
            build["type"] = build["type"] == "float16" ? "bfloat16" : build["type"];
            build["set.tiles"] = "always";
            build["set.blocks"] = "8";
            build["set.panels"] = build["set.panel"] == "32" ? "1" : "4";
        } else if (build["schedule"] != "" && build["schedule"] != "kn") {  // only packed weights have panels, and unfused has just one
            build.erase("set.panel");
        }
        if (build["activation"] == "log_relu") {  // what may be less than it is would be more times a negative scale
            build["order"] = kUsual;
        }
        const bool cut = build.count("type") && build["type"] == "float32" && build["schedule"] != "mma_f32";
        if (build.count("tf32") && !cut) {
            build["tf32"] = "false";
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        if (build.count("target") && build.at("target") == "cuda") {
            return tile_cases();
        }
        const std::vector<int> rows = {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 31, 33, 65, 6};
        const std::vector<int> depths = {1, 2, 7, 8, 9, 16, 33, 64, 129, 15, 17, 100};
        for (size_t n = 0; n < kOddSizes.size(); n++) {
            cases.push_back({"random", {{"m", cycle(rows, n)}, {"n", kOddSizes[n]}, {"k", cycle(depths, n)}}});
            cases.push_back({"random", {{"m", cycle(rows, n + 5)}, {"n", kOddSizes[n]}, {"k", cycle(depths, n + 5)}}});
        }
        cases.push_back({"several tasks", {{"m", 301}, {"n", 130}, {"k", 11}}});
        cases.push_back({"deep", {{"m", 9}, {"n", 65}, {"k", 2050}}, large_sum});
        if (build.count("schedule") && build.at("schedule") == "deep") {
            cases.push_back({"tasks of whole tiles, blocks of k", {{"m", 487}, {"n", 259}, {"k", 1031}}});
        }
        cases.push_back({"no depth", {{"m", 9}, {"n", 65}, {"k", 0}}});
        cases.push_back({"special rows", {{"m", 11}, {"n", 49}, {"k", 5}}, special_rows});
        cases.push_back({"special columns", {{"m", 11}, {"n", 70}, {"k", 5}}, special_columns});
        return cases;
    }

    std::string held_to() const override {
        return "(k + 1)/2 of sum \\|a b\\|, then 1 of each scale's result, 1 of \\|result\\| + \\|operand\\| of each addition, and the "
               "activation";
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return argument == "b_packed";
    }

    // What fills up the last panel must not matter: it stays NaN.
    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        if (!arguments.has_buffer("b_packed")) {
            return;
        }
        HostBuffer &b = arguments.buffer("b_packed");
        const int group = b.extents()[0], panel = b.extents()[1];
        const int columns = panel * b.extents()[3], rows = group * b.extents()[2];
        b.fill_random(seed + 17);
        for (int col = 0; col < columns; col++) {
            for (int k = 0; k < rows; k++) {
                if (col >= dims.at("n") || k >= dims.at("k")) {
                    b.set({k % group, col % panel, k / group, col / panel}, kNaN);
                }
            }
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int m = p.dim("m"), n = p.dim("n"), k = p.dim("k");
        const std::string activation = activation_of(p);
        const std::vector<std::string> order = order_of(p, kUsual);
        // Looked up once: by name in the innermost loop, that took most of the time of a test of tiles.
        const Tensor &a = p["a"];
        const bool tf32 = p.is("tf32", "true");
        std::vector<double> weights;  // by rows: the sums of a row's columns go on side by side, no addition waits for another one
        for (int i = 0; i < k; i++) {
            for (int col = 0; col < n; col++) {
                weights.push_back(tf32 ? cut_to_tf32(weight(p, i, col)) : weight(p, i, col));
            }
        }
        std::vector<Expected> y;
        std::vector<double> sums(static_cast<size_t>(n)), sums_abs(static_cast<size_t>(n));
        for (int row = 0; row < m; row++) {
            std::fill(sums.begin(), sums.end(), 0.0);
            std::fill(sums_abs.begin(), sums_abs.end(), 0.0);
            for (int i = 0; i < k; i++) {
                const double x = tf32 ? cut_to_tf32(a(i, row)) : a(i, row);
                const double *const w = weights.data() + size_t(i) * size_t(n);
                for (size_t col = 0; col < size_t(n); col++) {
                    const double product = x * w[col];
                    sums[col] += product;
                    sums_abs[col] += std::fabs(product);
                }
            }
            for (int col = 0; col < n; col++) {
                const double sum = sums[size_t(col)], sum_abs = sums_abs[size_t(col)];
                const double scale = p.has("scale_column") ? p["scale_column"](col)
                                     : p.has("scale_row")  ? p["scale_row"](row)
                                                           : p.scalar("scale", 1);
                const Expected v = in_order(order, {sum, product_error(k, sum_abs)},
                                            {{"scale", [&](const Expected &x) { return scaled(x, scale); }},
                                             {"bias", [&](const Expected &x) { return added(x, p.has("bias") ? p["bias"](col) : 0); }},
                                             {"activation", [&](const Expected &x) { return activated(activation, x.value, x.error); }},
                                             {"residual", [&](const Expected &x) { return added(x, residual_at(p, col, row)); }}});
                y.push_back(stored_y(p, v));
            }
        }
        return y;
    }

private:
    static constexpr const char *kUsual = "scale,bias,activation,residual";

    // Tiles of 128 x 256, fetched by TMA where rows begin at multiples of 8 elements: dense, or with 3 more
    // between them.
    static std::vector<Case> tile_cases() {
        return {{"a tile", {{"m", 128}, {"n", 256}, {"k", 64}}},
                {"beyond a tile", {{"m", 130}, {"n", 261}, {"k", 69}}},
                {"odd", {{"m", 129}, {"n", 257}, {"k", 65}}},
                {"several steps", {{"m", 37}, {"n", 93}, {"k", 453}}},
                {"a row", {{"m", 1}, {"n", 264}, {"k", 72}}},
                {"an element", {{"m", 1}, {"n", 1}, {"k", 1}}},
                {"several tiles", {{"m", 260}, {"n", 776}, {"k", 136}}},
                {"special rows", {{"m", 11}, {"n", 53}, {"k", 5}}, special_rows},
                {"special columns", {{"m", 11}, {"n", 72}, {"k", 8}}, special_columns},
                {"deep", {{"m", 9}, {"n", 69}, {"k", 2053}}, large_sum},
                {"more steps than stages", {{"m", 17}, {"n", 72}, {"k", 1416}}},  // also of 128
                {"no depth", {{"m", 9}, {"n", 69}, {"k", 0}}}};
    }

    static double weight(const Problem &p, int k, int col) {
        if (p.has("b_packed")) {
            const int group = p["b_packed"].extents[0], panel = p["b_packed"].extents[1];
            return p["b_packed"](k % group, col % panel, k / group, col / panel);
        }
        return p.has("b_nk") ? p["b_nk"](k, col) : p["b"](col, k);
    }

    // Sums of up to 2e5: beyond f16 before they cancel.
    static void large_sum(KernelArguments &arguments, const Dims &dims) {
        HostBuffer &a = arguments.buffer("a");
        for (int row = 0; row < dims.at("m"); row++) {
            for (int k = 0; k < dims.at("k"); k++) {
                a.set({k, row}, 100 + k % 7);
            }
        }
    }

    static void special_rows(KernelArguments &arguments, const Dims &) {
        HostBuffer &a = arguments.buffer("a");
        a.set({2, 0}, kNaN);
        a.set({0, 3}, kInfinity);
        a.set({4, 5}, -kInfinity);
        a.set({4, 7}, kNaN);
        a.set({1, 10}, kNaN);
        for (int k = 0; k < 5; k++) {
            a.set({k, 6}, 60000);
            a.set({k, 8}, 6e-8);
            a.set({k, 9}, 0);
        }
    }

    static void special_columns(KernelArguments &arguments, const Dims &dims) {
        for (const char *name : {"b", "b_nk", "b_packed"}) {
            if (!arguments.has_buffer(name)) {
                continue;
            }
            HostBuffer &b = arguments.buffer(name);
            const auto set = [&](int k, int col, double value) {
                if (b.extents().size() == 4) {
                    const int group = b.extents()[0], panel = b.extents()[1];
                    b.set({k % group, col % panel, k / group, col / panel}, value);
                } else {
                    b.set(name == std::string("b") ? std::vector<int>{col, k} : std::vector<int>{k, col}, value);
                }
            };
            set(1, 0, kNaN);
            set(3, 17, kInfinity);
            set(0, int(dims.at("n")) - 1, kNaN);
        }
    }
};

}  // namespace

const OpTest &gemm_test() {
    static const GemmTest test;
    return test;
}

}  // namespace ops_test
