#include "linear.h"

namespace ops_test {

namespace {

class RmsNormGemmTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "nk"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"folded", {"true", "false"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        for (const Dims &dims : product_sizes("m", "n", "k")) {
            cases.push_back({"random", dims});
        }
        const auto special = [](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            x.set({2, 0}, kNaN);
            x.set({4, 7}, kNaN);
            for (int k = 0; k < 5; k++) {
                x.set({k, 6}, 60000 - k);
                x.set({k, 9}, 0);
            }
        };
        cases.push_back({"special rows", {{"m", 11}, {"n", 49}, {"k", 5}}, special});
        return cases;
    }

    std::string held_to() const override {
        return "(k + 3)/2 of sum \\|x weight w\\| / rms + (k/4 + 4.5) of \\|product\\| + 1 of (\\|product\\| + \\|bias\\|), then the "
               "activation";
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        spoil_padding(arguments, "w", dims.at("k"), dims.at("n"));
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int depth = p.dim("k");
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            const Inexact inv = inverse_rms(p, "x", row, depth);
            const std::vector<double> x = weighted(p, "x", row, depth);
            for (int col = 0; col < p.dim("n"); col++) {
                Inexact sum = sum_of_products(depth, x.data(), column(p, "w", col));
                sum.error *= (depth + 3.0) / (depth + 1);  // for the product with weight
                sum = times(sum, inv);
                sum = p.has("bias") ? plus(sum, p["bias"](col)) : sum;
                y.push_back(activated(activation_of(p), sum.value, sum.error));
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &rms_norm_gemm_test() {
    static const RmsNormGemmTest test;
    return test;
}

}  // namespace ops_test
