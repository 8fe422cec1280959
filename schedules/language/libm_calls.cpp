#include "language/libm_calls.h"

#include "language/store_stage.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Halide has code of its own for exp, log and pow of 32 bits.
const std::set<std::string> kFunctions = {"sin",  "cos",   "tan",   "asin",  "acos", "atan", "atan2", "sinh", "cosh",
                                          "tanh", "asinh", "acosh", "atanh", "fmod", "erf",  "exp",   "log",  "pow"};
const std::set<std::string> kOwn = {"exp_f32", "log_f32", "pow_f32"};

class Find : public IRVisitor {
public:
    std::map<std::string, std::set<std::string>> found;

private:
    void visit(const For *op) override {
        loops_++;
        IRVisitor::visit(op);
        loops_--;
    }

    void visit(const Store *op) override {
        storing_ = without_streamed(op->name);
        IRVisitor::visit(op);
        storing_.clear();
    }

    // A let of data before a store is part of its work.
    void visit(const LetStmt *op) override {
        if (op->value.type().is_float()) {
            storing_ = without_streamed(first_store(op->body).array);
            op->value.accept(this);
            storing_.clear();
            op->body.accept(this);
        } else {
            IRVisitor::visit(op);
        }
    }

    void visit(const Internal::Call *op) override {
        const size_t end = op->name.rfind("_f");
        const std::string function = op->name.substr(0, end);
        if (op->is_extern() && end != std::string::npos && loops_ > 0 && kFunctions.count(function) && !kOwn.count(op->name)) {
            found[storing_].insert(function);
        }
        IRVisitor::visit(op);
    }
    using IRVisitor::visit;

    int loops_ = 0;
    std::string storing_;
};

}  // namespace

std::map<std::string, std::set<std::string>> libm_calls(const Stmt &lowered) {
    Find find;
    lowered.accept(&find);
    return std::move(find.found);
}

}  // namespace halyard
