#include <cmath>

#include "epilogue.h"
#include "float8.h"

namespace ops_test {

namespace {

class GemmFp8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"a_type", {kE4M3, kE5M2}},
                {"b_type", {kE4M3, kE5M2}},
                {"scaling", {"tensor", "row", "block"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"false", "true"}},
                {"order", {kUsual, "bias,dequantize,residual,activation", "dequantize,activation,residual,bias"}},
                {"output", {"same", "float32", "int8"}},
                {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        if (build["activation"] == "log_relu") {  // what may be less than it is would be more times a negative scale
            build["order"] = kUsual;
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        if (build.count("target") && build.at("target") == "cuda") {
            return tile_cases();
        }
        std::vector<Case> cases;
        const std::vector<int> rows = {1, 2, 3, 4, 5, 7, 8, 9, 11, 16, 17, 33, 6};
        const std::vector<int> depths = {1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 129, 15, 300};
        for (size_t n = 0; n < kOddSizes.size(); n++) {
            cases.push_back({"random", {{"m", cycle(rows, n)}, {"n", kOddSizes[n]}, {"k", cycle(depths, n)}}});
        }
        cases.push_back({"several tasks", {{"m", 301}, {"n", 130}, {"k", 11}}});
        cases.push_back({"several blocks", {{"m", 9}, {"n", 259}, {"k", 384}}});
        cases.push_back({"no depth", {{"m", 9}, {"n", 65}, {"k", 0}}});
        cases.push_back({"every byte", {{"m", 2}, {"n", 256}, {"k", 1}}, every_byte});
        cases.push_back({"special rows", {{"m", 11}, {"n", 49}, {"k", 5}}, special_rows});
        return cases;
    }

    std::string held_to() const override {
        return "products are exact; (k + 1)/2 of sum \\|a b\\|, and 1 more of each block's with scaling=block, then 1 of each scale's "
               "result, "
               "1 of \\|result\\| + \\|operand\\| of each addition, and the activation. sm_90a adds up each 128 of k with 14 bits: 2^11 "
               "more of "
               "the sum of \\|a b\\| over these";
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    void fill(KernelArguments &arguments, const Dims &, uint64_t) const override {
        make_small_float8(arguments.buffer("a"));
        make_small_float8(arguments.buffer("b_nk"));
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int m = p.dim("m"), n = p.dim("n"), k = p.dim("k");
        const std::string activation = activation_of(p);
        const std::vector<std::string> order = order_of(p, kUsual);
        const std::vector<double> a = numbers(p["a"], p.is("a_type", kE5M2)), b = numbers(p["b_nk"], p.is("b_type", kE5M2));
        const bool blocks = p.has("a_scale_block");
        std::vector<Expected> y;
        for (int row = 0; row < m; row++) {
            for (int col = 0; col < n; col++) {
                double sum = 0, sum_abs = 0;
                for (int first = 0; first < k; first += kBlock) {
                    double of_block = 0, abs_of_block = 0;
                    for (int i = first; i < std::min(k, first + kBlock); i++) {
                        const double product = a[size_t(row) * size_t(k) + size_t(i)] * b[size_t(col) * size_t(k) + size_t(i)];
                        of_block += product;
                        abs_of_block += std::fabs(product);
                    }
                    const double scale =
                        blocks ? p["a_scale_block"](first / kBlock, row) * p["b_scale_block"](first / kBlock, col / kBlock) : 1;
                    sum += scale * of_block;
                    sum_abs += std::fabs(scale) * abs_of_block;
                }
                const double scale = p.has("a_scale_row") ? p["a_scale_row"](row) * p["b_scale_column"](col)
                                                          : p.scalar("a_scale", 1) * p.scalar("b_scale", 1);
                const double error = (k + 1 + (blocks ? 4 : 0)) * kRoundoff * sum_abs;
                const auto dequantized = [&](const Expected &x) { return blocks ? x : scaled(scaled(x, 1), scale); };
                const Expected v = in_order(order, {sum, error},
                                            {{"dequantize", dequantized},
                                             {"bias", [&](const Expected &x) { return added(x, p.has("bias") ? p["bias"](col) : 0); }},
                                             {"activation", [&](const Expected &x) { return activated(activation, x.value, x.error); }},
                                             {"residual", [&](const Expected &x) { return added(x, residual_at(p, col, row)); }}});
                y.push_back(stored_y(p, v));
            }
        }
        return y;
    }

private:
    static constexpr const char *kUsual = "dequantize,bias,activation,residual", *kE4M3 = "float8_e4m3", *kE5M2 = "float8_e5m2";
    static constexpr int kBlock = 128;

    static std::vector<double> numbers(const Tensor &bytes, bool e5m2) {
        std::vector<double> all;
        for (double byte : bytes.values) {
            all.push_back(float8(int(byte), e5m2 ? 5 : 4));
        }
        return all;
    }

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
                {"more steps than stages", {{"m", 17}, {"n", 80}, {"k", 1424}}},
                {"every byte", {{"m", 2}, {"n", 256}, {"k", 16}}, every_byte},
                {"special rows", {{"m", 11}, {"n", 50}, {"k", 16}}, special_rows},
                {"no depth", {{"m", 9}, {"n", 69}, {"k", 0}}}};
    }

    // All numbers there are, times one and times one of the other sign.
    static void every_byte(KernelArguments &arguments, const Dims &dims) {
        HostBuffer &a = arguments.buffer("a"), &b = arguments.buffer("b_nk");
        for (int k = 0; k < dims.at("k"); k++) {
            for (int row = 0; row < dims.at("m"); row++) {
                a.set({k, row}, k > 0 ? 0 : row == 0 ? 0x38 : 0xb8);  // 1 of e4m3, 0.5 of e5m2
            }
            for (int col = 0; col < dims.at("n"); col++) {
                b.set({k, col}, k > 0 ? 0 : col);
            }
        }
    }

    static void special_rows(KernelArguments &arguments, const Dims &) {
        HostBuffer &a = arguments.buffer("a");
        a.set({2, 0}, 0x7f);  // a NaN of both types
        a.set({0, 3}, 0x7c);  // infinity of e5m2
        a.set({4, 5}, 0xff);
        a.set({4, 7}, 0xfc);
        for (int k = 0; k < 5; k++) {
            a.set({k, 6}, 0x7b);  // the largest of e5m2
            a.set({k, 8}, 0x01);  // the least number
            a.set({k, 9}, 0x80);  // -0
        }
    }
};

}  // namespace

const OpTest &gemm_fp8_test() {
    static const GemmFp8Test test;
    return test;
}

}  // namespace ops_test
