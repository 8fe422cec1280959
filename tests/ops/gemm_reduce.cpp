#include "logits.h"

namespace ops_test {

namespace {

class GemmReduceTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        std::vector<Choice> choices = block_choices();
        const std::vector<Choice> others = {{"schedule", {"", "unfused", "blocks", "panels", "interleaved", "blocks_unfused"}},
                                            {"type", {"float32", "float16", "bfloat16"}},
                                            {"reduction", {"max", "sum", "logsumexp"}},
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
        return "a logit (k + 1)/2 of sum \\|x w\\| + 1 of (\\|sum\\| + \\|bias\\|); max the most of a row; sum all of them and n/2 of sum "
               "\\|logit\\|; logsumexp the most and n/2 + 10 + 2 (highest - lowest) + 2 \\|highest\\| + 2 \\|result\\|; of weights in "
               "blocks a logit as of gemm_q";
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
        spoil_padding(arguments, "w", dims.at("k"), dims.at("n"));
        fill_blocks(arguments, "w", seed, true);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const std::string reduction = param(p, "reduction", "logsumexp");
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("m"); row++) {
            const std::vector<Inexact> logits = logits_of(p, row);
            Inexact result = {reduction == "max" ? -kInfinity : 0, 0};
            double sum_abs = 0;
            for (const Inexact &l : logits) {
                if (reduction == "max") {
                    result.value = std::isnan(l.value) || std::isnan(result.value) ? kNaN : std::max(result.value, l.value);
                    result.error = std::isfinite(l.value) ? std::max(result.error, l.error) : result.error;
                } else {
                    result.value += l.value;
                    result.error += l.error;
                    sum_abs += std::fabs(l.value);
                }
            }
            result.error += double(logits.size()) * kRoundoff * sum_abs;
            y.push_back(expect(reduction == "logsumexp" ? logsumexp_of(logits) : result));
        }
        return y;
    }
};

}  // namespace

const OpTest &gemm_reduce_test() {
    static const GemmReduceTest test;
    return test;
}

}  // namespace ops_test
