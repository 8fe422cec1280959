#include "logits.h"

namespace ops_test {

namespace {

class LinearCrossEntropyTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = block_choices();
        const std::vector<Choice> others = {{"schedule", {"", "unfused", "blocks", "panels", "interleaved", "blocks_unfused"}},
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
        return logits_cases(build);
    }

    std::string held_to() const override {
        return "a logit (k + 1)/2 of sum \\|x w\\| + 1 of (\\|sum\\| + \\|bias\\|); twice the most of a row, and n/2 + 10 + 2 (highest - "
               "lowest) + 2 \\|highest\\| + 3 \\|logsumexp\\| + \\|logit of the label\\|; of weights in blocks a logit as of gemm_q";
    }

    bool needs_some(const std::string &dim, const Assignments &) const override {
        return dim == "n";
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

    // Labels of all columns, one that does not count, and two that are none.
    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        spoil_padding(arguments, "w", dims.at("k"), dims.at("n"));
        fill_blocks(arguments, "w", seed, true);
        HostBuffer &labels = arguments.buffer("labels");
        const int64_t n = dims.at("n");
        for (int row = 0; row < labels.extents()[0]; row++) {
            const int64_t label = n > 0 ? int64_t(seed + uint64_t(row) * 37) % n : 0;
            labels.set({row}, double(row % 7 == 3 ? -100 : row % 11 == 4 ? n : row % 11 == 6 ? -1 : label));
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("loss", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            const std::vector<Inexact> logits = logits_of(p, row);
            const Inexact lse = logsumexp_of(logits);
            const int label = int(p["labels"](row));
            if (output == "lse") {
                y.push_back(expect(lse));
            } else if (label == int(p.scalar("ignore_index", -100))) {
                y.push_back({0, 0});
            } else if (label < 0 || label >= p.dim("n")) {
                y.push_back({kNaN, 0});
            } else {
                y.push_back(expect(loss_of(logits, size_t(label))));
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &linear_cross_entropy_test() {
    static const LinearCrossEntropyTest test;
    return test;
}

}  // namespace ops_test
