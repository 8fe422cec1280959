#include "lowering/cuda/simt/hoisted_uniforms.h"

#include <set>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Whether there is a division in it that is no shift, and nothing that only a kernel can do.
class HasDivision : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Div *op) override {
        found = found || !as_const_int(op->b);
        IRVisitor::visit(op);
    }
    void visit(const Mod *op) override {
        found = found || !as_const_int(op->b);
        IRVisitor::visit(op);
    }
    void visit(const Call *) override {
        calls = true;
    }

public:
    bool found = false, calls = false;
};

class DivideBySizes : public IRMutator {
public:
    DivideBySizes(const std::vector<LaunchArgument> &arguments, bool multiply) : multiply_(multiply) {
        for (const char *name : kThreadNames) {
            not_negative_.push(name);
        }
        for (const auto &a : arguments) {
            if (!a.is_buffer && !a.tensor.defined() && !a.value.defined() && !a.type.is_handle()) {
                scalars_.insert(a.name);
            }
        }
    }

    using IRMutator::mutate;

    Expr mutate(const Expr &e) override {
        if ((e.type() == Int(32) || e.type() == Bool()) && has_only(e, scalars_)) {
            HasDivision division;
            e.accept(&division);
            if (division.found && !division.calls) {
                return argument(e);
            }
        }
        return IRMutator::mutate(e);
    }

    std::vector<LaunchArgument> made;
    Expr positive = const_true();

private:
    using IRMutator::visit;

    Expr visit(const Div *op) override {
        const Expr quotient = divided(op->a, op->b);
        return quotient.defined() ? quotient : IRMutator::visit(op);
    }
    Expr visit(const Mod *op) override {
        const Expr quotient = divided(op->a, op->b);
        return quotient.defined() ? mutate(op->a) - quotient * mutate(op->b) : IRMutator::visit(op);
    }

    // Undefined where it is no division of a coordinate by a size.
    Expr divided(const Expr &a, const Expr &with_names) {
        const Expr b = substitute_in_all_lets(with_names);
        if (!multiply_ || b.type() != Int(32) || is_const(b) || !has_only(b, scalars_) || !not_negative(a)) {
            return Expr();
        }
        positive = positive && b > 0;
        const auto [multiplier, shift] = multiplier_and_shift(max(b, 1));
        return Call::make(Int(32), kDivideBy, {mutate(a), argument(multiplier), argument(shift)}, Call::PureExtern);
    }

    bool not_negative(const Expr &e) const {
        const auto both = [&](const auto *op) { return not_negative(op->a) && not_negative(op->b); };
        if (const auto value = as_const_int(e)) {
            return *value >= 0;
        }
        if (const auto *v = e.as<Variable>()) {
            return v->name.compare(0, 9, "blockIdx.") == 0 || v->name.find(".extent.") != std::string::npos ||
                   not_negative_.contains(v->name);
        }
        if (const auto *op = e.as<Add>()) {
            return both(op);
        }
        if (const auto *op = e.as<Mul>()) {
            return both(op);
        }
        if (const auto *op = e.as<Min>()) {
            return both(op);
        }
        if (const auto *op = e.as<Max>()) {
            return not_negative(op->a) || not_negative(op->b);
        }
        if (const auto *op = e.as<Div>()) {  // of a size it will be asked whether that is above 0
            return not_negative(op->a) && (has_only(substitute_in_all_lets(op->b), scalars_) || not_negative(op->b));
        }
        if (const auto *op = e.as<Select>()) {
            return not_negative(op->true_value) && not_negative(op->false_value);
        }
        return e.as<Mod>() != nullptr;
    }

    Stmt visit(const For *op) override {
        const ScopedBinding<> bind(not_negative(op->min), not_negative_, op->name);
        return IRMutator::visit(op);
    }

    // What the host knows needs no name in the kernel, so that what is made of it is known there, too.
    Expr visit(const Let *op) override {
        return has_only(op->value, scalars_) ? mutate(substitute(op->name, op->value, op->body)) : IRMutator::visit(op);
    }
    Stmt visit(const LetStmt *op) override {
        if (has_only(op->value, scalars_)) {
            return mutate(substitute(op->name, op->value, op->body));
        }
        const ScopedBinding<> bind(op->value.type() == Int(32) && not_negative(op->value), not_negative_, op->name);
        return IRMutator::visit(op);
    }

    Expr argument(const Expr &e) {
        for (const auto &a : made) {
            if (equal(a.value, e)) {
                return Variable::make(e.type(), a.name);
            }
        }
        LaunchArgument a;
        a.name = unique_name("of_sizes");
        a.type = e.type();
        a.value = e;
        made.push_back(a);
        return Variable::make(e.type(), a.name);
    }

    bool multiply_;
    std::set<std::string> scalars_;
    Scope<> not_negative_;  // names of such values
};

class UsedNames : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Variable *op) override {
        names.insert(op->name);
    }

public:
    std::set<std::string> names;
};

}  // namespace

std::pair<Expr, Expr> multiplier_and_shift(const Expr &by) {
    const Expr shift = select(by == 1, 0, 32 - cast<int>(count_leading_zeros(cast<uint32_t>(by - 1))));
    const Expr above = (cast<uint64_t>(1) << cast<uint64_t>(shift)) - cast<uint64_t>(by);
    return {cast<uint32_t>(above * (cast<uint64_t>(1) << cast<uint64_t>(32)) / cast<uint64_t>(by) + cast<uint64_t>(1)), shift};
}

void divide_by_sizes(Kernel &kernel, Expr *positive) {
    DivideBySizes divide(kernel.arguments, positive != nullptr);
    kernel.body = divide.mutate(kernel.body);
    UsedNames used;
    kernel.body.accept(&used);
    std::vector<LaunchArgument> arguments;
    for (const auto &a : kernel.arguments) {
        if (a.is_buffer || used.names.count(a.name)) {
            arguments.push_back(a);
        }
    }
    arguments.insert(arguments.end(), divide.made.begin(), divide.made.end());
    kernel.arguments = arguments;
    if (positive) {
        *positive = divide.positive;
    }
}

}  // namespace halyard
