#include "lowering/cuda/simt/shifted_loads.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// The first min of neighbours and of one value for all of them.
class FindClamp : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Min *op) override {
        const auto *ramp = op->a.as<Ramp>();
        const auto *last = op->b.as<Broadcast>();
        if (!clamp.defined() && ramp && last && is_const_one(ramp->stride) && last->value.type().is_scalar()) {
            clamp = op;
            neighbours = op->a;
            all_inside = ramp->base + (ramp->lanes - 1) <= last->value;
        }
        IRVisitor::visit(op);
    }

    // What another load is indexed by is its own affair.
    void visit(const Load *) override {}

public:
    Expr clamp, neighbours, all_inside;
};

class LoadClampedVectorsWhole : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        FindClamp find;
        if (op->type.is_vector() && is_const_one(op->predicate)) {
            op->index.accept(&find);
        }
        if (!find.clamp.defined()) {
            return IRMutator::visit(op);
        }
        const Expr index = simplify(substitute(find.clamp, find.neighbours, op->index));
        const auto *ramp = index.as<Ramp>();
        if (!ramp || !is_const_one(ramp->stride)) {
            return IRMutator::visit(op);
        }
        const Expr whole = Load::make(op->type, op->name, index, op->image, op->param, Broadcast::make(find.all_inside, op->type.lanes()),
                                      ModulusRemainder());
        return Call::make(op->type, Call::if_then_else, {find.all_inside, whole, op}, Call::PureIntrinsic);
    }
};

}  // namespace

Stmt shift_clamped_loads(const Stmt &body) {
    return LoadClampedVectorsWhole().mutate(body);
}

}  // namespace halyard
