#include "lowering/cuda/simt/unswitched_loops.h"

#include <set>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Whether only memory of the block is read and stored, and no thread waits for another.
class StaysInBlock : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        own.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        yes = yes && own.count(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        yes = yes && own.count(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        yes = yes && op->is_pure();
        IRVisitor::visit(op);
    }

    std::set<std::string> own;

public:
    explicit StaysInBlock(const std::set<std::string> &own) : own(own) {}
    bool yes = true;
};

class AskOnce : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Allocate *op) override {
        own.insert(op->name);
        return IRMutator::visit(op);
    }

    Stmt visit(const For *op) override {
        const auto turns = as_const_int(op->extent);
        const auto *question = op->body.as<IfThenElse>();
        const auto *le = question && !question->else_case.defined() ? question->condition.as<LE>() : nullptr;
        const auto *lt = question && !question->else_case.defined() ? question->condition.as<LT>() : nullptr;
        if (!turns || !is_const_zero(op->min) || (!le && !lt)) {
            return IRMutator::visit(op);
        }
        // So many turns count.
        const Expr left = simplify((le ? le->b - le->a + 1 : lt->b - lt->a) + Variable::make(Int(32), op->name));
        StaysInBlock stays(own);
        question->then_case.accept(&stays);
        if (left.type() != Int(32) || expr_uses_var(left, op->name) || !stays.yes) {
            return IRMutator::visit(op);
        }
        const auto loop = [&](const Expr &extent) {
            return For::make(op->name, op->min, extent, op->for_type, op->partition_policy, op->device_api, question->then_case);
        };
        return IfThenElse::make(simplify(op->extent <= left), loop(op->extent), loop(simplify(min(left, op->extent))));
    }

    std::set<std::string> own;
};

}  // namespace

void unswitch_loops(Kernel &kernel) {
    kernel.body = AskOnce().mutate(kernel.body);
}

}  // namespace halyard
