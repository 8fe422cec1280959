#include "linear.h"

namespace ops_test {

namespace {

class QkvProjectionTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = block_choices();
        const std::vector<Choice> others = {{"schedule", {"", "unfused", "nk", "blocks", "panels", "interleaved", "blocks_unfused"}},
                                            {"type", {"float32", "float16", "bfloat16"}},
                                            {"add_bias", {"false", "true"}},
                                            {"target", {"avx2", "host"}}};
        choices.insert(choices.end(), others.begin(), others.end());
        return choices;
    }

    bool is_of_host(const std::string &choice) const override {
        return is_block_choice(choice);
    }

    void settle(Assignments &build) const override {
        settle_blocks(build);
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        const std::vector<int> narrow = {1, 48, 5, 33, 97, 16};
        size_t n = 0;
        for (Dims dims : product_sizes(build, "m", "n_q", "depth")) {
            dims["n_kv"] = n % 3 == 0 ? dims["n_q"] : cycle(narrow, n);
            cases.push_back({"random", dims});
            n++;
        }
        const int depth = has_blocks(variant_of(build)) ? block_step(build) : 5;
        cases.push_back({"special rows", {{"m", 11}, {"n_q", 49}, {"n_kv", 17}, {"depth", depth}}, special_rows});
        return cases;
    }

    std::string held_to() const override {
        return "(k + 1)/2 of sum \\|x w\\| + 1 of (\\|sum\\| + \\|bias\\|); of weights in blocks as of gemm_q";
    }

    Dims fixed_dims(const std::string &schedule) const override {
        return has_blocks(variant_of({{"schedule", schedule}})) ? Dims{{"depth", 256}} : Dims{};
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument) || is_block_of_file(argument);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        spoil_padding(arguments, "w_q", dims.at("depth"), dims.at("n_q"));
        spoil_padding(arguments, "w_k", dims.at("depth"), dims.at("n_kv"));
        spoil_padding(arguments, "w_v", dims.at("depth"), dims.at("n_kv"));
        for (const char *w : {"w_q", "w_k", "w_v"}) {
            fill_blocks(arguments, w, seed++, true);
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("q", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            for (int col = 0; col < p.dim(output == "q" ? "n_q" : "n_kv"); col++) {
                y.push_back(expect(linear(p, "x", row, "w_" + output, col, p.dim("depth"), "bias_" + output)));
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &qkv_projection_test() {
    static const QkvProjectionTest test;
    return test;
}

}  // namespace ops_test
