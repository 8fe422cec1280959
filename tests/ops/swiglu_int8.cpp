#include "linear_int8.h"

namespace ops_test {

namespace {

class SwigluInt8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = int8_choices("x");
        choices.insert(choices.begin(), {"schedule", {"", "unfused"}});
        choices.push_back({"activation", {"silu", "gelu_tanh", "gelu_erf", "relu"}});
        choices.push_back({"target", {"avx2", "host"}});
        return choices;
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        for (const Dims &dims : int8_product_sizes("m", "n", "k")) {
            cases.push_back({"random", dims});
        }
        cases.push_back({"extreme", {{"m", 9}, {"n", 50}, {"k", 1030}}, extreme});
        cases.push_back({"special", {{"m", 9}, {"n", 50}, {"k", 6}}, special});
        return cases;
    }

    std::string held_to() const override {
        return "sums are exact; gate and up 2.5 of \\|product\\| + 1 of (\\|product\\| + \\|bias\\|), the activation of gate; each times "
               "the other factor, and 1/2 of y";
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
        fill_rows(arguments, "x");
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const ProductInt8 gates(p, "x", "w_gate", p.dim("k")), ups(p, "x", "w_up", p.dim("k"));
        const Tensor *bias_gate = find_input(p, "bias_gate"), *bias_up = find_input(p, "bias_up");
        const std::string activation = param(p, "activation", "silu");
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            for (int col = 0; col < p.dim("n"); col++) {
                const Inexact gate = gates.linear(row, col, bias_gate), up = ups.linear(row, col, bias_up);
                y.push_back(stored_y(p, expect(times(activated(activation, gate), up))));
            }
        }
        return y;
    }

private:
    static void extreme(KernelArguments &arguments, const Dims &dims) {
        make_extreme(arguments, "x", {"w_gate", "w_up"}, dims.at("k"));
    }

    static void special(KernelArguments &arguments, const Dims &) {
        if (HostBuffer *scales = find_buffer(arguments, "x_scale_row")) {
            scales->set({3}, kNaN);
        }
        arguments.buffer("w_up_scale").set({48}, kNaN);
        if (HostBuffer *bias = find_buffer(arguments, "bias_gate")) {
            bias->set({0}, kNaN);
            bias->set({20}, -kInfinity);
            bias->set({49}, kInfinity);
        }
    }
};

}  // namespace

const OpTest &swiglu_int8_test() {
    static const SwigluInt8Test test;
    return test;
}

}  // namespace ops_test
