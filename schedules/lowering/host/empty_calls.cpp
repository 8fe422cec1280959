#include "lowering/host/empty_calls.h"

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "lowering/definitions.h"
#include "lowering/host/fold_checks.h"
#include "lowering/host/unread_inputs.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const char *const kIsQuery = "_halide_buffer_is_bounds_query";

// What is wrong with an argument, and stands before all work.
const std::set<std::string> kArgumentErrors = {
    "halide_error_access_out_of_bounds",
    "halide_error_bad_dimensions",
    "halide_error_bad_type",
    "halide_error_buffer_allocation_too_large",
    "halide_error_buffer_argument_is_null",
    "halide_error_buffer_extents_negative",
    "halide_error_buffer_extents_too_large",
    "halide_error_constraint_violated",
    "halide_error_constraints_make_required_region_smaller",
    "halide_error_device_dirty_with_no_device_support",
    "halide_error_host_is_null",
    "halide_error_no_device_interface",
    "halide_error_param_too_large_f64",
    "halide_error_param_too_large_i64",
    "halide_error_param_too_large_u64",
    "halide_error_param_too_small_f64",
    "halide_error_param_too_small_i64",
    "halide_error_param_too_small_u64",
    "halide_error_requirement_failed",
};

// The error of an assertion, behind what it is computed from.
std::string error_of(const AssertStmt *op) {
    Expr message = op->message;
    while (const Let *let = message.as<Let>()) {
        message = let->body;
    }
    const Call *call = message.as<Call>();
    return call ? call->name : "";
}

// The buffer that a message speaks of: "Input buffer x".
std::string buffer_of(const AssertStmt *op) {
    Expr message = op->message;
    while (const Let *let = message.as<Let>()) {
        message = let->body;
    }
    const auto *name = message.as<Call>()->args.at(0).as<StringImm>();
    return name ? name->value.substr(name->value.rfind(' ') + 1) : "";
}

// Checks stand before the work, which is not looked at once one is found: SkipEmptyCalls asks at each statement from the outermost one in.
class HasChecks : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Block *op) override {
        op->first.accept(this);
        if (!found) {
            op->rest.accept(this);
        }
    }
    void visit(const LetStmt *op) override {
        op->value.accept(this);
        if (!found) {
            op->body.accept(this);
        }
    }
    void visit(const AssertStmt *op) override {
        found = found || kArgumentErrors.count(error_of(op)) > 0;
    }
    void visit(const Call *op) override {
        found = found || op->name == kIsQuery;
        IRVisitor::visit(op);
    }

public:
    bool found = false;
};

template<typename T>
bool has_checks(const T &part) {
    HasChecks h;
    part.accept(&h);
    return h.found;
}

// Conditions in names that hold anywhere in the call: Halide may have named a part of one. What a version requires, which has checks of its
// own, is not of the others.
class FindRequirements : public VisitDefinitions {
    using VisitDefinitions::visit;

    void visit(const IfThenElse *op) override {
        if (!has_checks(Stmt(op))) {
            VisitDefinitions::visit(op);
        }
    }

    void visit(const AssertStmt *op) override {
        if (!read_only_if(op) && error_of(op) == "halide_error_requirement_failed") {
            required = required && resolved(op->condition);
        }
    }

public:
    Expr required = const_true();  // of those that are none of read_only_if()
};

// The buffer whose pointer an expression reads.
class PointerIn : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Variable *op) override {
        if (op->type.is_handle()) {
            name = op->name;
        }
    }

public:
    std::string name;
};

class SkipEmptyCalls : public IRMutator {
public:
    explicit SkipEmptyCalls(const std::vector<Func> &outputs) : outputs_(names_of_outputs(outputs)) {}

    using IRMutator::mutate;

    // What checks no argument any more is the work of a call.
    Stmt mutate(const Stmt &s) override {
        if (!begun_) {
            begun_ = true;
            required_ = requirements_of(s);
            reads_ = conditions_of_reads(s);
            return mutate(leave_unread(s, reads_, outputs_));
        }
        if (!s.defined() || s.as<AssertStmt>() || has_checks(s)) {
            return IRMutator::mutate(s);
        }
        const Stmt checks = checks_of_folds(s);
        return IfThenElse::make(!nothing_to_do(), checks.defined() ? Block::make(checks, s) : s);
    }

private:
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const size_t at = op->name.rfind(".extent.");
        const Call *call = op->value.as<Call>();
        if (at == std::string::npos || !call || call->name != "_halide_buffer_get_extent") {
            return LetStmt::make(op->name, mutate(op->value), mutate(op->body));
        }
        extents_[op->name.substr(0, at)].push_back(Variable::make(Int(32), op->name));
        Stmt s = LetStmt::make(op->name, op->value, mutate(op->body));
        extents_[op->name.substr(0, at)].pop_back();
        return s;
    }

    Stmt visit(const IfThenElse *op) override {
        if (has_checks(op->then_case) || (op->else_case.defined() && has_checks(op->else_case))) {
            const auto branch = [&](const Stmt &s) {
                ScopedValue<Expr> own(required_, s.defined() ? required_ && requirements_of(s) : required_);
                return mutate(s);
            };
            const Stmt then_case = branch(op->then_case), else_case = branch(op->else_case);
            return IfThenElse::make(mutate(op->condition), then_case, else_case);
        }
        // An answer to a bounds query.
        return IfThenElse::make(mutate(op->condition), op->then_case, op->else_case);
    }

    Stmt visit(const AssertStmt *op) override {
        const std::string error = error_of(op);
        const Expr condition = mutate(op->condition);
        if (error == "halide_error_access_out_of_bounds" || error == "halide_error_constraints_make_required_region_smaller") {
            // What fails a requirement has that for its error, which comes behind these.
            return AssertStmt::make(condition || nothing_to_do() || !is_read(buffer_of(op)) || !required_, op->message);
        }
        PointerIn pointer;
        op->condition.accept(&pointer);
        if (error == "halide_error_host_is_null" && extents_.count(pointer.name)) {
            return AssertStmt::make(condition || is_empty(pointer.name), op->message);
        }
        return read_only_if(op) ? Evaluate::make(0) : AssertStmt::make(condition, op->message);
    }

    Expr visit(const Call *op) override {
        if (op->name != kIsQuery) {
            return IRMutator::visit(op);
        }
        std::string name = op->args.at(0).as<Variable>()->name;
        name = name.substr(0, name.rfind(".buffer"));
        return Expr(op) && !is_empty(name);
    }

    static Expr requirements_of(const Stmt &s) {
        FindRequirements find;
        s.accept(&find);
        return find.required;
    }

    Expr is_empty(const std::string &buffer) {
        Expr empty = const_false();
        for (const Expr &extent : extents_[buffer]) {
            empty = empty || extent == 0;
        }
        return empty;
    }

    Expr is_read(const std::string &input) {
        const auto found = reads_.find(input);
        return found == reads_.end() ? const_true() : found->second;
    }

    Expr nothing_to_do() {
        Expr nothing = const_true();
        for (const auto &output : outputs_) {
            nothing = nothing && is_empty(output);
        }
        return nothing;
    }

    bool begun_ = false;
    Expr required_;  // of this version of the pipeline
    std::map<std::string, Expr> reads_;
    std::set<std::string> outputs_;
    std::map<std::string, std::vector<Expr>> extents_;  // of the buffers of the call
};

}  // namespace

std::unique_ptr<IRMutator> skip_empty_calls(const std::vector<Func> &outputs) {
    return std::make_unique<SkipEmptyCalls>(outputs);
}

}  // namespace halyard
