#include "lowering/host/single_elements.h"

#include <set>
#include <string>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class ForgetAlignment : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Allocate *op) override {
        if (op->constant_allocation_size() != 1) {
            return IRMutator::visit(op);
        }
        single_.insert(op->name);
        const Stmt s = IRMutator::visit(op);
        single_.erase(op->name);
        return s;
    }

    Expr visit(const Load *op) override {
        if (op->type.is_scalar() || !single_.count(op->name)) {
            return IRMutator::visit(op);
        }
        return Load::make(op->type, op->name, mutate(op->index), op->image, op->param, mutate(op->predicate), ModulusRemainder());
    }

    Stmt visit(const Store *op) override {
        if (op->value.type().is_scalar() || !single_.count(op->name)) {
            return IRMutator::visit(op);
        }
        return Store::make(op->name, mutate(op->value), mutate(op->index), op->param, mutate(op->predicate), ModulusRemainder());
    }

    std::set<std::string> single_;
};

}  // namespace

std::unique_ptr<IRMutator> forget_alignment_of_single_elements() {
    return std::make_unique<ForgetAlignment>();
}

}  // namespace halyard
