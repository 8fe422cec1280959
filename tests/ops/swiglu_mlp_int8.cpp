#include "linear_int8.h"

namespace ops_test {

namespace {

class SwigluMlpInt8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},       {"type", {"float32", "float16", "bfloat16"}}, {"folded", {"true", "false"}},
                {"add_residual", {"true", "false"}}, {"activation", {"silu", "gelu_tanh"}},        {"target", {"avx2", "host"}}};
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        const std::vector<int> columns = {33, 1, 48, 16, 97};
        size_t n = 0;
        for (Dims dims : int8_product_sizes("m", "hidden", "k")) {
            dims["n"] = cycle(columns, n++);
            cases.push_back({"random", dims});
        }
        cases.push_back({"special rows", {{"m", 11}, {"n", 49}, {"k", 5}, {"hidden", 20}}, special_rows});
        cases.push_back({"extreme", {{"m", 5}, {"n", 17}, {"k", 1030}, {"hidden", 1030}}, extreme});
        return cases;
    }

    std::string held_to() const override {
        return "as of swiglu_mlp with exact sums, and a step of 8 bits, 1/127 of the largest of its row, for each element that f32 may "
               "take over a half";
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        fill_weights(arguments, "w_gate", dims.at("k"), 5);
        fill_weights(arguments, "w_up", dims.at("k"), 8);
        fill_weights(arguments, "w_down", dims.at("hidden"), 9);
    }

    // An element that f32 takes over a half is off by a 127th of the largest of its row: 2.3e-3 was seen.
    double most_in_bf16(const Problem &) const override {
        return 0x1p-6;
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const std::string activation = param(p, "activation", "silu");
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            std::vector<Inexact> v;
            for (int k = 0; k < p.dim("k"); k++) {
                const double x = p["x"](k, row);
                v.push_back(p.has("weight") ? times({x, 0}, {p["weight"](k), 0}) : Inexact{x, 0});
            }
            const QuantizedRow x = quantize_row(v);
            const Inexact x_scale = times(x.scale, inverse_rms(p, "x", row, p.dim("k")));
            std::vector<Inexact> products;
            for (int col = 0; col < p.dim("hidden"); col++) {
                products.push_back(
                    times(activated(activation, linear_int8(p, x, x_scale, "w_gate", col)), linear_int8(p, x, {1, 0}, "w_up", col)));
            }
            const QuantizedRow h = quantize_row(products);
            const Inexact h_scale = times(h.scale, x_scale);
            for (int col = 0; col < p.dim("n"); col++) {
                const Inexact sum = linear_int8(p, h, h_scale, "w_down", col);
                y.push_back(expect(plus(sum, p.has("residual") ? p["residual"](col, row) : 0)));
            }
        }
        return y;
    }

private:
    // All of a row is the same, and so all of h.
    static void extreme(KernelArguments &arguments, const Dims &dims) {
        make_extreme(arguments, "w_gate", dims.at("k"));
        make_extreme(arguments, "w_up", dims.at("k"));
        make_extreme(arguments, "w_down", dims.at("hidden"));
        arguments.buffer("x").fill(1);
    }
};

}  // namespace

const OpTest &swiglu_mlp_int8_test() {
    static const SwigluMlpInt8Test test;
    return test;
}

}  // namespace ops_test
