#include "lowering/cuda/simt/alignment.h"

#include <algorithm>
#include <map>

#include "lowering/cuda/simt/linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kWidestAccess = 16;  // bytes

class WidestVector : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        lanes = std::max(lanes, op->type.lanes());
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        lanes = std::max(lanes, op->value.type().lanes());
        IRVisitor::visit(op);
    }

public:
    int lanes = 1;
};

class MarkVectors : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        const Expr e = IRMutator::visit(op);
        const auto *load = e.as<Load>();
        const int n = wanted(load->name, load->type, load->index);
        return n == 0 ? e
                      : Load::make(load->type, load->name, load->index, load->image, load->param, load->predicate, ModulusRemainder(n, 0));
    }

    Stmt visit(const Store *op) override {
        const Stmt s = IRMutator::visit(op);
        const auto *store = s.as<Store>();
        const int n = wanted(store->name, store->value.type(), store->index);
        return n == 0 ? s : Store::make(store->name, store->value, store->index, store->param, store->predicate, ModulusRemainder(n, 0));
    }

    Stmt visit(const LetStmt *op) override {
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return IRMutator::visit(op);
    }

    // Where a vector does not fit, Halide does the elements that do. In a whole number of vectors there are none.
    Stmt visit(const IfThenElse *op) override {
        if (!op->else_case.defined() || !is_whole_number_of_vectors(op)) {
            return IRMutator::visit(op);
        }
        return IfThenElse::make(op->condition, mutate(op->then_case));
    }

    // first + n <= end or first < end - (n - 1), where vectors of n begin at first: asks for a multiple of n from where
    // first counts to end.
    bool is_whole_number_of_vectors(const IfThenElse *op) {
        const Expr condition = expand(op->condition, lets);
        const auto *within = condition.as<LE>();
        const auto *below = condition.as<LT>();
        WidestVector widest;
        op->then_case.accept(&widest);
        const int n = widest.lanes;
        if ((!within && !below) || n < 2) {
            return false;
        }
        const Expr left = within ? within->b - within->a + n : below->b - below->a + (n - 1);
        std::vector<Expr> to_hold;
        bool moves = false;
        if (!is_multiple(expand(left, lets), n, to_hold, moves) || !moves) {
            return false;
        }
        for (const auto &e : to_hold) {
            ask(e);
        }
        return true;
    }

    // Whether e is a multiple of n, given what is to hold on the host. moves: e depends on the thread.
    bool is_multiple(const Expr &e, int n, std::vector<Expr> &to_hold, bool &moves) const {
        Expr host = 0;
        const Linear sum = linear(e);
        for (const auto &t : sum.terms) {
            const auto *smaller = t.atom.as<Min>();
            const auto *larger = t.atom.as<Max>();
            if (known_to_host(t.atom)) {
                host += t.atom * make_const(Int(32), t.factor);
            } else if (t.factor % n == 0) {
                moves = true;
            } else if (smaller || larger) {
                const Expr a = smaller ? smaller->a : larger->a, b = smaller ? smaller->b : larger->b;
                if (!is_multiple(a, n, to_hold, moves) || !is_multiple(b, n, to_hold, moves)) {
                    return false;
                }
            } else {
                return false;
            }
        }
        const Expr rest = simplify((host + make_const(Int(32), sum.constant)) % n == 0);
        if (is_const_zero(rest)) {
            return false;
        }
        if (!is_const_one(rest)) {
            to_hold.push_back(rest);
        }
        return true;
    }

    Expr visit(const Let *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return Let::make(op->name, value, mutate(op->body));
    }

    Stmt visit(const Allocate *op) override {
        ScopedBinding<> bind(local, op->name);
        return IRMutator::visit(op);
    }

    bool known_to_host(const Expr &e) const {
        return has_only(e, facts.arguments);
    }

    // A factor of a product that the host knows, with which the whole product is a multiple of n.
    Expr host_factor(const Expr &e) const {
        if (const auto *mul = e.as<Mul>()) {
            for (const auto &factor : {mul->a, mul->b}) {
                if (known_to_host(factor)) {
                    return factor;
                }
                if (const Expr inner = host_factor(factor); inner.defined()) {
                    return inner;
                }
            }
        }
        return Expr();
    }

    // The elements that a vector access may move at once, and what is to hold for it is asked for. 0 where
    // nothing the host could ask makes it aligned.
    int wanted(const std::string &name, const Type &type, const Expr &index) {
        const auto *ramp = index.as<Ramp>();
        const int n = vector_elements(type);
        if (!ramp || !is_const_one(ramp->stride) || n < 2) {
            return 0;
        }
        const Linear at = linear(expand(ramp->base, lets));
        std::vector<Expr> factors, to_hold;
        Expr host = make_const(Int(32), at.constant);
        for (const auto &t : at.terms) {
            const ModulusRemainder m = modulus_remainder(t.atom, multiples);
            if (t.factor % n == 0 || (m.modulus % n == 0 && m.remainder % n == 0)) {
                continue;
            }
            if (known_to_host(t.atom)) {
                host += t.atom * make_const(Int(32), t.factor);
                continue;
            }
            const auto *smaller = t.atom.as<Min>();  // of where a vector is and where the last one fits
            bool moves = false;
            if (smaller && is_multiple(smaller->a, n, to_hold, moves) && is_multiple(smaller->b, n, to_hold, moves)) {
                continue;
            }
            const Expr factor = host_factor(t.atom);
            if (!factor.defined()) {
                return 0;
            }
            factors.push_back(factor);
        }
        host = simplify(host);
        if (const auto c = as_const_int(host)) {
            if (*c % n != 0) {
                return 0;
            }
        } else {
            factors.push_back(host);
        }
        for (const auto &e : factors) {
            to_hold.push_back(e % n == 0);
        }
        for (const auto &e : to_hold) {
            ask(e);
        }
        if (!local.contains(name)) {
            const Expr buffer = Variable::make(type_of<halide_buffer_t *>(), name + ".buffer");
            const Expr address = Call::make(UInt(64), Call::buffer_get_device, {buffer}, Call::Extern);
            ask(address % make_const(UInt(64), n * type.bytes()) == make_zero(UInt(64)));
        }
        return n;
    }

    void ask(const Expr &e) {
        for (const auto &c : conditions) {
            if (equal(c, e)) {
                return;
            }
        }
        conditions.push_back(e);
    }

    const AlignmentFacts &facts;
    Scope<ModulusRemainder> multiples;
    Lets lets;
    Scope<> local;

public:
    explicit MarkVectors(const AlignmentFacts &facts) : facts(facts) {
        for (const auto &m : facts.multiples) {
            multiples.push(m.first, ModulusRemainder(m.second, 0));
        }
        for (const auto &name : facts.not_in_memory) {
            local.push(name);
        }
    }
    std::vector<Expr> conditions;
};

}  // namespace

void forget_alignment(Kernel &kernel, const Expr &usable) {
    class FindAsked : public IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Call *op) override {
            const auto *buffer = op->name == Call::buffer_get_device ? op->args[0].as<Variable>() : nullptr;
            if (buffer) {
                asked.insert(buffer->name);
            }
            IRGraphVisitor::visit(op);
        }

    public:
        std::set<std::string> asked;
    } find;
    usable.accept(&find);
    class Forget : public IRMutator {
        using IRMutator::visit;
        Expr visit(const Load *op) override {
            const Expr e = IRMutator::visit(op);
            const auto *load = e.as<Load>();
            return arrays.count(load->name) == 0
                       ? e
                       : Load::make(load->type, load->name, load->index, load->image, load->param, load->predicate, ModulusRemainder());
        }
        Stmt visit(const Store *op) override {
            const Stmt s = IRMutator::visit(op);
            const auto *store = s.as<Store>();
            return arrays.count(store->name) == 0
                       ? s
                       : Store::make(store->name, store->value, store->index, store->param, store->predicate, ModulusRemainder());
        }

    public:
        std::set<std::string> arrays;
    } forget;
    for (const auto &a : kernel.arguments) {
        if (a.is_buffer && find.asked.count(a.name + ".buffer") == 0) {
            forget.arrays.insert(a.name);
        }
    }
    kernel.body = forget.mutate(kernel.body);
}

int vector_elements(const Type &vector) {
    const int widest = std::max(kWidestAccess / vector.element_of().bytes(), 1);
    int n = 1;
    while (n < widest && vector.lanes() % (2 * n) == 0) {
        n *= 2;
    }
    return n;
}

Expr mark_aligned_vectors(Stmt &part, const AlignmentFacts &facts) {
    MarkVectors mark(facts);
    part = mark.mutate(part);
    Expr all;
    for (const auto &c : mark.conditions) {
        all = all.defined() ? all && c : c;
    }
    return all;
}

Expr mark_aligned_vectors(Kernel &kernel) {
    AlignmentFacts facts;
    for (const auto &a : kernel.arguments) {
        if (!a.is_buffer) {
            facts.arguments.insert(a.name);
        }
    }
    return mark_aligned_vectors(kernel.body, facts);
}

}  // namespace halyard
