#include "lowering/host/half_nan.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_half(const Type &t) {
    return t.is_float() && !t.is_bfloat() && t.bits() == 16;
}

// By its bits, as LLVM may take it that there is no NaN.
Expr half_of(const Type &type, const Expr &value) {
    const int lanes = type.lanes();
    const Expr bits = reinterpret(UInt(32, lanes), cast(Float(32, lanes), value));
    const Expr is_nan = (bits & make_const(UInt(32, lanes), 0x7fffffff)) > make_const(UInt(32, lanes), 0x7f800000);
    return select(is_nan, reinterpret(type, make_const(UInt(16, lanes), 0x7e00)), Cast::make(type, value));
}

class KeepNan : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Cast *op) override {
        if (!is_half(op->type) || !op->value.type().is_float() || is_half(op->value.type())) {
            return IRMutator::visit(op);
        }
        return half_of(op->type, mutate(op->value));
    }

    // Halide does it in f32 too, and rounds.
    template<typename Op>
    Expr in_f32(const Op *op) {
        if (!is_half(op->type)) {
            return IRMutator::visit(op);
        }
        const Type wide = Float(32, op->type.lanes());
        return half_of(op->type, Op::make(cast(wide, mutate(op->a)), cast(wide, mutate(op->b))));
    }

    Expr visit(const Add *op) override {
        return in_f32(op);
    }
    Expr visit(const Sub *op) override {
        return in_f32(op);
    }
    Expr visit(const Mul *op) override {
        return in_f32(op);
    }
    Expr visit(const Div *op) override {
        return in_f32(op);
    }
};

}  // namespace

std::unique_ptr<IRMutator> keep_nan_of_half() {
    return std::make_unique<KeepNan>();
}

}  // namespace halyard
