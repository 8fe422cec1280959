#include "lowering/cuda/simt/constant_trip_counts.h"

#include <set>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kMostTrips = 64;

class IndexesRegisters : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        yes = yes || (registers.count(op->name) && expr_uses_var(op->index, loop));
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        yes = yes || (registers.count(op->name) && expr_uses_var(op->index, loop));
        IRVisitor::visit(op);
    }
    void visit(const Evaluate *op) override {
        const auto *call = op->value.as<Call>();
        waits = waits || (call && call->is_intrinsic(Call::gpu_thread_barrier));
        IRVisitor::visit(op);
    }

    const std::set<std::string> &registers;
    const std::string &loop;

public:
    IndexesRegisters(const std::set<std::string> &registers, const std::string &loop) : registers(registers), loop(loop) {}
    bool yes = false, waits = false;
};

class ConstantTripCounts : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Allocate *op) override {
        if (op->memory_type == MemoryType::Register || op->memory_type == MemoryType::Stack) {
            registers.insert(op->name);
        }
        return IRMutator::visit(op);
    }

    Stmt visit(const For *op) override {
        const Stmt body = mutate(op->body);
        IndexesRegisters find(registers, op->name);
        body.accept(&find);
        const Expr most = is_const(op->extent) ? Expr() : find_constant_bound(op->extent, Direction::Upper);
        const int64_t turns = most.defined() ? as_const_int(most).value_or(0) : 0;
        if (!find.yes || find.waits || turns == 0 || turns > kMostTrips || !is_const(op->min)) {
            return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
        }
        const Expr within = Variable::make(Int(32), op->name) < simplify(op->min + op->extent);
        return For::make(op->name, op->min, make_const(Int(32), turns), op->for_type, op->partition_policy, op->device_api,
                         IfThenElse::make(within, body));
    }

    std::set<std::string> registers;
};

}  // namespace

Stmt with_constant_trip_counts(const Stmt &body) {
    return ConstantTripCounts().mutate(body);
}

}  // namespace halyard
