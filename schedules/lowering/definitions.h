#ifndef HALYARD_DEFINITIONS_H
#define HALYARD_DEFINITIONS_H

/** \file
 * What names in an index stand for, by the statements around it.
 */

#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

namespace halyard {

class VisitDefinitions : public Halide::Internal::IRVisitor {
protected:
    using IRVisitor::visit;

    void visit(const Halide::Internal::LetStmt *op) override {
        op->value.accept(this);
        within(op->name, op->value, op->body);
    }
    void visit(const Halide::Internal::Let *op) override {
        op->value.accept(this);
        within(op->name, op->value, op->body);
    }

    /** Visits a body in which a name has a value, as a loop's has that of its first turn. */
    template<class T>
    void within(const std::string &name, const Halide::Expr &value, const T &body) {
        names_.emplace_back(name, value);
        body.accept(this);
        names_.pop_back();
    }

    Halide::Expr resolved(Halide::Expr e) const {
        for (auto it = names_.rbegin(); it != names_.rend(); ++it) {
            e = Halide::Internal::substitute(it->first, it->second, e);
        }
        return e;
    }

private:
    std::vector<std::pair<std::string, Halide::Expr>> names_;
};

}  // namespace halyard

#endif
