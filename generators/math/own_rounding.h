#ifndef HALYARD_MATH_OWN_ROUNDING_H
#define HALYARD_MATH_OWN_ROUNDING_H

/** \file
 * Products and sums that are rounded by themselves. The compiler multiplies three numbers in any order, and of a b + c d it fuses either product
 * with the sum; in the loops of few rows and of many it chooses differently, and a row's result would depend on how many there are.
 */

#include <Halide.h>

namespace halyard {

/** a + b, with nothing else that is added to it. Of f32. */
inline Halide::Expr own_sum(const Halide::Expr &a, const Halide::Expr &b) {
    using namespace Halide::Internal;
    return Call::make(a.type(), Call::strict_add, {a, b}, Call::PureIntrinsic);
}

/** a b, in no other order and not fused with a sum. Of f32. */
inline Halide::Expr own_product(const Halide::Expr &a, const Halide::Expr &b) {
    using namespace Halide::Internal;
    return Call::make(a.type(), Call::strict_mul, {a, b}, Call::PureIntrinsic);
}

/** a - b, likewise. */
inline Halide::Expr own_difference(const Halide::Expr &a, const Halide::Expr &b) {
    using namespace Halide::Internal;
    return Call::make(a.type(), Call::strict_sub, {a, b}, Call::PureIntrinsic);
}

/** The same where LLVM compiles; what compiles kernels for a GPU keeps to the order that is written. */
inline Halide::Expr own_sum(const Halide::Expr &a, const Halide::Expr &b, const Halide::Target &target) {
    return target.has_gpu_feature() ? a + b : own_sum(a, b);
}
inline Halide::Expr own_product(const Halide::Expr &a, const Halide::Expr &b, const Halide::Target &target) {
    return target.has_gpu_feature() ? a * b : own_product(a, b);
}
inline Halide::Expr own_difference(const Halide::Expr &a, const Halide::Expr &b, const Halide::Target &target) {
    return target.has_gpu_feature() ? a - b : own_difference(a, b);
}

/** Makes the order of an expression the only one: inner products of three factors, inner sums of three terms and one of two products in a sum are
 * rounded by themselves. What is left is fused as ever: a product with a sum, as each step of a polynomial has it. */
class InWrittenOrder : public Halide::Internal::IRGraphMutator {
protected:
    using Expr = Halide::Expr;
    using IRGraphMutator::visit;

    Expr visit(const Halide::Internal::Mul *op) override {
        return is_f32(op) ? factor(op->a) * factor(op->b) : IRGraphMutator::visit(op);
    }
    Expr visit(const Halide::Internal::Div *op) override {
        return is_f32(op) ? factor(op->a) / factor(op->b) : IRGraphMutator::visit(op);
    }
    Expr visit(const Halide::Internal::Add *op) override {
        return is_f32(op) ? sum(op) : IRGraphMutator::visit(op);
    }
    Expr visit(const Halide::Internal::Sub *op) override {
        return is_f32(op) ? sum(op) : IRGraphMutator::visit(op);
    }

private:
    template<typename Op>
    static bool is_f32(const Op *op) {
        return op->type == Halide::Float(32);
    }

    Expr factor(const Expr &e) {
        using namespace Halide::Internal;
        const Expr x = mutate(e);
        if (const Mul *product = x.as<Mul>()) {
            return own_product(product->a, product->b);
        }
        const Div *ratio = x.as<Div>();
        return ratio ? Call::make(x.type(), Call::strict_div, {ratio->a, ratio->b}, Call::PureIntrinsic) : x;
    }

    Expr term(const Expr &e) {
        using namespace Halide::Internal;
        const Expr x = mutate(e);
        if (const Add *inner = x.as<Add>()) {
            return own_sum(inner->a, inner->b);
        }
        const Sub *inner = x.as<Sub>();
        return inner ? own_difference(inner->a, inner->b) : x;
    }

    template<typename Op>
    Expr sum(const Op *op) {
        using Halide::Internal::Mul;
        const Expr a = term(op->a), b = term(op->b);
        return Op::make(a, a.as<Mul>() && b.as<Mul>() ? factor(b) : b);
    }
};

inline Halide::Expr in_written_order(const Halide::Expr &e) {
    return InWrittenOrder().mutate(e);
}

}  // namespace halyard

#endif
