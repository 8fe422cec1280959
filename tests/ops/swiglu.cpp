#include "linear.h"

namespace ops_test {

namespace {

class SwigluTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = block_choices();
        const std::vector<Choice> others = {
            {"schedule", {"", "partly", "unfused", "nk", "blocks", "panels", "interleaved", "blocks_unfused"}},
            {"type", {"float32", "float16", "bfloat16"}},
            {"add_bias", {"false", "true"}},
            {"activation", {"silu", "gelu_tanh", "gelu_erf", "relu"}},
            {"output", {"same", "float32", "int8", "float8_e4m3", "float8_e5m2"}},
            {"scaling", {"tensor", "row", "block"}},
            {"target", {"avx2", "host"}}};
        choices.insert(choices.end(), others.begin(), others.end());
        return choices;
    }

    bool is_of_host(const std::string &choice) const override {
        return is_block_choice(choice);
    }

    void settle(Assignments &build) const override {
        settle_scaling(build);
        settle_blocks(build);
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        for (const Dims &dims : product_sizes(build, "m", "n", "k")) {
            cases.push_back({"random", dims});
        }
        cases.push_back(
            {"special rows", {{"m", 11}, {"n", 49}, {"k", has_blocks(variant_of(build)) ? block_step(build) : 5}}, special_rows});
        return cases;
    }

    std::string held_to() const override {
        return "gate and up each (k + 1)/2 of sum \\|x w\\| + 1 of (\\|sum\\| + \\|bias\\|), the activation of gate; each times the other "
               "factor, and 1/2 of y; of weights in blocks as of gemm_q";
    }

    Dims fixed_dims(const std::string &schedule) const override {
        return has_blocks(variant_of({{"schedule", schedule}})) ? Dims{{"k", 256}} : Dims{};
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument) || is_block_of_file(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        spoil_padding(arguments, "w_gate", dims.at("k"), dims.at("n"));
        spoil_padding(arguments, "w_up", dims.at("k"), dims.at("n"));
        fill_blocks(arguments, "w_gate", seed, true);
        fill_blocks(arguments, "w_up", seed + 1, true);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("y", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        const bool rounded = p.is("scaling", "row") || p.is("scaling", "block");
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            std::vector<Expected> h;
            for (int col = 0; col < p.dim("n"); col++) {
                const Inexact gate = linear(p, "x", row, "w_gate", col, p.dim("k"), "bias_gate");
                const Inexact up = linear(p, "x", row, "w_up", col, p.dim("k"), "bias_up");
                const Expected e = expect(times(activated(activation_of(p, "silu"), gate), up));
                h.push_back(rounded ? stored_within(p, e) : e);
            }
            const std::vector<Expected> of_row = stored_row(p, output, h);
            y.insert(y.end(), of_row.begin(), of_row.end());
        }
        return y;
    }
};

}  // namespace

const OpTest &swiglu_test() {
    static const SwigluTest test;
    return test;
}

}  // namespace ops_test
