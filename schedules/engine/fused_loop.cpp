#include "fused_loop.h"

#include <algorithm>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// The numbers by which a loop's variable is divided: it was fused from loops of these extents.
class Divisors : public IRVisitor {
public:
    std::vector<int64_t> periods;

    Divisors(const std::string &variable, IndexValue &value)
        : variable_(variable), value_(value) {
    }

private:
    bool is_variable(const Expr &e) {
        const auto *v = e.as<Variable>();
        return v && v->name == variable_;
    }
    int64_t divisor(const Expr &e) {
        return value_(e).value_or(0);
    }
    void add(const Expr &a, const Expr &b) {
        if (!a.type().is_scalar() || !a.type().is_int()) {
            return;
        }
        if (is_variable(a)) {
            periods.push_back(divisor(b));
        } else if (const auto *d = a.as<Div>(); d && is_variable(d->a)) {
            periods.push_back(divisor(d->b) * divisor(b));
        }
    }
    void visit(const Div *op) override {
        add(op->a, op->b);
        IRVisitor::visit(op);
    }
    void visit(const Mod *op) override {
        add(op->a, op->b);
        IRVisitor::visit(op);
    }
    // Divisors that are lets themselves are known only inside.
    void visit(const LetStmt *op) override {
        op->value.accept(this);
        value_.push_let(op->name, op->value);
        op->body.accept(this);
        value_.pop(op->name);
    }
    using IRVisitor::visit;

    const std::string variable_;
    IndexValue &value_;
};

}  // namespace

std::vector<int64_t> fused_steps(const For *op, int64_t extent, IndexValue &value) {
    std::vector<int64_t> steps = {1};
    Divisors divisors(op->name, value);
    op->body.accept(&divisors);
    std::sort(divisors.periods.begin(), divisors.periods.end());
    for (const int64_t p : divisors.periods) {
        if (p > steps.back() && p < extent && extent % p == 0 && p % steps.back() == 0) {
            steps.push_back(p);
        }
    }
    return steps;
}

}  // namespace halyard
