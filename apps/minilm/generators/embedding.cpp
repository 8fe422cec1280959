// Embeddings of tokens: LayerNorm of the word's row plus its position's.
//
// A token that is none of the table's counts as its last or first word: a wrong number is no wild read.

#include <Halide.h>

namespace {

using namespace Halide;

class Embedding : public Generator<Embedding> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of y

    Input<Buffer<int32_t, 2>> ids{"ids"};            // [tokens, sentences]
    Input<Buffer<float, 2>> words{"words"};          // [columns, vocabulary]
    Input<Buffer<float, 2>> positions{"positions"};  // [columns, tokens at least]
    Input<Buffer<float, 1>> weight{"weight"};        // [columns]
    Input<Buffer<float, 1>> bias{"bias"};            // [columns]
    Input<float> eps{"eps"};
    Output<Buffer<void, 3>> y{"y"};  // [columns, tokens, sentences]

    void configure() {
        y.set_type(type);
    }

    void generate() {
        x(col, token, sentence) = words(col, clamp(ids(token, sentence), 0, words.dim(1).extent() - 1)) + positions(col, token);
        const Expr columns = words.width(), n = cast<float>(columns);
        const RDom r(0, columns, "col");
        sum(token, sentence) += x(r, token, sentence);
        mean(token, sentence) = sum(token, sentence) / n;
        const Expr d = x(r, token, sentence) - mean(token, sentence);
        sum_sq(token, sentence) += d * d;
        inv_std(token, sentence) = 1.0f / sqrt(sum_sq(token, sentence) / n + eps);
        const Expr normed = (x(col, token, sentence) - mean(token, sentence)) * inv_std(token, sentence);
        y(col, token, sentence) = cast(type, normed * weight(col) + bias(col));
    }

private:
    Var col{"col"}, token{"token"}, sentence{"sentence"};
    Func x{"x"}, sum{"sum"}, mean{"mean"}, sum_sq{"sum_sq"}, inv_std{"inv_std"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Embedding, embedding)
