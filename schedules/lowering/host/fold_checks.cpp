#include "lowering/host/fold_checks.h"

#include <set>
#include <string>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool has_error_of(const AssertStmt *op, const std::set<std::string> &errors) {
    class Named : public IRGraphVisitor {
        using IRGraphVisitor::visit;

        void visit(const Call *op) override {
            found = found || errors_.count(op->name) > 0;
            IRGraphVisitor::visit(op);
        }
        const std::set<std::string> &errors_;

    public:
        explicit Named(const std::set<std::string> &errors) : errors_(errors) {}
        bool found = false;
    } named(errors);
    op->message.accept(&named);
    return named.found;
}

class OnlyChecks {
public:
    // What is left of a statement; undefined where it is nothing.
    Stmt of(const Stmt &s) {
        if (const auto *op = s.as<AssertStmt>()) {
            const bool kept = is_check(op) && is_known(op->condition) && is_known(op->message);
            found = found || kept;
            return kept ? s : Stmt();
        }
        if (const auto *op = s.as<Block>()) {
            const Stmt first = of(op->first), rest = of(op->rest);
            return first.defined() && rest.defined() ? Block::make(first, rest) : first.defined() ? first : rest;
        }
        if (const auto *op = s.as<LetStmt>()) {
            known_.erase(op->name);
            computed_.erase(op->name);
            if (!is_known(op->value)) {
                computed_.insert(op->name);
            }
            const Stmt body = of(op->body);
            return !body.defined() || computed_.count(op->name) ? body : LetStmt::make(op->name, op->value, body);
        }
        if (const auto *op = s.as<For>()) {
            ScopedValue<bool> inside(in_loop_, true);
            const Stmt body = is_known(op->min) && is_known(op->extent) ? of(op->body) : Stmt();
            return body.defined() ? For::make(op->name, op->min, op->extent, ForType::Serial, op->partition_policy, op->device_api, body)
                                  : body;
        }
        if (const auto *op = s.as<IfThenElse>()) {
            if (!is_known(op->condition)) {
                return Stmt();
            }
            const Stmt yes = of(op->then_case), no = op->else_case.defined() ? of(op->else_case) : Stmt();
            return yes.defined() ? IfThenElse::make(op->condition, yes, no) : no.defined() ? IfThenElse::make(!op->condition, no) : Stmt();
        }
        if (const auto *op = s.as<Allocate>()) {
            return of_allocation(op);
        }
        if (const auto *op = s.as<Store>()) {
            return known_.count(op->name) && is_known(op->value) ? s : Stmt();
        }
        if (const auto *op = s.as<Free>()) {
            return known_.count(op->name) ? s : Stmt();
        }
        if (const auto *op = s.as<ProducerConsumer>()) {
            return of(op->body);
        }
        if (const auto *op = s.as<Acquire>()) {
            return of(op->body);
        }
        const auto *op = s.as<Atomic>();
        return op ? of(op->body) : Stmt();
    }

    bool found = false;

private:
    // Bounds of a Func that stands in loops are most often those of a tile: to go through all of its tiles first would cost a call time.
    bool is_check(const AssertStmt *op) const {
        static const std::set<std::string> folds = {"halide_error_fold_factor_too_small", "halide_error_bad_fold"};
        static const std::set<std::string> bounds = {"halide_error_explicit_bounds_too_small"};
        return has_error_of(op, folds) || (!in_loop_ && has_error_of(op, bounds));
    }

    // Where Halide counts how far a fold has come.
    Stmt of_allocation(const Allocate *op) {
        const bool counts =
            op->type == Int(32) && op->extents.size() == 1 && is_const_one(op->extents[0]) && op->name.find(".head") != std::string::npos;
        if (counts) {
            known_.insert(op->name);
        }
        const Stmt body = of(op->body);
        known_.erase(op->name);
        return counts && body.defined() ? Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition, body,
                                                         op->new_expr, op->free_function, op->padding)
                                        : body;
    }

    bool is_known(const Expr &e) const {
        class Computed : public IRGraphVisitor {
            using IRGraphVisitor::visit;

            void visit(const Load *op) override {
                found = found || all_.known_.count(op->name) == 0;
                IRGraphVisitor::visit(op);
            }
            void visit(const Variable *op) override {
                found = found || all_.computed_.count(op->name) > 0;
            }
            const OnlyChecks &all_;

        public:
            explicit Computed(const OnlyChecks &all) : all_(all) {}
            bool found = false;
        } computed(*this);
        e.accept(&computed);
        return !computed.found;
    }

    bool in_loop_ = false;
    std::set<std::string> known_;     // arrays of one number
    std::set<std::string> computed_;  // names of what is computed
};

}  // namespace

Stmt checks_of_folds(const Stmt &s) {
    OnlyChecks only;
    const Stmt checks = only.of(s);
    return only.found ? checks : Stmt();
}

}  // namespace halyard
