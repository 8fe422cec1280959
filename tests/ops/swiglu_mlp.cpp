#include "linear.h"

namespace ops_test {

namespace {

class SwigluMlpTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = block_choices();
        const std::vector<Choice> others = {{"schedule", {"", "partly", "unfused", "blocks", "panels", "interleaved", "blocks_unfused"}},
                                            {"type", {"bfloat16", "float32", "float16"}},
                                            {"h_type", {"exact", "two_bf16", "bf16"}},
                                            {"folded", {"true", "false"}},
                                            {"add_residual", {"true", "false"}},
                                            {"activation", {"silu", "gelu_tanh", "gelu_erf", "relu", "none"}},
                                            {"target", {"avx2", "host"}}};
        choices.insert(choices.end(), others.begin(), others.end());
        return choices;
    }

    bool is_of_host(const std::string &choice) const override {
        return is_block_choice(choice);
    }

    void settle(Assignments &build) const override {
        if (build["target"] == "cuda") {
            build.erase("h_type");
        }
        settle_blocks(build);
        if (has_blocks(variant_of(build)) && build["h_type"] == "two_bf16") {
            build["h_type"] = "exact";
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        const std::vector<int> columns = {33, 1, 48, 16, 97};
        const bool blocks = has_blocks(variant_of(build));
        const int step = blocks ? block_step(build) : 1;
        size_t n = 0;
        for (Dims dims : product_sizes(build, "m", "hidden", "k")) {
            dims["n"] = cycle(columns, n++);
            dims["hidden"] = blocks ? step * cycle({1, 2, 3}, n) : dims["hidden"];
            cases.push_back({"random", dims});
        }
        if (blocks) {
            cases.push_back({"nothing hidden", {{"m", 3}, {"n", 20}, {"k", step}, {"hidden", 0}}});
        }
        const auto nan = [](KernelArguments &arguments, const Dims &) { arguments.buffer("x").set({2, 3}, kNaN); };
        cases.push_back({"NaN in a row", {{"m", 11}, {"n", 49}, {"k", blocks ? step : 5}, {"hidden", blocks ? step : 20}}, nan});
        return cases;
    }

    std::string held_to() const override {
        return "gate and up as of rms_norm_gemm, h as of swiglu; then sum (error of h) \\|w\\| + (hidden + 1)/2 of sum \\|h w\\| + 1 of "
               "(\\|sum\\| + \\|residual\\|); h that is rounded is off by 2^-8 more in bf16, in two parts 2^-16, and 2^-11 in f16; of "
               "weights in blocks as of gemm_q, where h in 8 bits is a step more or less at what is a tie within its error";
    }

    Dims fixed_dims(const std::string &schedule) const override {
        return has_blocks(variant_of({{"schedule", schedule}})) ? Dims{{"k", 256}, {"hidden", 256}} : Dims{};
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument) || is_block_of_file(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        spoil_padding(arguments, "w_gate", dims.at("k"), dims.at("hidden"));
        spoil_padding(arguments, "w_up", dims.at("k"), dims.at("hidden"));
        spoil_padding(arguments, "w_down", dims.at("hidden"), dims.at("n"));
        for (const char *w : {"w_gate", "w_up", "w_down"}) {
            fill_blocks(arguments, w, seed++, true);
        }
    }

    // Where what goes to the second product is rounded to bf16, each by 2^-9 at most, and few of them may cancel: 1.8e-3 was seen.
    double most_in_bf16(const Problem &p) const override {
        return p.is("activations", "int8") ? 0x1p-6 : rounds_h(p) ? 0x1p-8 : 1e-3;
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int depth = p.dim("k"), hidden = p.dim("hidden");
        const std::string type = param(p, "type", "float32"), activation = activation_of(p, "silu");
        // h is rounded by a half of the last place, f16 below 6e-5 by a fixed amount.
        const double rounding = rounds_h(p) ? 0x1p-8 : type == "bfloat16" ? 0x1p-16 : type == "float16" ? 0x1p-11 : 0;
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            const Inexact inv = inverse_rms(p, "x", row, depth);
            const std::vector<double> x = weighted(p, "x", row, depth);
            const MultipliedRow of_x = multiplied_row(p, x.data(), in_blocks(p, "w_gate") ? depth : 0);
            const auto projected = [&](const char *w, int col) {
                Inexact sum;
                if (in_blocks(p, w)) {
                    const Expected product = block_product(p, of_x, w, col, depth);
                    sum = {product.value, product.error * (depth + 6.0) / (depth + 4)};
                } else {
                    sum = sum_of_products(depth, x.data(), column(p, w, col));
                    sum.error *= (depth + 3.0) / (depth + 1);
                }
                return times(sum, inv);
            };
            std::vector<double> h, h_error;
            for (int col = 0; col < hidden; col++) {
                Inexact v = times(activated(activation, projected("w_gate", col)), projected("w_up", col));
                v.error += rounding * (std::fabs(v.value) + v.error) + (rounding > 0 ? 0x1p-25 : 0);
                h.push_back(v.value);
                h_error.push_back(v.error);
            }
            const bool down_in_blocks = in_blocks(p, "w_down");
            const MultipliedRow of_h = multiplied_row(p, h.data(), down_in_blocks ? hidden : 0, h_error.data());
            for (int col = 0; col < p.dim("n"); col++) {
                if (down_in_blocks) {
                    const Expected product = block_product(p, of_h, "w_down", col, hidden);
                    y.push_back(expect(plus({product.value, product.error}, p.has("residual") ? p["residual"](col, row) : 0)));
                    continue;
                }
                const double *w = column(p, "w_down", col);
                Inexact sum = sum_of_products(hidden, h.data(), w);
                for (int k = 0; k < hidden; k++) {
                    sum.error += h_error[size_t(k)] * std::fabs(w[k]);
                }
                y.push_back(expect(plus(sum, p.has("residual") ? p["residual"](col, row) : 0)));
            }
        }
        return y;
    }

private:
    static bool rounds_h(const Problem &p) {
        return p.is("type", "bfloat16") && (p.is("h_type", "bf16") || p.on_gpu);
    }
};

}  // namespace

const OpTest &swiglu_mlp_test() {
    static const SwigluMlpTest test;
    return test;
}

}  // namespace ops_test
