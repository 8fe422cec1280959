// y = a b + a, what stands behind a product reads an operand of it again. Row-major: a is m x n, b n x n. Both are called what
// printed kernels call something of their own.

#include <Halide.h>

namespace {

using namespace Halide;

class ProductPlusOperand : public Generator<ProductPlusOperand> {
public:
    Input<Buffer<bfloat16_t, 2>> a{"lane"};   // [n, m]
    Input<Buffer<bfloat16_t, 2>> b{"stage"};  // [n, n]
    Output<Buffer<float, 2>> y{"y"};          // [n, m]

    void generate() {
        const RDom k(0, a.width(), "k");
        acc(col, row) += cast<float>(a(k, min(row, a.height() - 1))) * cast<float>(b(min(col, b.width() - 1), k));
        y(col, row) = acc(col, row) + cast<float>(a(col, row));
    }

private:
    Var col{"col"}, row{"row"};
    Func acc{"acc"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ProductPlusOperand, product_plus_operand)
