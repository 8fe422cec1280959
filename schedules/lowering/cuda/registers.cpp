#include "registers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "linear.h"
#include "needed_barriers.h"
#include "turns.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kReduceThreads = "halyard_reduce_threads";

namespace {

using Fail = std::function<void(const std::string &, const std::string &)>;

std::vector<Expr> conjuncts(const Expr &e) {
    if (const auto *both = e.as<And>()) {
        std::vector<Expr> all = conjuncts(both->a);
        for (const auto &c : conjuncts(both->b)) {
            all.push_back(c);
        }
        return all;
    }
    // max(a, b) < c, as Halide writes a < c && b < c.
    const auto *less = e.as<LT>();
    if (const auto *larger = less ? less->a.as<Max>() : nullptr) {
        return conjuncts(larger->a < less->b && larger->b < less->b);
    }
    return {e};
}

Expr conjunction(const std::vector<Expr> &all) {
    Expr e;
    for (const auto &c : all) {
        e = e.defined() ? e && c : c;
    }
    return e;
}

// thread_x < 1: the dimension of the thread; -1 for other conditions.
int single_thread(const Expr &e) {
    const auto *less = e.as<LT>();
    const auto *v = less ? less->a.as<Variable>() : nullptr;
    for (int d = 0; v && d < 3; d++) {
        if (v->name == kThreadNames[d] && is_const_one(less->b)) {
            return d;
        }
    }
    return -1;
}

// What is known of an array that a schedule put into registers.
struct Registers {
    Type type;
    int64_t elements = 0;
    std::array<int64_t, 3> stride = {};  // from a thread's element to the next thread's; 0: each has a copy
    bool stored = false;
};

using RegisterArrays = std::map<std::string, Registers>;

class FindRegisterArrays : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        if (op->memory_type == MemoryType::Register || op->memory_type == MemoryType::Stack) {
            Registers r;
            r.type = op->type;
            r.elements = op->constant_allocation_size();
            if (r.elements == 0) {
                fail(op->name, "is in registers, but its size is not known when it is compiled; bound its extents, or "
                               "store it in shared memory");
            }
            arrays[op->name] = r;
        }
        IRVisitor::visit(op);
    }

    void visit(const LetStmt *op) override {
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        IRVisitor::visit(op);
    }

    void visit(const Store *op) override {
        const auto it = arrays.find(op->name);
        if (it != arrays.end()) {
            note_store(op->name, it->second, op->index);
        }
        IRVisitor::visit(op);
    }

    void note_store(const std::string &name, Registers &r, const Expr &index) {
        if (r.elements == 1) {
            return;  // whatever the index is made of: there is no other
        }
        const auto *ramp = index.as<Ramp>();
        const Linear at = linear(expand(ramp ? ramp->base : index, lets));
        for (int d = 0; d < 3; d++) {
            const int64_t by = at.factor_of(kThreadNames[d]);
            if (at.hides(kThreadNames[d]) || (r.stored && by != r.stride[d])) {
                fail(name, "is in registers, but which thread has an element is not the same wherever it is stored; "
                           "split its loops as its consumer's are, or store it in shared memory");
            }
            r.stride[d] = by;
        }
        r.stored = true;
    }

    const Fail &fail;
    Lets lets;

public:
    explicit FindRegisterArrays(const Fail &fail)
        : fail(fail) {
    }
    RegisterArrays arrays;
};

const char *operation(const Expr &e, Expr &a, Expr &b) {
    if (const auto *op = e.as<Add>()) {
        return a = op->a, b = op->b, "add";
    }
    if (const auto *op = e.as<Mul>()) {
        return a = op->a, b = op->b, "multiply";
    }
    if (const auto *op = e.as<Min>()) {
        return a = op->a, b = op->b, "take_min";
    }
    if (const auto *op = e.as<Max>()) {
        return a = op->a, b = op->b, "take_max";
    }
    return nullptr;
}

Expr identity(const std::string &operation, Type t) {
    return operation == "add"        ? make_zero(t)
           : operation == "multiply" ? make_one(t)
           : operation == "take_min" ? t.max()
                                     : t.min();
}

bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

// Takes guards of single threads away from stores into registers, and loops over other threads' registers
// become reductions across threads. Other stores keep their guards.
class ShareOut : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const IfThenElse *op) override {
        bool single = false;
        const auto conditions = conditions_of(op->condition);
        for (const auto &c : conditions) {
            single = single || single_thread(c) >= 0;
        }
        if (!single || op->else_case.defined()) {
            ScopedValue<int> deeper(branches, branches + 1);
            return IRMutator::visit(op);
        }
        const size_t outer = guards.size();
        guards.insert(guards.end(), conditions.begin(), conditions.end());
        const Stmt body = mutate(op->then_case);
        guards.resize(outer);
        return body;
    }

    // Halide gives a guard that is the same in every turn of a loop a name, in front of the loop.
    std::vector<Expr> conditions_of(const Expr &e) const {
        std::vector<Expr> all;
        for (const auto &c : conjuncts(e)) {
            const auto *v = c.as<Variable>();
            if (v && lets.contains(v->name) && picks_thread(lets.get(v->name))) {
                const auto inner = conditions_of(lets.get(v->name));
                all.insert(all.end(), inner.begin(), inner.end());
            } else {
                all.push_back(c);
            }
        }
        return all;
    }

    bool picks_thread(const Expr &e) const {
        const auto all = conditions_of(e);
        return std::any_of(all.begin(), all.end(), [](const Expr &c) { return single_thread(c) >= 0; });
    }

    Stmt visit(const LetStmt *op) override {
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        const Stmt body = mutate(op->body);
        if (op->value.type().is_bool() && !stmt_uses_var(body, op->name) && picks_thread(op->value)) {
            return body;
        }
        return LetStmt::make(op->name, op->value, body);
    }

    Stmt visit(const For *op) override {
        const Stmt s = reduction(op);
        if (s.defined()) {
            return s;
        }
        ScopedValue<int> deeper(loops, loops + 1);
        return IRMutator::visit(op);
    }

    Stmt visit(const Store *op) override {
        return guarded(op->name, op);
    }

    // Without the guards that pick one thread of those that have a copy each.
    Stmt guarded(const std::string &array, const Stmt &s) {
        std::vector<Expr> kept;
        const auto it = arrays.find(array);
        for (const auto &g : guards) {
            const int d = single_thread(g);
            if (d < 0 || it == arrays.end() || it->second.stride[d] != 0) {
                kept.push_back(g);
            }
        }
        if (branches > 0 || !kept.empty()) {
            sometimes_stored.insert(array);
        }
        return kept.empty() ? s : IfThenElse::make(conjunction(kept), s);
    }

    // for t: total[i] = total[i] op part[.. t ..], where part's elements are the threads' own.
    Stmt reduction(const For *loop) {
        // Of a domain with a condition, only some threads have a part.
        const auto *some = loop->body.as<IfThenElse>();
        const auto *store = (some && !some->else_case.defined() ? some->then_case : loop->body).as<Store>();
        Expr left, right;
        const char *name = store ? operation(store->value, left, right) : nullptr;
        if (!name) {
            return Stmt();
        }
        const auto *total = left.as<Load>(), *part = right.as<Load>();
        if (total && total->name != store->name) {
            std::swap(total, part);
        }
        if (!total || !part || total->name != store->name || !equal(total->index, store->index) ||
            !arrays.count(store->name) || !arrays.count(part->name)) {
            return Stmt();
        }
        const Registers &r = arrays.at(part->name);
        const Linear at = linear(expand(part->index, lets));
        const int64_t by = at.factor_of(loop->name);
        int d = -1;
        for (int i = 0; i < 3; i++) {
            d = r.stride[i] != 0 && r.stride[i] == by && at.factor_of(kThreadNames[i]) == 0 ? i : d;
        }
        if (d < 0) {
            return Stmt();
        }
        const std::string func = part->name;
        const int lanes = kernel.constant_threads(d);
        const int all = kernel.constant_threads(0) * kernel.constant_threads(1) * kernel.constant_threads(2);
        if (d != 0) {
            fail(func,
                 "is reduced across threads of the second or third dimension; make its loop the first of gpu_threads");
        }
        if (!is_power_of_two(lanes) || lanes > 1024 || all == 0 || all % 32 != 0) {
            fail(func, "is reduced across " + std::to_string(lanes) + " threads of a block of " + std::to_string(all) +
                           "; take a power of two, and a block of a multiple of 32 threads");
        }
        Expr scratch = -1;
        if (lanes > 32) {
            scratch = kernel.shared_bytes;
            const int bytes = (all / 32 * part->type.bytes() + 15) / 16 * 16;
            kernel.shared_bytes = simplify(kernel.shared_bytes + bytes);
        }
        const Expr its = some ? select(some->condition, Expr(part), identity(name, part->type)) : Expr(part);
        const Expr own = substitute(loop->name, Variable::make(Int(32), kThreadNames[d]), its);
        const std::string result = unique_name(store->name + ".of_threads");
        identities[part->name] = identity(name, part->type);
        const Expr reduced = Call::make(part->type, kReduceThreads,
                                        {own, lanes, StringImm::make(name), scratch, all / 32}, Call::Intrinsic);
        const Expr value = Variable::make(part->type, result);
        const Expr sum = substitute_operand(store->value, total, value);
        const Stmt s = guarded(
            store->name, Store::make(store->name, sum, store->index, store->param, store->predicate, store->alignment));
        // In a loop, the next turn must not write the scratch memory before all have read it.
        const Stmt after = lanes > 32 && loops > 0 ? Block::make(s, barrier()) : s;
        return LetStmt::make(result, reduced, after);
    }

    static Stmt barrier() {
        return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier,
                                         {int(CodeGen_GPU_Dev::MemoryFenceType::Shared)}, Call::Intrinsic));
    }

    static Expr substitute_operand(const Expr &e, const Load *total, const Expr &value) {
        const Expr t(total);
        return e.as<Add>() ? t + value : e.as<Mul>() ? t * value : e.as<Min>() ? min(t, value) : max(t, value);
    }

    Kernel &kernel;
    const RegisterArrays &arrays;
    const Fail &fail;
    std::vector<Expr> guards;
    Lets lets;
    int loops = 0, branches = 0;

public:
    ShareOut(Kernel &kernel, const RegisterArrays &arrays, const Fail &fail)
        : kernel(kernel),
          arrays(arrays),
          fail(fail) {
    }
    std::map<std::string, Expr> identities;
    std::set<std::string> sometimes_stored;  // not by every thread
};

// Indices of a thread's own share, and allocations of its size.
class OwnIndices : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Allocate *op) override {
        const auto it = arrays.find(op->name);
        if (it == arrays.end()) {
            return IRMutator::visit(op);
        }
        Stmt body = mutate(op->body);
        const auto first = identities.find(op->name);
        const int64_t size = share(it->second, it->second.elements);
        if (first != identities.end()) {
            // A thread without an element takes part in the reduction.
            for (int64_t i = size - 1; i >= 0; i--) {
                body = Block::make(
                    Store::make(op->name, first->second, int(i), Parameter(), const_true(), ModulusRemainder()), body);
            }
        }
        return Allocate::make(op->name, op->type, MemoryType::Register, {int(size)}, const_true(), body);
    }

    Stmt visit(const LetStmt *op) override {
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return IRMutator::visit(op);
    }

    Stmt visit(const For *op) override {
        const Expr max = op->min + op->extent - 1;
        ScopedBinding<Interval> bind(loops, op->name, Interval(op->min, simplify(expand(max, lets))));
        return IRMutator::visit(op);
    }

    Expr visit(const Load *op) override {
        const auto it = arrays.find(op->name);
        if (it == arrays.end()) {
            return IRMutator::visit(op);
        }
        return Load::make(op->type, op->name, own(op->name, it->second, op->index), op->image, op->param,
                          mutate(op->predicate), ModulusRemainder());
    }

    Stmt visit(const Store *op) override {
        const auto it = arrays.find(op->name);
        if (it == arrays.end()) {
            return IRMutator::visit(op);
        }
        return Store::make(op->name, mutate(op->value), own(op->name, it->second, op->index), op->param,
                           mutate(op->predicate), ModulusRemainder());
    }

    // The strides of the threads that have elements of their own, largest first.
    std::vector<std::pair<int64_t, int>> strides(const Registers &r) const {
        std::vector<std::pair<int64_t, int>> s;
        for (int d = 0; d < 3; d++) {
            if (r.stride[d] != 0) {
                s.emplace_back(r.stride[d], kernel.constant_threads(d));
            }
        }
        std::sort(s.rbegin(), s.rend());
        return s;
    }

    int64_t share(const Registers &r, int64_t elements) const {
        for (const auto &[stride, threads] : strides(r)) {
            const int64_t whole = stride * threads;
            elements = threads > 0 ? (elements + whole - 1) / whole * stride : elements;
        }
        return std::max<int64_t>(elements, 1);
    }

    Expr own(const std::string &name, const Registers &r, const Expr &index) {
        if (r.elements == 1 && index.type().is_scalar()) {
            return 0;
        }
        if (const auto *ramp = index.as<Ramp>()) {
            if (!is_const_one(ramp->stride)) {
                fail(name,
                     "is in registers, but its neighbours in a vector are not neighbours in memory; vectorize its "
                     "first dimension");
            }
            return Ramp::make(own_scalar(name, r, ramp->base, ramp->lanes), 1, ramp->lanes);
        }
        if (!index.type().is_scalar()) {
            fail(name,
                 "is in registers, but read at an index that is only known when it runs; store it in shared memory");
        }
        return own_scalar(name, r, index, 1);
    }

    Expr own_scalar(const std::string &name, const Registers &r, const Expr &index, int lanes) {
        Linear at = linear(expand(index, lets));
        for (int d = 0; d < 3; d++) {
            if (at.factor_of(kThreadNames[d]) != r.stride[d] || at.hides(kThreadNames[d])) {
                fail(name,
                     "is in registers, and a thread reads an element that another thread has; split its loops as its "
                     "consumer's are, or store it in shared memory");
            }
        }
        std::vector<Linear::Term> kept;
        for (const auto &t : at.terms) {
            const auto *v = t.atom.as<Variable>();
            if (!v || (v->name != kThreadNames[0] && v->name != kThreadNames[1] && v->name != kThreadNames[2])) {
                kept.push_back(t);
            }
        }
        at.terms = kept;
        for (const auto &[stride, threads] : strides(r)) {
            at = without_threads(name, at, stride, stride * threads, lanes);
        }
        return at.expr();
    }

    // Element outer * whole + inner, inner < stride, becomes outer * stride + inner.
    Linear without_threads(const std::string &name, const Linear &at, int64_t stride, int64_t whole, int lanes) {
        Linear outer, inner;
        inner.constant = ((at.constant % whole) + whole) % whole;
        outer.constant = (at.constant - inner.constant) / whole * stride;
        for (const auto &t : at.terms) {
            if (t.factor % whole == 0) {
                outer.terms.push_back({t.atom, t.factor / whole * stride});
            } else {
                inner.terms.push_back(t);
            }
        }
        const Interval range = bounds_of_expr_in_scope(inner.expr(), loops);
        const bool inside = range.is_bounded() && can_prove(range.min >= 0) &&
                            can_prove(range.max + lanes <= make_const(Int(32), stride));
        if (!inside) {
            fail(name, "is in registers, but that a thread stays within its own elements could not be shown; split its "
                       "loops as its consumer's are, or store it in shared memory");
        }
        for (const auto &t : inner.terms) {
            outer.terms.push_back(t);
        }
        outer.constant += inner.constant;
        return outer;
    }

    const Kernel &kernel;
    const RegisterArrays &arrays;
    const std::map<std::string, Expr> &identities;
    const Fail &fail;
    Lets lets;
    Scope<Interval> loops;

public:
    OwnIndices(const Kernel &kernel, const RegisterArrays &arrays, const std::map<std::string, Expr> &identities,
               const Fail &fail)
        : kernel(kernel),
          arrays(arrays),
          identities(identities),
          fail(fail) {
    }
};

}  // namespace

void keep_in_registers(Kernel &kernel, const Fail &fail) {
    FindRegisterArrays find(fail);
    kernel.body = keep_needed_barriers(kernel.body);
    kernel.body.accept(&find);
    ShareOut share_out(kernel, find.arrays, fail);
    kernel.body = share_out.mutate(kernel.body);
    for (auto it = share_out.identities.begin(); it != share_out.identities.end();) {
        it = share_out.sometimes_stored.count(it->first) ? std::next(it) : share_out.identities.erase(it);
    }
    kernel.body = OwnIndices(kernel, find.arrays, share_out.identities, fail).mutate(kernel.body);
    kernel.body = with_constant_turns(kernel.body);
}

}  // namespace halyard
