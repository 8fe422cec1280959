// The embedding of a sentence: the mean of its tokens' vectors, scaled to length 1. A vector of zeros stays one.

#include <Halide.h>

namespace {

using namespace Halide;

class Pooling : public Generator<Pooling> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of x
    /** Tokens of a step, all of which are read, so that a schedule can have them in flight together. */
    GeneratorParam<int> strip{"strip", 16};

    Input<Buffer<void, 3>> x{"x"};                 // [columns, tokens, sentences]
    Input<Buffer<int32_t, 1>> lengths{"lengths"};  // [sentences]: tokens from there on do not count
    Output<Buffer<float, 2>> y{"y"};               // [columns, sentences]

    void configure() {
        x.set_type(type);
    }

    void generate() {
        const Expr tokens = x.dim(1).extent();
        RDom r({{0, strip}, {0, (tokens + strip - 1) / strip}}, "token");
        r.where(r.y * strip < lengths(sentence));
        const Expr token = r.y * strip + r.x;
        total(col, sentence) += select(token < lengths(sentence), cast<float>(x(col, min(token, tokens - 1), sentence)), 0.0f);
        mean(col, sentence) = total(col, sentence) / cast<float>(lengths(sentence));
        const RDom c(0, x.width(), "col");
        sum_sq(sentence) += mean(c, sentence) * mean(c, sentence);
        inv_length(sentence) = 1.0f / max(sqrt(sum_sq(sentence)), 1e-12f);
        y(col, sentence) = mean(col, sentence) * inv_length(sentence);
    }

private:
    Var col{"col"}, sentence{"sentence"};
    Func total{"total"}, mean{"mean"}, sum_sq{"sum_sq"}, inv_length{"inv_length"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Pooling, pooling)
