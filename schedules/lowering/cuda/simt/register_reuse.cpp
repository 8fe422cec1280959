#include "lowering/cuda/simt/register_reuse.h"

#include <algorithm>
#include <optional>

#include "lowering/cuda/simt/fetch.h"
#include "lowering/cuda/simt/linear.h"
#include "lowering/cuda/simt/predicate.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kHeldBytes = 192;  // a thread; three quarters of 64 registers

// The condition under which a store changes anything.
Expr guard_of(const Store *op) {
    const auto *choice = op->value.as<Select>();
    if (!choice) {
        return const_true();
    }
    const auto *old = choice->true_value.as<Load>();
    return old && old->name == op->name ? !choice->condition : choice->condition;
}

// A comparison of integers as what has to be above 0; undefined for other conditions.
Expr above_zero(const Expr &condition) {
    if (const auto *no = condition.as<Not>()) {
        const Expr opposite = above_zero(no->a);
        return opposite.defined() ? 1 - opposite : Expr();
    }
    const auto *less = condition.as<LT>();
    const auto *at_most = condition.as<LE>();
    const Expr difference = less ? less->b - less->a : at_most ? at_most->b - at_most->a + 1 : Expr();
    return difference.defined() && difference.type() == Int(32) ? difference : Expr();
}

// Whether turns > 0 follows from a condition, one part of it being enough.
bool implies_turns(const Expr &condition, const Expr &turns) {
    if (const auto *both = condition.as<And>()) {
        return implies_turns(both->a, turns) || implies_turns(both->b, turns);
    }
    const auto *quotient = turns.as<Div>();
    const auto divisor = quotient ? as_const_int(quotient->b) : std::optional<int64_t>();
    const Expr needed = divisor && *divisor > 0 ? quotient->a - make_const(Int(32), *divisor - 1) : turns;
    const Expr given = above_zero(condition);
    if (!given.defined()) {
        return false;
    }
    const Linear more = linear(needed - given);
    bool enough = more.constant >= 0;
    for (const auto &t : more.terms) {
        const auto *v = t.atom.as<Variable>();
        const bool thread = v && std::find(kThreadNames.begin(), kThreadNames.end(), v->name) != kThreadNames.end();
        enough = enough && thread && t.factor > 0;
    }
    return enough;
}

// Whether all that a body stores happens under conditions of its own from which turns > 0 follows: it may then run
// without asking.
bool is_guarded(const Stmt &s, const Expr &turns, Lets &lets) {
    const auto implied = [&](const Expr &condition) { return implies_turns(simplify(expand(condition, lets)), turns); };
    if (const auto *let = s.as<LetStmt>()) {
        ScopedBinding<Expr> bind(lets, let->name, let->value);
        return is_guarded(let->body, turns, lets);
    }
    if (const auto *block = s.as<Block>()) {
        return is_guarded(block->first, turns, lets) && is_guarded(block->rest, turns, lets);
    }
    if (const auto *atomic = s.as<Atomic>()) {
        return is_guarded(atomic->body, turns, lets);
    }
    if (const auto *branch = s.as<IfThenElse>()) {
        return !branch->else_case.defined() && branch->then_case.as<Store>() && implied(branch->condition);
    }
    const auto *store = s.as<Store>();
    return store && store->value.as<Select>() && store->value.type().is_scalar() && implied(guard_of(store));
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

// Stores, one after the other, with loads of vectors among them that may be kept: a turn of which is worth asking whether
// there is one.
class LoadsOnce : public IRVisitor {
    using IRVisitor::visit;

    void visit(const For *) override {
        straight = false;
    }
    void visit(const Allocate *) override {
        straight = false;
    }
    void visit(const Evaluate *op) override {
        straight = straight && is_const(op->value);
    }
    void visit(const Load *op) override {
        loads = loads || (read_only.count(op->name) && op->index.as<Ramp>());
        IRVisitor::visit(op);
    }

    const std::set<std::string> &read_only;

public:
    explicit LoadsOnce(const std::set<std::string> &read_only) : read_only(read_only) {}
    bool straight = true, loads = false;
};

class PeelFirstTurns : public IRMutator {
    using IRMutator::visit;

    bool loads_once(const Stmt &body) const {
        LoadsOnce find(read_only);
        body.accept(&find);
        return find.straight && find.loads;
    }

    Stmt visit(const LetStmt *op) override {
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return IRMutator::visit(op);
    }

    Stmt visit(const For *op) override {
        if (op->for_type != ForType::Serial || !is_const_zero(op->min)) {
            return IRMutator::visit(op);
        }
        Stmt first = RenameLets().mutate(simplify(substitute(op->name, 0, op->body)));
        if (!is_guarded(first, simplify(expand(op->extent, lets)), lets)) {
            if (!loads_once(op->body)) {
                return IRMutator::visit(op);
            }
            first = IfThenElse::make(simplify(op->extent > 0), first);
        }
        const Stmt others = For::make(op->name, 1, simplify(op->extent - 1), op->for_type, op->partition_policy, op->device_api, op->body);
        return Block::make(first, others);
    }

    const std::set<std::string> &read_only;
    Lets lets;

public:
    explicit PeelFirstTurns(const std::set<std::string> &read_only) : read_only(read_only) {}
};

struct Held {
    std::string name, array;
    Expr index, when;
    const Load *load = nullptr;
    int uses = 0;
    bool movable = true;  // nothing that the kernel itself stores says where, or whether
    bool hold = false;
};

// Whether an expression loads what the kernel may have stored before.
bool reads_stored(const Expr &e, const std::set<std::string> &read_only) {
    class Find : public IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Load *op) override {
            found = found || !read_only.count(op->name);
            IRGraphVisitor::visit(op);
        }

        const std::set<std::string> &read_only;

    public:
        explicit Find(const std::set<std::string> &read_only) : read_only(read_only) {}
        bool found = false;
    } find(read_only);
    e.accept(&find);
    return find.found;
}

// Whether all lanes of a load stand under one condition.
bool is_whole(const Load *op) {
    return op->predicate.as<Broadcast>() || is_const_one(op->predicate);
}

// The loads outside of loops of arrays that nobody writes, each with the conditions that it stands under.
class FindLoads : public IRVisitor {
    using IRVisitor::visit;

    void visit(const LetStmt *op) override {
        op->value.accept(this);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        op->body.accept(this);
    }

    void visit(const For *) override {}

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

    void visit(const Call *op) override {
        if (op->name != kCopyAsync) {  // which goes past registers
            IRVisitor::visit(op);
        }
    }

    void visit(const Load *op) override {
        IRVisitor::visit(op);
        const auto *ramp = op->index.as<Ramp>();
        if (!read_only.count(op->name) || !ramp || !is_const_one(ramp->stride) || !is_whole(op)) {
            return;
        }
        const auto *same = op->predicate.as<Broadcast>();
        const Expr when = simplify(path && (same ? expand(same->value, lets) : const_true()));
        const Expr index = simplify(expand(ramp->base, lets));
        const bool movable = !reads_stored(index, read_only) && !reads_stored(when, read_only);
        for (auto &h : found) {
            if (h.array == op->name && h.load->type == op->type && equal(h.index, index)) {
                h.when = either(h.when, when);
                h.uses++;
                h.movable = h.movable && movable;
                return;
            }
        }
        found.push_back({unique_name(op->name + ".held"), op->name, index, when, op, 1, movable, false});
    }

    static Expr either(const Expr &a, const Expr &b) {
        return equal(a, b) || can_prove(!b || a) ? a : can_prove(!a || b) ? b : a || b;
    }

    const std::set<std::string> &read_only;
    Expr path = const_true();

public:
    explicit FindLoads(const std::set<std::string> &read_only) : read_only(read_only) {}
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

    Expr visit(const Call *op) override {
        return op->name == kCopyAsync ? Expr(op) : IRMutator::visit(op);
    }

    Expr visit(const Load *op) override {
        const auto *ramp = op->index.as<Ramp>();
        // One under conditions of its lanes is none of those that the held value is loaded for.
        if (ramp && is_const_one(ramp->stride) && is_whole(op)) {
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
    explicit UseHeld(const std::vector<Held> &held) : held(held) {}
};

// Loads what is used several times once, before everything; undefined where there is nothing of that kind.
Stmt hold(const Stmt &s, const std::set<std::string> &read_only) {
    FindLoads find(read_only);
    s.accept(&find);
    int bytes = 0;
    bool any = false;
    for (auto &h : find.found) {
        h.hold = h.movable && h.uses > 1 && bytes + h.load->type.bytes() <= kHeldBytes;
        bytes += h.hold ? h.load->type.bytes() : 0;
        any = any || h.hold;
    }
    if (!any) {
        return Stmt();
    }
    Stmt body = UseHeld(find.found).mutate(s);
    for (auto h = find.found.rbegin(); h != find.found.rend(); ++h) {
        if (h->hold) {
            const int n = h->load->type.lanes();
            body = LetStmt::make(h->name,
                                 Load::make(h->load->type, h->array, Ramp::make(h->index, 1, n), h->load->image, h->load->param,
                                            Broadcast::make(h->when, n), h->load->alignment),
                                 body);
        }
    }
    return body;
}

// The same in each turn of the innermost loops.
class HoldInTurns : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        const Stmt body = mutate(op->body);
        const Stmt held = hold(body, read_only);
        return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, held.defined() ? held : body);
    }

    const std::set<std::string> &read_only;

public:
    explicit HoldInTurns(const std::set<std::string> &read_only) : read_only(read_only) {}
};

}  // namespace

void reuse_in_registers(Kernel &kernel) {
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
    kernel.body = HoldInTurns(read_only).mutate(kernel.body);
    Stmt body = hold(predicate_loads(PeelFirstTurns(read_only).mutate(inner)), read_only);
    if (!body.defined()) {
        return;
    }
    body = HoldInTurns(read_only).mutate(body);
    for (auto it = outer.rbegin(); it != outer.rend(); ++it) {
        body = LetStmt::make(it->first, it->second, body);
    }
    kernel.body = body;
}

}  // namespace halyard
