#include "language/work_counter.h"

#include <algorithm>
#include <cmath>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

void WorkCounter::begin_statement() {
    additions_ = multiplications_ = 0;
}

void WorkCounter::end_statement() {
    work().instructions -= std::min(additions_, multiplications_);
}

double WorkCounter::vectors(const Type &t) const {
    return std::max(1.0, std::ceil(double(t.lanes()) * t.bytes() / vector_bytes_));
}

void WorkCounter::arithmetic(const Type &t, double instructions) {
    if (!t.is_float()) {
        // Index arithmetic of scalars is for address units and loops.
        work().instructions += t.is_vector() && t.bits() > 1 ? vectors(t) * instructions : 0;
        return;
    }
    work().flops += t.lanes();
    work().scalar_flops += t.is_scalar();
    work().instructions += vectors(t) * instructions;
}

void WorkCounter::visit(const Add *op) {
    additions_ += op->type.is_float() ? vectors(op->type) : 0;
    arithmetic(op->type);
    IRVisitor::visit(op);
}

void WorkCounter::visit(const Sub *op) {
    additions_ += op->type.is_float() ? vectors(op->type) : 0;
    arithmetic(op->type);
    IRVisitor::visit(op);
}

// As int32(a) * int32(b) of 8 bits, in which tile instructions have it.
static bool multiplies_short_integers(const Mul *op) {
    const auto is_short = [](const Expr &e) {
        const auto *cast = e.as<Cast>();
        return cast && !e.type().is_float() && !cast->value.type().is_float() && cast->value.type().bits() <= 16;
    };
    return is_short(op->a) && is_short(op->b);
}

void WorkCounter::visit(const Mul *op) {
    if (multiplies_short_integers(op)) {
        work().flops += 2 * op->type.lanes();  // with the addition that it is made for
        work().scalar_flops += op->type.is_scalar() ? 2 : 0;
    }
    multiplications_ += op->type.is_float() ? vectors(op->type) : 0;
    arithmetic(op->type);
    IRVisitor::visit(op);
}

void WorkCounter::visit(const Div *op) {
    arithmetic(op->type, 5);
    IRVisitor::visit(op);
}

void WorkCounter::visit(const Min *op) {
    arithmetic(op->type);
    IRVisitor::visit(op);
}

void WorkCounter::visit(const Max *op) {
    arithmetic(op->type);
    IRVisitor::visit(op);
}

void WorkCounter::visit(const Select *op) {
    work().instructions += op->type.is_float() ? vectors(op->type) : 0;
    IRVisitor::visit(op);
}

void WorkCounter::visit(const Cast *op) {
    work().instructions += op->type.is_float() || op->value.type().is_float() ? vectors(op->type) : 0;
    IRVisitor::visit(op);
}

void WorkCounter::visit(const VectorReduce *op) {
    const Type t = op->value.type();
    if (t.is_float()) {
        work().flops += t.lanes() - op->type.lanes();
        work().instructions += vectors(t);
    }
    IRVisitor::visit(op);
}

void WorkCounter::visit(const Internal::Call *op) {
    if (op->type.is_float() && op->call_type != Internal::Call::Intrinsic && op->call_type != Internal::Call::PureIntrinsic) {
        arithmetic(op->type, op->name.find("sqrt") != std::string::npos ? 6 : 20);
    } else if (op->is_intrinsic(Internal::Call::widening_mul) && !op->type.is_float()) {
        // A product of short integers, and the addition that it is made for.
        work().flops += 2 * op->type.lanes();
        work().scalar_flops += op->type.is_scalar() ? 2 : 0;
    } else if (op->is_intrinsic(Internal::Call::strict_add) || op->is_intrinsic(Internal::Call::strict_sub) ||
               op->is_intrinsic(Internal::Call::strict_mul) || op->is_intrinsic(Internal::Call::strict_div) ||
               op->is_intrinsic(Internal::Call::strict_min) || op->is_intrinsic(Internal::Call::strict_max) ||
               (op->is_intrinsic(Internal::Call::abs) && op->type.is_float())) {
        arithmetic(op->type, op->is_intrinsic(Internal::Call::strict_div) ? 5 : 1);
    }
    IRVisitor::visit(op);
}

}  // namespace halyard
