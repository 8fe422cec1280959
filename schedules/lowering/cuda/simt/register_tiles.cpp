#include "lowering/cuda/simt/register_tiles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lowering/accesses.h"
#include "lowering/cuda/simt/linear.h"
#include "lowering/cuda/simt/needed_barriers.h"
#include "lowering/cuda/simt/thread_local_indices.h"
#include "lowering/cuda/simt/warp_products.h"
#include "lowering/cuda/simt/constant_trip_counts.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kReduceThreads = "halyard_reduce_threads";

namespace {

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

class FindRegisterArrays : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        if (op->memory_type == MemoryType::Register || op->memory_type == MemoryType::Stack) {
            Registers r;
            r.type = op->type;
            r.elements = op->constant_allocation_size();
            if (r.elements > 0) {
                r.elements += op->padding;  // is read, and not used
            } else {
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

    const RegistersFail &fail;
    Lets lets;

public:
    explicit FindRegisterArrays(const RegistersFail &fail) : fail(fail) {}
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
    return operation == "add" ? make_zero(t) : operation == "multiply" ? make_one(t) : operation == "take_min" ? t.max() : t.min();
}

bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

// Takes guards of single threads away from stores into registers, and loops over other threads' registers
// become reductions across threads. Other stores keep their guards, and so does what is loaded on the way to them.
class ShareOut : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const IfThenElse *op) override {
        bool single = false;
        const auto conditions = conditions_of(op->condition);
        for (const auto &c : conditions) {
            single = single || single_thread(c) >= 0;
        }
        if (!single || op->else_case.defined() || !stores_registers(op->then_case)) {
            ScopedValue<int> deeper(branches, branches + 1);
            ScopedValue<std::vector<Expr>> inside(around, around);
            around.insert(around.end(), conditions.begin(), conditions.end());
            const Stmt then_case = mutate(op->then_case), else_case = op->else_case.defined() ? mutate(op->else_case) : Stmt();
            return IfThenElse::make(where_guarded(op->condition), then_case, else_case);
        }
        const size_t outer = guards.size();
        guards.insert(guards.end(), conditions.begin(), conditions.end());
        const Stmt body = mutate(op->then_case);
        guards.resize(outer);
        return body;
    }

    bool stores_registers(const Stmt &s) const {
        const auto stored = accesses_of(s).stored;
        return std::any_of(stored.begin(), stored.end(), [&](const std::string &name) { return arrays.count(name) > 0; });
    }

    // What is loaded, of memory that not every thread of those that are here may read.
    Expr where_guarded(const Expr &e) const {
        std::vector<Expr> kept;
        std::copy_if(guards.begin(), guards.end(), std::back_inserter(kept), [](const Expr &g) { return single_thread(g) < 0; });
        const auto loaded = accesses_of(e).loaded;
        const bool memory = std::any_of(loaded.begin(), loaded.end(), [&](const std::string &name) { return arrays.count(name) == 0; });
        return kept.empty() || !memory
                   ? e
                   : Call::make(e.type(), Call::if_then_else, {conjunction(kept), e, make_zero(e.type())}, Call::PureIntrinsic);
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
        return LetStmt::make(op->name, where_guarded(op->value), body);
    }

    Stmt visit(const For *op) override {
        Stmt s = reduction(op);
        if (!s.defined() && guards.empty()) {
            s = warp_product(op, kernel, arrays, lets);
        }
        if (s.defined()) {
            return s;
        }
        ScopedValue<int> deeper(loops, loops + 1);
        const Stmt body = mutate(op->body);
        return For::make(op->name, where_guarded(op->min), where_guarded(op->extent), op->for_type, op->partition_policy, op->device_api,
                         body);
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
            if (d < 0 && it != arrays.end()) {
                every_thread_has_a_copy(array, it->second, g);
            }
        }
        for (const auto &condition : around) {
            if (it != arrays.end()) {
                every_thread_has_a_copy(array, it->second, condition);
            }
        }
        if (branches > 0 || !kept.empty()) {
            sometimes_stored.insert(array);
        }
        return kept.empty() ? s : IfThenElse::make(conjunction(kept), s);
    }

    // Of an array that the threads of a dimension do not share, each reads what it has stored itself.
    void every_thread_has_a_copy(const std::string &array, const Registers &r, const Expr &guard) const {
        for (int d = 0; d < own_from(array); d++) {
            if (r.stride[d] == 0 && kernel.constant_threads(d) != 1 && expr_uses_var(guard, kThreadNames[d], lets)) {
                fail(array, "is in registers, and only some of the threads that read it compute it; give its loops no threads, or store "
                            "it in shared memory");
            }
        }
    }

    // Of the threads of the dimensions before this one, those that have no array of their own, but one for the block.
    int own_from(const std::string &array) const {
        const auto it = places.find(array.substr(0, array.find('.')));
        return it == places.end() ? 0 : it->second;
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
        if (!total || !part || total->name != store->name || !equal(total->index, store->index) || !arrays.count(store->name) ||
            !arrays.count(part->name)) {
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
            fail(func, "is reduced across threads of the second or third dimension; make its loop the first of gpu_threads");
        }
        if (!is_power_of_two(lanes) || lanes > 1024 || all == 0 || all % 32 != 0) {
            fail(func, "is reduced across " + std::to_string(lanes) + " threads of a block of " + std::to_string(all) +
                           "; take a power of two, and a block of a multiple of 32 threads");
        }
        // Turn t of the loop is thread t.
        const Expr first = simplify(expand(loop->min, lets)), turns = simplify(expand(expand(loop->extent, lets), host_lets));
        const Interval bounds = bounds_of_expr_in_scope(turns, Scope<Interval>());
        if (!is_const_zero(first) || !bounds.has_upper_bound() || !can_prove(bounds.max <= lanes)) {
            fail(func, "is reduced by a loop whose turns are not the threads that have its elements; split it as they are");
        }
        Expr scratch = -1;
        if (lanes > 32) {
            scratch = kernel.shared_bytes;
            const int bytes = (all / 32 * part->type.bytes() + 15) / 16 * 16;
            kernel.shared_bytes = simplify(kernel.shared_bytes + bytes);
        }
        // Other threads may have something in their registers, and have no part.
        Expr takes_part = some ? where_guarded(some->condition) : const_true();
        if (!can_prove(turns == lanes)) {
            takes_part = takes_part && Variable::make(Int(32), loop->name) < loop->extent;
        }
        takes_part = simplify(takes_part);
        const Expr its = is_const_one(takes_part) ? Expr(part) : select(takes_part, Expr(part), identity(name, part->type));
        const Expr own = substitute(loop->name, Variable::make(Int(32), kThreadNames[d]), its);
        const std::string result = unique_name(store->name + ".of_threads");
        identities[part->name] = identity(name, part->type);
        const Expr reduced =
            Call::make(part->type, kReduceThreads, {own, lanes, StringImm::make(name), scratch, all / 32}, Call::Intrinsic);
        const Expr value = Variable::make(part->type, result);
        const Expr sum = substitute_operand(store->value, total, value);
        const Stmt s = guarded(store->name, Store::make(store->name, sum, store->index, store->param, store->predicate, store->alignment));
        // In a loop, the next turn must not write the scratch memory before all have read it.
        const Stmt after = lanes > 32 && loops > 0 ? Block::make(s, barrier()) : s;
        return LetStmt::make(result, reduced, after);
    }

    static Stmt barrier() {
        return Evaluate::make(
            Call::make(Int(32), Call::gpu_thread_barrier, {int(CodeGen_GPU_Dev::MemoryFenceType::Shared)}, Call::Intrinsic));
    }

    static Expr substitute_operand(const Expr &e, const Load *total, const Expr &value) {
        const Expr t(total);
        return e.as<Add>() ? t + value : e.as<Mul>() ? t * value : e.as<Min>() ? min(t, value) : max(t, value);
    }

    Kernel &kernel;
    const RegisterArrays &arrays;
    const ThreadPlaces &places;
    const Lets &host_lets;
    const RegistersFail &fail;
    std::vector<Expr> guards, around;  // that go to the stores; that stay where they are
    Lets lets;
    int loops = 0, branches = 0;

public:
    ShareOut(Kernel &kernel, const RegisterArrays &arrays, const ThreadPlaces &places, const Lets &host_lets, const RegistersFail &fail)
        : kernel(kernel), arrays(arrays), places(places), host_lets(host_lets), fail(fail) {}
    std::map<std::string, Expr> identities;
    std::set<std::string> sometimes_stored;  // not by every thread
};

}  // namespace

void keep_in_registers(Kernel &kernel, const ThreadPlaces &places, const Lets &host_lets, const RegistersFail &fail_func) {
    // An array is called FUNC.0 where that is a tuple, or was made one.
    const RegistersFail fail = [&](const std::string &array, const std::string &message) {
        fail_func(array.substr(0, array.find('.')), message);
    };
    FindRegisterArrays find(fail);
    kernel.body = keep_needed_barriers(kernel.body);
    kernel.body.accept(&find);
    ShareOut share_out(kernel, find.arrays, places, host_lets, fail);
    kernel.body = share_out.mutate(kernel.body);
    for (auto it = share_out.identities.begin(); it != share_out.identities.end();) {
        it = share_out.sometimes_stored.count(it->first) ? std::next(it) : share_out.identities.erase(it);
    }
    kernel.body = with_thread_local_indices(kernel, find.arrays, share_out.identities, fail);
    kernel.body = with_constant_trip_counts(kernel.body);
}

}  // namespace halyard
