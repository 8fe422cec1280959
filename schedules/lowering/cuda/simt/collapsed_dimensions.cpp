#include "lowering/cuda/simt/collapsed_dimensions.h"

#include <algorithm>
#include <set>
#include <vector>

#include "lowering/cuda/simt/linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A part of an index: what differs in the kernel, times what the host knows.
struct Part {
    Expr core, factor;
};

class JoinIndices : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(is_of_block(op->value), of_block, op->name, op->value);
        ScopedBinding<Expr> bind_other(!of_block.contains(op->name), lets, op->name, op->value);
        return LetStmt::make(op->name, value, mutate(op->body));
    }

    // Whether a value is the same in all of a block, and not known to the host: it stays as it is, outside of loops.
    bool is_of_block(const Expr &value) const {
        class FindCoordinates : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Variable *op) override {
                block = block || op->name.compare(0, 9, "blockIdx.") == 0 || of_block.contains(op->name);
                inner = inner || loops.contains(op->name) ||
                        std::find(kThreadNames.begin(), kThreadNames.end(), op->name) != kThreadNames.end();
            }
            void visit(const Load *) override {
                inner = true;
            }
            const Lets &of_block;
            const Scope<> &loops;

        public:
            FindCoordinates(const Lets &of_block, const Scope<> &loops) : of_block(of_block), loops(loops) {}
            bool block = false, inner = false;
        };
        FindCoordinates find(of_block, loops);
        expand(value, lets).accept(&find);
        return find.block && !find.inner;
    }

    Stmt visit(const For *op) override {
        ScopedBinding<> bind(loops, op->name);
        return IRMutator::visit(op);
    }

    Expr visit(const Let *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return Let::make(op->name, value, mutate(op->body));
    }

    Expr visit(const Load *op) override {
        return Load::make(op->type, op->name, joined(op->index), op->image, op->param, mutate(op->predicate), op->alignment);
    }

    Stmt visit(const Store *op) override {
        return Store::make(op->name, mutate(op->value), joined(op->index), op->param, mutate(op->predicate), op->alignment);
    }

    Expr visit(const LE *op) override {
        return holds(op->b - op->a) ? const_true() : IRMutator::visit(op);
    }

    Expr visit(const LT *op) override {
        return op->a.type() == Int(32) && holds(op->b - op->a - 1) ? const_true() : IRMutator::visit(op);
    }

    // Whether e >= 0 whatever the remainders in it are, which is all that differs in the kernel: the host asks.
    bool holds(const Expr &e) {
        if (e.type() != Int(32)) {
            return false;
        }
        std::vector<Part> parts;
        take_apart(simplify(expand(e, lets)), 1, parts);
        Expr least = 0, divisors = const_true();
        bool any = false;
        for (const auto &p : parts) {
            const auto *rest = p.core.as<Mod>();
            const auto times = as_const_int(p.factor);
            if (known_to_host(p.core)) {
                least += p.core * p.factor;
            } else if (rest && known_to_host(rest->b) && times) {
                least += *times < 0 ? (rest->b - 1) * p.factor : Expr(0);
                divisors = divisors && rest->b > 0;
                any = true;
            } else {
                return false;
            }
        }
        if (any) {
            ask(simplify(least >= 0 && divisors));
        }
        return any;
    }

    Expr joined(const Expr &index) {
        if (const auto *ramp = index.as<Ramp>(); ramp && ramp->base.type() == Int(32)) {
            return Ramp::make(joined(ramp->base), mutate(ramp->stride), ramp->lanes);
        }
        if (index.type() != Int(32)) {
            return mutate(index);
        }
        std::vector<Part> parts;
        take_apart(simplify(expand(index, lets)), 1, parts);
        bool any = false;
        while (join_two(parts)) {
            any = true;
        }
        if (!any) {
            return mutate(index);
        }
        Expr sum = 0;
        for (const auto &p : parts) {
            sum += p.core * p.factor;
        }
        return simplify(sum);
    }

    bool known_to_host(const Expr &e) const {
        return has_only(e, arguments);
    }

    void take_apart(const Expr &e, const Expr &factor, std::vector<Part> &parts) const {
        if (const auto *add = e.as<Add>()) {
            take_apart(add->a, factor, parts);
            take_apart(add->b, factor, parts);
        } else if (const auto *sub = e.as<Sub>()) {
            take_apart(sub->a, factor, parts);
            take_apart(sub->b, simplify(0 - factor), parts);
        } else if (const auto *mul = e.as<Mul>(); mul && known_to_host(mul->b)) {
            take_apart(mul->a, simplify(factor * mul->b), parts);
        } else if (mul && known_to_host(mul->a)) {
            take_apart(mul->b, simplify(factor * mul->a), parts);
        } else {
            parts.push_back({e, factor});
        }
    }

    // a % n * f + a / n * g  ->  a * f, where g == f * n
    bool join_two(std::vector<Part> &parts) {
        for (size_t i = 0; i < parts.size(); i++) {
            const auto *rest = parts[i].core.as<Mod>();
            if (!rest || !known_to_host(rest->b)) {
                continue;
            }
            for (size_t j = 0; j < parts.size(); j++) {
                const auto *quotient = parts[j].core.as<Div>();
                if (!quotient || !equal(quotient->a, rest->a) || !equal(quotient->b, rest->b)) {
                    continue;
                }
                const Expr fits = simplify(parts[j].factor == parts[i].factor * rest->b);
                if (is_const_zero(fits)) {
                    continue;
                }
                ask(fits);
                const Part both = {rest->a, parts[i].factor};
                parts.erase(parts.begin() + std::max(i, j));
                parts.erase(parts.begin() + std::min(i, j));
                take_apart(both.core, both.factor, parts);
                return true;
            }
        }
        return false;
    }

    void ask(const Expr &e) {
        if (is_const_one(e)) {
            return;
        }
        condition = !condition.defined() ? e : can_prove(!condition || e) ? condition : condition && e;
    }

    const std::set<std::string> &arguments;
    Lets lets, of_block;
    Scope<> loops;

public:
    explicit JoinIndices(const std::set<std::string> &arguments) : arguments(arguments) {}
    Expr condition;
};

}  // namespace

Expr collapse_dimensions(Kernel &kernel) {
    std::set<std::string> arguments;
    for (const auto &a : kernel.arguments) {
        if (!a.is_buffer) {
            arguments.insert(a.name);
        }
    }
    JoinIndices join(arguments);
    const Stmt joined = join.mutate(kernel.body);
    if (join.condition.defined()) {
        kernel.body = simplify(joined);
    }
    return join.condition;
}

}  // namespace halyard
