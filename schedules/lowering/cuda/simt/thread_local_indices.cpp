#include "lowering/cuda/simt/thread_local_indices.h"

#include <algorithm>

#include "lowering/cuda/simt/linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

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
                body = Block::make(Store::make(op->name, first->second, int(i), Parameter(), const_true(), ModulusRemainder()), body);
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
        return Load::make(op->type, op->name, own(op->name, it->second, op->index), op->image, op->param, mutate(op->predicate),
                          ModulusRemainder());
    }

    Stmt visit(const Store *op) override {
        const auto it = arrays.find(op->name);
        if (it == arrays.end()) {
            return IRMutator::visit(op);
        }
        return Store::make(op->name, mutate(op->value), own(op->name, it->second, op->index), op->param, mutate(op->predicate),
                           ModulusRemainder());
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
                fail(name, "is in registers, but its neighbours in a vector are not neighbours in memory; vectorize its "
                           "first dimension");
            }
            return Ramp::make(own_scalar(name, r, ramp->base, ramp->lanes), 1, ramp->lanes);
        }
        if (!index.type().is_scalar()) {
            fail(name, "is in registers, but read at an index that is only known when it runs; store it in shared memory");
        }
        return own_scalar(name, r, index, 1);
    }

    Expr own_scalar(const std::string &name, const Registers &r, const Expr &index, int lanes) {
        Linear at = linear(expand(index, lets));
        for (int d = 0; d < 3; d++) {
            if (at.factor_of(kThreadNames[d]) != r.stride[d] || at.hides(kThreadNames[d])) {
                fail(name, "is in registers, and a thread reads an element that another thread has; split its loops as its "
                           "consumer's are, or store it in shared memory");
            }
        }
        for (const auto &[stride, threads] : strides(r)) {
            if (threads == 0) {
                fail(name, "is in registers, shared out over threads whose number is only known when it runs; bound the extent of "
                           "their loop, or store it in shared memory");
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
        const bool inside = range.is_bounded() && can_prove(range.min >= 0) && can_prove(range.max + lanes <= make_const(Int(32), stride));
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
    const RegistersFail &fail;
    Lets lets;
    Scope<Interval> loops;

public:
    OwnIndices(const Kernel &kernel, const RegisterArrays &arrays, const std::map<std::string, Expr> &identities, const RegistersFail &fail)
        : kernel(kernel), arrays(arrays), identities(identities), fail(fail) {}
};

}  // namespace

Stmt with_thread_local_indices(const Kernel &kernel, const RegisterArrays &arrays, const std::map<std::string, Expr> &identities,
                               const RegistersFail &fail) {
    return OwnIndices(kernel, arrays, identities, fail).mutate(kernel.body);
}

}  // namespace halyard
