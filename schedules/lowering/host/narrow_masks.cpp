#include "lowering/host/narrow_masks.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class HideMasks : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Store *op) override {
        const int lanes = op->value.type().lanes();
        if (lanes < 2 || op->value.type().bits() >= 32 || is_const_one(op->predicate)) {
            return IRMutator::visit(op);
        }
        const Expr address = reinterpret(UInt(64), Variable::make(Handle(), op->name));
        const Expr zero = cast(Int(32), address == UInt(64).max());
        const Expr all = Broadcast::make(zero, lanes) <= Ramp::make(0, 1, lanes);
        return Store::make(op->name, mutate(op->value), mutate(op->index), op->param, mutate(op->predicate) && all, op->alignment);
    }
};

}  // namespace

std::unique_ptr<IRMutator> hide_masks_of_narrow_stores() {
    return std::make_unique<HideMasks>();
}

}  // namespace halyard
