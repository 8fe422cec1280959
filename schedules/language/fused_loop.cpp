#include "language/fused_loop.h"

#include <algorithm>
#include <map>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// The numbers by which a loop's variable is divided: it was fused from loops of these extents.
class Divisors : public IRVisitor {
public:
    std::vector<int64_t> periods;

    Divisors(const std::string &variable, IndexValue &value) : value_(value), steps_({{variable, 1}}) {}

private:
    int64_t divisor(const Expr &e) {
        return value_(e).value_or(0);
    }
    // After how many iterations an expression is the next one of what the variable was fused from: 1 for the variable itself,
    // also after a remainder, and n for its n-th part. 0 where it is neither.
    int64_t step(const Expr &e) {
        if (const auto *v = e.as<Variable>()) {
            const auto known = steps_.find(v->name);
            return known == steps_.end() ? 0 : known->second;
        }
        const auto *mod = e.as<Mod>();
        const auto *div = e.as<Div>();
        return mod ? step(mod->a) : div ? step(div->a) * divisor(div->b) : 0;
    }
    void add(const Expr &a, const Expr &b) {
        if (a.type().is_scalar() && a.type().is_int()) {
            periods.push_back(step(a) * divisor(b));
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
        steps_[op->name] = step(op->value);
        value_.push_let(op->name, op->value);
        op->body.accept(this);
        value_.pop(op->name);
    }
    using IRVisitor::visit;

    IndexValue &value_;
    std::map<std::string, int64_t> steps_;  // of the variable, and of lets that are parts of it
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
