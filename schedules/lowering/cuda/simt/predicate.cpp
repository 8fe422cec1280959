#include "lowering/cuda/simt/predicate.h"

#include <algorithm>
#include <vector>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

Expr for_lanes(const Expr &condition, int lanes) {
    return lanes > 1 ? Broadcast::make(condition, lanes) : condition;
}

class PredicateLoads : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        if (registers.count(op->name)) {
            return IRMutator::visit(op);
        }
        const Expr both = simplify(op->predicate && for_lanes(condition, op->type.lanes()));
        return Load::make(op->type, op->name, mutate(op->index), op->image, op->param, both, op->alignment);
    }

    const Expr &condition;
    const std::set<std::string> &registers;

public:
    PredicateLoads(const Expr &condition, const std::set<std::string> &registers) : condition(condition), registers(registers) {}
};

class MovesMemory : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        loads = loads || !registers.count(op->name);
        IRVisitor::visit(op);
    }

    const std::set<std::string> &registers;

public:
    explicit MovesMemory(const std::set<std::string> &registers) : registers(registers) {}
    bool loads = false;
};

class PredicateBranches : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Allocate *op) override {
        if (op->memory_type == MemoryType::Register) {
            registers.insert(op->name);
        }
        return IRMutator::visit(op);
    }

    Stmt visit(const IfThenElse *op) override {
        MovesMemory moves(registers);
        op->then_case.accept(&moves);
        MovesMemory condition(registers);
        op->condition.accept(&condition);
        if (op->else_case.defined() || !moves.loads || condition.loads || !is_straight(op->then_case, registers)) {
            return IRMutator::visit(op);
        }
        return straight(op->condition, op->then_case);
    }

    // Lets and stores, one after the other, and branches of such: Halide puts a condition that follows from another's
    // into its branch.
    static bool is_straight(const Stmt &s, const std::set<std::string> &registers) {
        if (const auto *let = s.as<LetStmt>()) {
            return is_straight(let->body, registers);
        }
        if (const auto *block = s.as<Block>()) {
            return is_straight(block->first, registers) && is_straight(block->rest, registers);
        }
        if (const auto *atomic = s.as<Atomic>()) {
            return is_straight(atomic->body, registers);
        }
        if (const auto *branch = s.as<IfThenElse>()) {
            MovesMemory condition(registers);
            branch->condition.accept(&condition);
            return !condition.loads && !branch->else_case.defined() && is_straight(branch->then_case, registers);
        }
        return s.as<Store>();
    }

    static Expr both(const Expr &outer, const Expr &inner) {
        return can_prove(!inner || outer) ? inner : simplify(outer && inner);
    }

    Stmt straight(const Expr &condition, const Stmt &s) {
        PredicateLoads predicate(condition, registers);
        if (const auto *let = s.as<LetStmt>()) {
            // Out of its braces, a name stands beside those of other turns.
            const std::string name = unique_name(let->name);
            const Stmt body = substitute(let->name, Variable::make(let->value.type(), name), let->body);
            return LetStmt::make(name, predicate.mutate(let->value), straight(condition, body));
        }
        if (const auto *block = s.as<Block>()) {
            return Block::make(straight(condition, block->first), straight(condition, block->rest));
        }
        if (const auto *atomic = s.as<Atomic>()) {
            return Atomic::make(atomic->producer_name, atomic->mutex_name, straight(condition, atomic->body));
        }
        if (const auto *branch = s.as<IfThenElse>()) {
            return straight(both(condition, branch->condition), branch->then_case);
        }
        const auto *store = s.as<Store>();
        const Expr value = predicate.mutate(store->value);
        if (registers.count(store->name)) {
            const Expr old = Load::make(value.type(), store->name, store->index, Buffer<>(), Parameter(), const_true(value.type().lanes()),
                                        store->alignment);
            return Store::make(store->name, select(for_lanes(condition, value.type().lanes()), value, old), store->index, store->param,
                               store->predicate, store->alignment);
        }
        const std::string name = unique_name(store->name + ".value");
        const Stmt out =
            Store::make(store->name, Variable::make(value.type(), name), store->index, store->param, store->predicate, store->alignment);
        return LetStmt::make(name, value, IfThenElse::make(condition, out));
    }

    std::set<std::string> registers;
};

class BranchAtStores : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Store *op) override {
        const Broadcast *same = op->predicate.as<Broadcast>();
        const Expr condition = same ? same->value : op->predicate;
        if (is_const_one(op->predicate)) {
            return op;
        }
        if (!condition.type().is_scalar()) {
            return under(VectorReduce::make(VectorReduce::Or, condition, 1), op);
        }
        const int lanes = op->predicate.type().lanes();
        return under(condition, Store::make(op->name, op->value, op->index, op->param, const_true(lanes), op->alignment));
    }

    // Halide takes out of loops what is the same in all turns.
    Stmt visit(const LetStmt *op) override {
        const Stmt body = mutate(op->body);
        const IfThenElse *branch = made(body);
        return branch && !expr_uses_var(branch->condition, op->name)
                   ? under(branch->condition, LetStmt::make(op->name, op->value, branch->then_case))
                   : LetStmt::make(op->name, op->value, body);
    }

    Stmt visit(const For *op) override {
        const Stmt body = mutate(op->body);
        const IfThenElse *branch = made(body);
        const bool is_plain = op->for_type == ForType::Serial || op->for_type == ForType::Unrolled;
        const auto with = [&](const Stmt &s) {
            return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, s);
        };
        return branch && is_plain && !expr_uses_var(branch->condition, op->name) ? under(branch->condition, with(branch->then_case))
                                                                                 : with(body);
    }

    Stmt under(const Expr &condition, const Stmt &s) {
        made_.push_back(IfThenElse::make(condition, s));
        return made_.back();
    }

    const IfThenElse *made(const Stmt &s) const {
        const bool is_ours = std::any_of(made_.begin(), made_.end(), [&](const Stmt &m) { return m.same_as(s); });
        return is_ours ? s.as<IfThenElse>() : nullptr;
    }

    std::vector<Stmt> made_;
};

}  // namespace

Stmt branch_at_stores(const Stmt &body) {
    return BranchAtStores().mutate(body);
}

Stmt predicate_loads(const Stmt &body) {
    return PredicateBranches().mutate(body);
}

}  // namespace halyard
