#include "hold.h"

#include "linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kHeldBytes = 192;  // a thread; three quarters of 64 registers

// Lets and stores that happen under their own conditions: such a body may run once too often.
bool is_guarded(const Stmt &s) {
    if (const auto *let = s.as<LetStmt>()) {
        return is_guarded(let->body);
    }
    if (const auto *block = s.as<Block>()) {
        return is_guarded(block->first) && is_guarded(block->rest);
    }
    if (const auto *atomic = s.as<Atomic>()) {
        return is_guarded(atomic->body);
    }
    if (const auto *branch = s.as<IfThenElse>()) {
        return !branch->else_case.defined() && branch->then_case.as<Store>();
    }
    const auto *store = s.as<Store>();
    return store && store->value.as<Select>();
}

// The names of lets anew, as they stand twice from now on.
class RenameLets : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const std::string name = unique_name(op->name);
        const Expr value = mutate(op->value);
        return LetStmt::make(name, value, mutate(substitute(op->name, Variable::make(op->value.type(), name), op->body)));
    }
};

class PeelFirstTurns : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        if (op->for_type != ForType::Serial || !is_const_zero(op->min) || !is_guarded(op->body)) {
            return IRMutator::visit(op);
        }
        const Stmt first = RenameLets().mutate(simplify(substitute(op->name, 0, op->body)));
        const Stmt others = For::make(op->name, 1, simplify(op->extent - 1), op->for_type, op->partition_policy, op->device_api, op->body);
        return Block::make(first, others);
    }
};

struct Held {
    std::string name, array;
    Expr index, when;
    const Load *load = nullptr;
    int uses = 0;
    bool hold = false;
};

// The loads outside of loops of arrays that nobody writes, each with the conditions that it stands under.
class FindLoads : public IRVisitor {
    using IRVisitor::visit;

    void visit(const LetStmt *op) override {
        op->value.accept(this);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        op->body.accept(this);
    }

    void visit(const For *) override {
    }

    void visit(const IfThenElse *op) override {
        const Expr outer = path;
        path = path && expand(op->condition, lets);
        op->then_case.accept(this);
        path = outer && !expand(op->condition, lets);
        if (op->else_case.defined()) {
            op->else_case.accept(this);
        }
        path = outer;
    }

    void visit(const Load *op) override {
        IRVisitor::visit(op);
        const auto *ramp = op->index.as<Ramp>();
        if (!read_only.count(op->name) || !ramp || !is_const_one(ramp->stride)) {
            return;
        }
        Expr when = const_true();
        if (const auto *same = op->predicate.as<Broadcast>()) {
            when = expand(same->value, lets);
        } else if (!is_const_one(op->predicate)) {
            return;
        }
        when = simplify(path && when);
        const Expr index = simplify(expand(ramp->base, lets));
        for (auto &h : found) {
            if (h.array == op->name && h.load->type == op->type && equal(h.index, index)) {
                h.when = equal(h.when, when) ? h.when : h.when || when;
                h.uses++;
                return;
            }
        }
        found.push_back({unique_name(op->name + ".held"), op->name, index, when, op, 1, false});
    }

    const std::set<std::string> &read_only;
    Expr path = const_true();

public:
    explicit FindLoads(const std::set<std::string> &read_only)
        : read_only(read_only) {
    }
    Lets lets;
    std::vector<Held> found;
};

class UseHeld : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return LetStmt::make(op->name, value, mutate(op->body));
    }

    Stmt visit(const For *op) override {
        return op;
    }

    Expr visit(const Load *op) override {
        const auto *ramp = op->index.as<Ramp>();
        if (ramp && is_const_one(ramp->stride)) {
            const Expr index = simplify(expand(ramp->base, lets));
            for (const auto &h : held) {
                if (h.hold && h.array == op->name && h.load->type == op->type && equal(h.index, index)) {
                    return Variable::make(op->type, h.name);
                }
            }
        }
        return IRMutator::visit(op);
    }

    const std::vector<Held> &held;
    Lets lets;

public:
    explicit UseHeld(const std::vector<Held> &held)
        : held(held) {
    }
};

}  // namespace

void hold_loads(Kernel &kernel) {
    std::set<std::string> read_only;
    for (const auto &a : kernel.arguments) {
        if (a.is_buffer && !a.is_written) {
            read_only.insert(a.name);
        }
    }
    // The coordinates of the block stand before everything.
    std::vector<std::pair<std::string, Expr>> outer;
    Stmt inner = kernel.body;
    while (const auto *let = inner.as<LetStmt>()) {
        outer.emplace_back(let->name, let->value);
        inner = let->body;
    }
    Stmt body = PeelFirstTurns().mutate(inner);
    FindLoads find(read_only);
    body.accept(&find);
    int bytes = 0;
    bool any = false;
    for (auto &h : find.found) {
        h.hold = h.uses > 1 && bytes + h.load->type.bytes() <= kHeldBytes;
        bytes += h.hold ? h.load->type.bytes() : 0;
        any = any || h.hold;
    }
    if (!any) {
        return;
    }
    body = UseHeld(find.found).mutate(body);
    for (auto h = find.found.rbegin(); h != find.found.rend(); ++h) {
        if (h->hold) {
            const int n = h->load->type.lanes();
            body = LetStmt::make(h->name, Load::make(h->load->type, h->array, Ramp::make(h->index, 1, n), h->load->image, h->load->param,
                                                     Broadcast::make(h->when, n), h->load->alignment), body);
        }
    }
    for (auto it = outer.rbegin(); it != outer.rend(); ++it) {
        body = LetStmt::make(it->first, it->second, body);
    }
    kernel.body = body;
}

}  // namespace halyard
