#include "linear_int8.h"

namespace ops_test {

namespace {

class QkvProjectionInt8Test : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = int8_choices("x");
        choices.insert(choices.begin(), {"schedule", {"", "unfused"}});
        choices.push_back({"target", {"avx2", "host"}});
        return choices;
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        const std::vector<int> narrow = {1, 48, 5, 33, 97, 16};
        size_t n = 0;
        for (Dims dims : int8_product_sizes("m", "n_q", "depth")) {
            dims["n_kv"] = n % 3 == 0 ? dims["n_q"] : cycle(narrow, n);
            cases.push_back({"random", dims});
            n++;
        }
        cases.push_back({"extreme", {{"m", 9}, {"n_q", 50}, {"n_kv", 17}, {"depth", 1030}}, extreme});
        cases.push_back({"special", {{"m", 9}, {"n_q", 50}, {"n_kv", 17}, {"depth", 6}}, special});
        return cases;
    }

    std::string held_to() const override {
        return "the sum is exact; 2.5 of \\|product\\| + 1 of (\\|product\\| + \\|bias\\|)";
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        fill_weights(arguments, "w_q", dims.at("depth"), 5);
        fill_weights(arguments, "w_k", dims.at("depth"), 8);
        fill_weights(arguments, "w_v", dims.at("depth"), 9);
        fill_rows(arguments, "x");
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("q", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        const ProductInt8 product(p, "x", "w_" + output, p.dim("depth"));
        const Tensor *bias = find_input(p, "bias_" + output);
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            for (int col = 0; col < p.dim(output == "q" ? "n_q" : "n_kv"); col++) {
                y.push_back(stored_y(p, expect(product.linear(row, col, bias)), output));
            }
        }
        return y;
    }

private:
    static void extreme(KernelArguments &arguments, const Dims &dims) {
        make_extreme(arguments, "x", {"w_q", "w_k", "w_v"}, dims.at("depth"));
    }

    static void special(KernelArguments &arguments, const Dims &) {
        if (HostBuffer *scales = find_buffer(arguments, "x_scale_row")) {
            scales->set({3}, kNaN);
        }
        arguments.buffer("w_k_scale").set({16}, kNaN);
        if (HostBuffer *bias = find_buffer(arguments, "bias_q")) {
            bias->set({0}, kNaN);
            bias->set({20}, -kInfinity);
            bias->set({49}, kInfinity);
        }
    }
};

}  // namespace

const OpTest &qkv_projection_int8_test() {
    static const QkvProjectionInt8Test test;
    return test;
}

}  // namespace ops_test
