#include <algorithm>
#include <cmath>

#include "epilogue.h"

namespace ops_test {

namespace {

class GemmInt8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "mma"}},
                {"a_type", {"uint8", "int8"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"output", {"same", "float32", "uint8", "int8"}},
                {"scaling", {"tensor", "row"}},
                {"zero_point", {"false", "true"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_erf"}},
                {"add_residual", {"false", "true"}},
                {"target", {"avx512,avx2", "avx2", "host"}}};
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

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return argument == "b_packed";
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        set_sums(arguments, dims);
        for_argument(arguments, "b_scale", [](HostBuffer &b) { b.fill_random(5, 0.001, 0.02); });
        for_argument(arguments, "a_scale_row", [](HostBuffer &b) { b.fill_random(6, 0.001, 0.02); });
        for_argument(arguments, "a_zero_point_row", [](HostBuffer &b) { b.fill_random(7, -100, 200); });
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int m = p.dim("m"), n = p.dim("n"), k = p.dim("k");
        const std::string activation = activation_of(p);
        std::vector<Expected> y;
        for (int row = 0; row < m; row++) {
            const double zero = p.has("a_zero_point_row") ? p["a_zero_point_row"](row) : p.scalar("a_zero_point", 0);
            const double a_scale = p.has("a_scale_row") ? p["a_scale_row"](row) : p.scalar("a_scale", 1);
            for (int col = 0; col < n; col++) {
                double sum = 0;  // exact
                for (int i = 0; i < k; i++) {
                    sum += (p["a"](i, row) - zero) * weight(p, i, col);
                }
                const double product = sum * a_scale * p["b_scale"](col);
                const double bias = p.has("bias") ? p["bias"](col) : 0;
                const double residual = p.has("residual") ? p["residual"](col, row) : 0;
                // Rounded to f32, and the scales multiplied.
                const double error = 5 * kRoundoff * std::fabs(product) + 2 * kRoundoff * std::fabs(bias);
                y.push_back(stored_y(p, epilogue(activation, product + bias, error, residual)));
            }
        }
        return y;
    }

private:
    // Tiles of 128 x 256, 128 deep, fetched by the copy engine where rows begin at multiples of 16 bytes: dense, or with 3
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

    static double weight(const Problem &p, int k, int col) {
        if (p.has("b_nk")) {
            return p["b_nk"](k, col);
        }
        const int panel = p["b_packed"].extents[1];
        return p["b_packed"](k % 4, col % panel, k / 4, col / panel);
    }

    template<typename F>
    static void for_argument(KernelArguments &arguments, const std::string &name, F f) {
        if (arguments.has_buffer(name)) {
            f(arguments.buffer(name));
        }
    }

    static void set_sums(KernelArguments &arguments, const Dims &dims) {
        for_argument(arguments, "b_sum", [&](HostBuffer &sums) {
            const bool packed = arguments.has_buffer("b_packed");
            HostBuffer &b = arguments.buffer(packed ? "b_packed" : "b_nk");
            const int panel = packed ? b.extents()[1] : 1;
            for (int col = 0; col < dims.at("n"); col++) {
                double sum = 0;
                for (int k = 0; k < dims.at("k"); k++) {
                    sum += b.get(packed ? std::vector<int>{k % 4, col % panel, k / 4, col / panel} : std::vector<int>{k, col});
                }
                sums.set({col}, sum);
            }
        });
    }

    // Every product as large as it gets: where sums of two are kept in 16 bits, they saturate.
    static void extreme(KernelArguments &arguments, const Dims &dims) {
        HostBuffer &a = arguments.buffer("a");
        a.fill(a.type().code == halide_type_uint ? 255 : -128);
        for (const char *b : {"b_packed", "b_nk"}) {
            for_argument(arguments, b, [](HostBuffer &all) { all.fill(-128); });
        }
        set_sums(arguments, dims);
    }

    static void special_residual(KernelArguments &arguments, const Dims &) {
        for_argument(arguments, "residual", [](HostBuffer &r) {
            r.set({0, 0}, kNaN);
            r.set({49, 3}, kInfinity);
            r.set({20, 5}, -kInfinity);
            r.set({48, 8}, 1e30);
        });
    }
};

}  // namespace

const OpTest &gemm_int8_test() {
    static const GemmInt8Test test;
    return test;
}

}  // namespace ops_test
