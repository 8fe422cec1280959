#include "lowering/cuda/simt/zero_mins.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lowering/depends_on_data.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Free integers, those among them that are first coordinates of buffers.
class FieldsOf : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Variable *op) override {
        const bool coordinate =
            op->name.compare(0, 9, "blockIdx.") == 0 || std::find(kThreadNames.begin(), kThreadNames.end(), op->name) != kThreadNames.end();
        if (op->type == Int(32) && !coordinate && !defined.contains(op->name)) {
            scalars.insert(op->name);
            if (op->name.find(".min.") != std::string::npos) {
                mins.insert(op->name);
            }
        }
    }
    void visit(const LetStmt *op) override {
        op->value.accept(this);
        ScopedBinding<> bind(defined, op->name);
        op->body.accept(this);
    }
    void visit(const Let *op) override {
        op->value.accept(this);
        ScopedBinding<> bind(defined, op->name);
        op->body.accept(this);
    }
    void visit(const For *op) override {
        op->min.accept(this);
        op->extent.accept(this);
        ScopedBinding<> bind(defined, op->name);
        op->body.accept(this);
    }

    Scope<> defined;

public:
    std::set<std::string> scalars, mins;
};

}  // namespace

Expr assume_zero_mins(Kernel &kernel, const Lets &lets) {
    Expr zero = const_true();
    std::map<std::string, Expr> values;
    std::vector<LaunchArgument> kept;
    std::set<std::string> mins;
    for (const auto &a : kernel.arguments) {
        const Expr value = a.type == Int(32) && !a.is_buffer ? expand(Variable::make(Int(32), a.name), lets) : Expr();
        if (!value.defined() || depends_on_data(value)) {  // as the largest size of an array over all blocks does
            kept.push_back(a);
        } else {
            FieldsOf fields;
            value.accept(&fields);
            Expr without = value;
            for (const auto &f : fields.mins) {
                mins.insert(f);
                without = substitute(f, 0, without);
            }
            values[a.name] = simplify(without);
        }
    }
    kernel.body = simplify(substitute(values, kernel.body));
    FieldsOf fields;
    kernel.body.accept(&fields);
    for (const auto &f : fields.scalars) {
        if (std::none_of(kept.begin(), kept.end(), [&](const LaunchArgument &a) { return a.name == f; })) {
            kept.push_back({f, false, false, Int(32), Expr(), Expr()});
        }
    }
    kernel.arguments = kept;
    for (const auto &m : mins) {
        zero = zero && Variable::make(Int(32), m) == 0;
    }
    return zero;
}

}  // namespace halyard
