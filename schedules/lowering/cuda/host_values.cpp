#include "host_values.h"

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

class DivideOnHost : public IRMutator {
public:
    explicit DivideOnHost(const std::vector<KernelArgument> &arguments) {
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

    std::vector<KernelArgument> made;

private:
    using IRMutator::visit;

    // What the host knows needs no name in the kernel, so that what is made of it is known there, too.
    Expr visit(const Let *op) override {
        return has_only(op->value, scalars_) ? mutate(substitute(op->name, op->value, op->body)) : IRMutator::visit(op);
    }
    Stmt visit(const LetStmt *op) override {
        return has_only(op->value, scalars_) ? mutate(substitute(op->name, op->value, op->body)) : IRMutator::visit(op);
    }

    Expr argument(const Expr &e) {
        for (const auto &a : made) {
            if (equal(a.value, e)) {
                return Variable::make(e.type(), a.name);
            }
        }
        KernelArgument a;
        a.name = unique_name("of_sizes");
        a.type = e.type();
        a.value = e;
        made.push_back(a);
        return Variable::make(e.type(), a.name);
    }

    std::set<std::string> scalars_;
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

void divide_on_host(Kernel &kernel) {
    DivideOnHost divide(kernel.arguments);
    kernel.body = divide.mutate(kernel.body);
    UsedNames used;
    kernel.body.accept(&used);
    std::vector<KernelArgument> arguments;
    for (const auto &a : kernel.arguments) {
        if (a.is_buffer || used.names.count(a.name)) {
            arguments.push_back(a);
        }
    }
    arguments.insert(arguments.end(), divide.made.begin(), divide.made.end());
    kernel.arguments = arguments;
}

}  // namespace halyard
