#include "lowering/host/unread_inputs.h"

#include <set>
#include <utility>
#include <vector>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Names = std::set<std::string>;

class Reads : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Load *op) override {
        found = found || inputs_.count(op->name) > 0;
        IRGraphVisitor::visit(op);
    }

public:
    explicit Reads(const Names &inputs) : inputs_(inputs) {}

    bool found = false;

private:
    const Names &inputs_;
};

bool has_read_of(const Names &inputs, const Expr &e) {
    Reads reads(inputs);
    e.accept(&reads);
    return reads.found;
}

// What the inputs have one condition for.
class LeaveUnread : public IRMutator {
public:
    LeaveUnread(Expr condition, Names inputs, const Names &outputs)
        : condition_(std::move(condition)), inputs_(std::move(inputs)), outputs_(outputs) {
        // A size, which is never below 0, is 0 where it is not above.
        if (const LT *less = condition_.as<LT>(); less && is_const_zero(less->a)) {
            size_ = less->b;
        }
    }

    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        if (s.defined() && is_store_of_reads(s)) {
            return is_reached(s) ? IfThenElse::make(condition_, s) : s;
        }
        return IRMutator::mutate(s);
    }

private:
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        define(op);
        return IRMutator::visit(op);
    }

    Stmt visit(const For *op) override {
        return has_no_turns(op) ? Stmt(op) : IRMutator::visit(op);
    }

    void define(const LetStmt *op) {
        known_.erase(op->name);
        if (const Expr value = without(op->value); is_const(value)) {
            known_[op->name] = value;
        }
    }

    // Whether all that it does is to store what is computed of the inputs. Sums have their loops from the algorithm, and run in
    // tiles whose registers a condition would disturb.
    bool is_store_of_reads(const Stmt &s) {
        const auto [at, is_new] = stores_reads_.emplace(s.get(), false);
        if (is_new) {
            at->second = look_for_store_of_reads(s);
        }
        return at->second;
    }

    bool look_for_store_of_reads(const Stmt &s) {
        if (const auto *op = s.as<Store>()) {
            return outputs_.count(op->name) == 0 && has_read_of(inputs_, op->value) && !has_read_of({op->name}, op->value);
        }
        if (const auto *op = s.as<Block>()) {
            return is_store_of_reads(op->first) && is_store_of_reads(op->rest);
        }
        if (const auto *op = s.as<IfThenElse>()) {
            return is_store_of_reads(op->then_case) && (!op->else_case.defined() || is_store_of_reads(op->else_case));
        }
        const auto *loop = s.as<For>();
        const auto *let = s.as<LetStmt>();
        const auto *atomic = s.as<Atomic>();
        return loop ? is_store_of_reads(loop->body) : let ? is_store_of_reads(let->body) : atomic && is_store_of_reads(atomic->body);
    }

    // Whether it reads anything where the condition does not hold.
    bool is_reached(const Stmt &s) {
        if (const auto *op = s.as<Block>()) {
            return is_reached(op->first) || is_reached(op->rest);
        }
        if (const auto *op = s.as<IfThenElse>()) {
            return !is_const_zero(without(op->condition)) &&
                   (is_reached(op->then_case) || (op->else_case.defined() && is_reached(op->else_case)));
        }
        if (const auto *op = s.as<LetStmt>()) {
            define(op);
            return is_reached(op->body);
        }
        if (const auto *op = s.as<Atomic>()) {
            return is_reached(op->body);
        }
        const auto *loop = s.as<For>();
        return !loop || (!has_no_turns(loop) && is_reached(loop->body));
    }

    bool has_no_turns(const For *op) const {
        const Expr extent = without(op->extent);
        return is_const(extent) && can_prove(extent <= 0);
    }

    // What an expression is where the condition does not hold.
    Expr without(const Expr &e) const {
        if (!size_.defined()) {
            return e;
        }
        return simplify(substitute(known_, substitute(size_, make_zero(size_.type()), e)));
    }

    Expr condition_, size_;
    Names inputs_;
    const Names &outputs_;
    std::map<std::string, Expr> known_;  // names of numbers
    std::map<const IRNode *, bool> stores_reads_;
};

}  // namespace

Stmt leave_unread(Stmt s, const std::map<std::string, Expr> &needed, const std::set<std::string> &outputs) {
    std::vector<std::pair<Expr, Names>> conditions;
    for (const auto &[input, condition] : needed) {
        bool is_there = false;
        for (auto &c : conditions) {
            if (equal(c.first, condition)) {
                c.second.insert(input);
                is_there = true;
            }
        }
        if (!is_there) {
            conditions.push_back({condition, {input}});
        }
    }
    for (const auto &[condition, inputs] : conditions) {
        s = LeaveUnread(condition, inputs, outputs).mutate(s);
    }
    return s;
}

}  // namespace halyard
