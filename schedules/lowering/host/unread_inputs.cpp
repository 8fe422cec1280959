#include "lowering/host/unread_inputs.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "lowering/definitions.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Names = std::set<std::string>;

class Reads : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Load *op) override {
        found = found || inputs_.count(op->name) > 0;
        IRGraphVisitor::visit(op);
    }

public:
    explicit Reads(const Names &inputs) : inputs_(inputs) {}

    bool found = false;

private:
    const Names &inputs_;
};

bool has_read_of(const Names &inputs, const Expr &e) {
    Reads reads(inputs);
    e.accept(&reads);
    return reads.found;
}

class FindConditions : public VisitDefinitions {
    using VisitDefinitions::visit;

    void visit(const AssertStmt *op) override {
        if (const auto said = read_only_if(op)) {
            std::istringstream inputs(said->inputs);
            const Expr condition = simplify(resolved(said->condition));
            for (std::string name; inputs >> name;) {
                Expr &all = conditions[name];
                all = all.defined() ? simplify(all && condition) : condition;
            }
        }
    }

public:
    std::map<std::string, Expr> conditions;
};

// What the inputs have one condition for.
class LeaveUnread : public IRMutator {
public:
    // of_kernels: it is about kernels, and about nothing else
    LeaveUnread(Expr condition, Names inputs, const Names &outputs, bool of_kernels)
        : condition_(std::move(condition)), inputs_(std::move(inputs)), outputs_(outputs), of_kernels_(of_kernels) {
        // A size, which is never below 0, is 0 where it is not above.
        if (const LT *less = condition_.as<LT>(); less && is_const_zero(less->a)) {
            size_ = less->b;
        }
    }

    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        if (!of_kernels_ && s.defined() && is_store_of_reads(s) && (turns_known_ || !has_sum(s))) {
            return !is_reached(s) ? s : in_kernel_ ? Zeros(condition_, inputs_).mutate(s) : IfThenElse::make(condition_, s);
        }
        return IRMutator::mutate(s);
    }

private:
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        define(op);
        return IRMutator::visit(op);
    }

    Stmt visit(const For *op) override {
        if (of_kernels_ && op->for_type == ForType::GPUBlock) {
            ReachedReads reads(*this);
            op->accept(&reads);
            if (stores_nothing_there(op)) {
                return IfThenElse::make(condition_, op);
            }
            if (is_const_zero(reads.found)) {
                return op;
            }
            if (!reads.stores_output) {
                return IfThenElse::make(simplify(condition_ || !reads.found), op);
            }
            if (!size_.defined()) {  // of other conditions it is not known which loops have no turns
                return op;
            }
            // What it computes for itself, as on the host, where the condition is known.
            const std::string name = unique_name("is_read");
            const Expr is_read = select(condition_, 1, 0);
            ScopedValue<bool> within(of_kernels_, false), kernel_(in_kernel_, true);
            ScopedValue<Expr> named(condition_, Variable::make(Int(32), name) != 0);
            const Stmt kernel = IRMutator::visit(op);
            return kernel.same_as(op) ? kernel : LetStmt::make(name, is_read, kernel);
        }
        if (has_no_turns(op)) {
            return op;
        }
        ScopedValue<bool> around(turns_known_, turns_known_ && (size_.defined() ? !depends_on_size(op->extent) : is_const(op->extent)));
        return IRMutator::visit(op);
    }

    // In a kernel all threads come to the same barriers, and what is stored may be read before it is known that nobody wants it: zeros
    // in place of what is read where there is nothing.
    class Zeros : public IRMutator {
        using IRMutator::visit;

        Expr or_zero(const Expr &value) const {
            if (!has_read_of(inputs_, value)) {
                return value;
            }
            const int lanes = value.type().lanes();
            return Call::make(value.type(), Call::if_then_else,
                              {lanes > 1 ? Broadcast::make(condition_, lanes) : condition_, value, make_zero(value.type())},
                              Call::PureIntrinsic);
        }

        Stmt visit(const Store *op) override {
            const Stmt store = Store::make(op->name, or_zero(op->value), op->index, op->param, op->predicate, op->alignment);
            return inputs_.count(op->name) > 0 ? IfThenElse::make(condition_, store) : store;
        }
        Stmt visit(const LetStmt *op) override {
            return LetStmt::make(op->name, or_zero(op->value), mutate(op->body));
        }

    public:
        Zeros(Expr condition, const Names &inputs) : condition_(std::move(condition)), inputs_(inputs) {}

    private:
        const Expr condition_;
        const Names &inputs_;
    };

    // Whether a kernel reads an input where the condition does not hold, and whether it stores what the caller gets.
    class ReachedReads : public IRVisitor {
        using IRVisitor::visit;

        // What keeps a loop from turns may be more than can be shown: sums over nothing are needed. Then the host is asked.
        void visit(const For *op) override {
            if (of_.has_no_turns(op)) {
                return;
            }
            op->min.accept(this);
            op->extent.accept(this);
            const bool shown = !of_.depends_on_size(op->extent) || is_const(of_.without(op->extent));
            const Expr extent = shown ? Expr() : on_host(op->extent);
            ScopedValue<bool> unknown(unknown_, unknown_ || (!shown && !extent.defined()));
            ScopedValue<Expr> turns(turns_, extent.defined() ? turns_ && extent > 0 : turns_);
            own_.push(op->name, Expr());
            op->body.accept(this);
            own_.pop(op->name);
        }
        void visit(const LetStmt *op) override {
            of_.define(op);
            op->value.accept(this);
            own_.push(op->name, on_host(op->value));
            op->body.accept(this);
            own_.pop(op->name);
        }
        void visit(const IfThenElse *op) override {
            op->condition.accept(this);
            if (!is_const_zero(of_.without(op->condition))) {
                op->then_case.accept(this);
            }
            if (op->else_case.defined()) {
                op->else_case.accept(this);
            }
        }
        void visit(const Call *op) override {
            const bool chooses = op->is_intrinsic(Call::if_then_else) && op->args.size() == 3;
            if (!chooses || !is_const_zero(of_.without(op->args[0]))) {
                IRVisitor::visit(op);
                return;
            }
            op->args[0].accept(this);
            op->args[2].accept(this);
        }
        void visit(const Load *op) override {
            touch(op->name);
            IRVisitor::visit(op);
        }
        void visit(const Store *op) override {
            touch(op->name);
            stores_output = stores_output || (of_.inputs_.count(op->name) == 0 && of_.outputs_.count(op->name) > 0);
            IRVisitor::visit(op);
        }

        void touch(const std::string &name) {
            if (of_.inputs_.count(name) > 0 && !unknown_) {
                found = simplify(found || turns_);
            }
        }

        // An expression of the kernel in names that stand around it; undefined where it has others, or loads.
        Expr on_host(const Expr &e) const {
            class Own : public IRMutator {
                using IRMutator::visit;
                Expr visit(const Variable *op) override {
                    const Expr *const value = own_.find(op->name);
                    known = known && (!value || value->defined());
                    return value && value->defined() ? *value : Expr(op);
                }
                Expr visit(const Load *op) override {
                    known = false;
                    return op;
                }
                const Scope<Expr> &own_;

            public:
                explicit Own(const Scope<Expr> &own) : own_(own) {}
                bool known = true;
            } own(own_);
            const Expr made = own.mutate(e);
            return own.known ? made : Expr();
        }

    public:
        explicit ReachedReads(LeaveUnread &of) : of_(of) {}

        Expr found = const_false();  // where
        bool stores_output = false;

    private:
        LeaveUnread &of_;
        Scope<Expr> own_;            // names of the kernel
        Expr turns_ = const_true();  // of loops around
        bool unknown_ = false;       // whether there is one of which the host does not know
    };

    // Whether all that a kernel stores is of outputs that have no elements where the condition does not hold.
    bool stores_nothing_there(const Stmt &kernel) const {
        class Find : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Allocate *op) override {
                of_kernel.insert(op->name);
                IRVisitor::visit(op);
            }
            void visit(const Store *op) override {
                (none.count(op->name) > 0 ? found : others) |= of_kernel.count(op->name) == 0;
            }
            const Names &none;
            Names of_kernel;

        public:
            explicit Find(const Names &none) : none(none) {}
            bool found = false, others = false;
        } find(inputs_);
        kernel.accept(&find);
        return find.found && !find.others;
    }

    void define(const LetStmt *op) {
        if (depends_on_size(op->value)) {
            dependent_.insert(op->name);
        } else {
            dependent_.erase(op->name);
        }
        known_.erase(op->name);
        if (const Expr value = without(op->value); is_const(value)) {
            known_[op->name] = value;
        }
    }

    // Whether an input is in an expression, or in what its names stand for.
    bool reads_input(const Expr &e) const {
        return has_read_of(inputs_, e) || expr_uses_vars(e, values_read_);
    }

    // A sum may be one of a constant number of turns, of which a schedule has computed more than there are. In a loop that may have no turns
    // without the condition it is of the algorithm, and runs in tiles whose registers a condition would disturb.
    static bool has_sum(const Stmt &s) {
        class Find : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Store *op) override {
                found = found || has_read_of({op->name}, op->value);
            }

        public:
            bool found = false;
        } find;
        s.accept(&find);
        return find.found;
    }

    // Whether all that it does is to store what is computed of the inputs, or to an output that has no elements then.
    bool is_store_of_reads(const Stmt &s) {
        const auto [at, is_new] = stores_reads_.emplace(s.get(), false);
        if (is_new) {
            at->second = look_for_store_of_reads(s);
        }
        return at->second;
    }

    bool look_for_store_of_reads(const Stmt &s) {
        if (const auto *op = s.as<Store>()) {
            return inputs_.count(op->name) > 0 || (outputs_.count(op->name) == 0 && reads_input(op->value));
        }
        if (const auto *op = s.as<Block>()) {
            return is_store_of_reads(op->first) && is_store_of_reads(op->rest);
        }
        if (const auto *op = s.as<IfThenElse>()) {
            return is_store_of_reads(op->then_case) && (!op->else_case.defined() || is_store_of_reads(op->else_case));
        }
        const auto *loop = s.as<For>();
        const auto *let = s.as<LetStmt>();
        const auto *atomic = s.as<Atomic>();
        if (let && reads_input(let->value)) {
            values_read_.push(let->name, 0);
        }
        return loop ? is_store_of_reads(loop->body) : let ? is_store_of_reads(let->body) : atomic && is_store_of_reads(atomic->body);
    }

    // Whether it reads anything where the condition does not hold.
    bool is_reached(const Stmt &s) {
        if (const auto *op = s.as<Block>()) {
            return is_reached(op->first) || is_reached(op->rest);
        }
        if (const auto *op = s.as<IfThenElse>()) {
            return !is_const_zero(without(op->condition)) &&
                   (is_reached(op->then_case) || (op->else_case.defined() && is_reached(op->else_case)));
        }
        if (const auto *op = s.as<LetStmt>()) {
            define(op);
            return is_reached(op->body);
        }
        if (const auto *op = s.as<Atomic>()) {
            return is_reached(op->body);
        }
        const auto *loop = s.as<For>();
        return !loop || (!has_no_turns(loop) && is_reached(loop->body));
    }

    bool has_no_turns(const For *op) const {
        const Expr extent = without(op->extent);
        return is_const(extent) && can_prove(extent <= 0);
    }

    // Whether the size of the condition is in an expression, or in what its names stand for.
    bool depends_on_size(const Expr &e) const {
        class Names : public IRGraphVisitor {
            using IRGraphVisitor::visit;
            void visit(const Variable *op) override {
                names.insert(op->name);
            }

        public:
            std::set<std::string> names;
        } of_size, used;
        if (!size_.defined()) {
            return false;
        }
        size_.accept(&of_size);
        e.accept(&used);
        return std::any_of(used.names.begin(), used.names.end(),
                           [&](const std::string &name) { return of_size.names.count(name) > 0 || dependent_.count(name) > 0; });
    }

    // What an expression is where the condition does not hold.
    Expr without(const Expr &e) const {
        if (!size_.defined()) {
            return e;
        }
        return simplify(substitute(known_, substitute(size_, make_zero(size_.type()), e)));
    }

    Expr condition_, size_;
    Names inputs_;
    const Names &outputs_;
    bool of_kernels_;
    bool in_kernel_ = false;
    bool turns_known_ = true;            // of the loops around
    std::map<std::string, Expr> known_;  // names of numbers
    Names dependent_;                    // of what depends on the size
    std::map<const IRNode *, bool> stores_reads_;
    Scope<int> values_read_;  // names of what is computed of the inputs
};

Stmt for_each_condition(Stmt s, const std::map<std::string, Expr> &needed, const Names &outputs, bool of_kernels) {
    std::vector<std::pair<Expr, Names>> conditions;
    for (const auto &[input, condition] : needed) {
        bool is_there = false;
        for (auto &c : conditions) {
            if (equal(c.first, condition)) {
                c.second.insert(input);
                is_there = true;
            }
        }
        if (!is_there) {
            conditions.push_back({condition, {input}});
        }
    }
    for (const auto &[condition, inputs] : conditions) {
        s = LeaveUnread(condition, inputs, outputs, of_kernels).mutate(s);
    }
    return s;
}

}  // namespace

Stmt leave_unread(Stmt s, const std::map<std::string, Expr> &needed, const std::set<std::string> &outputs) {
    return for_each_condition(std::move(s), needed, outputs, false);
}

Stmt leave_kernels_unread(Stmt s, const std::set<std::string> &outputs) {
    const auto needed = conditions_of_reads(s);
    return for_each_condition(std::move(s), needed, outputs, true);
}

std::map<std::string, Expr> conditions_of_reads(const Stmt &s) {
    FindConditions find;
    s.accept(&find);
    return find.conditions;
}

std::set<std::string> names_of_outputs(const std::vector<Func> &outputs) {
    std::set<std::string> names;
    for (const Func &f : outputs) {
        for (int i = 0; i < f.outputs(); i++) {
            names.insert(f.name() + (f.outputs() > 1 ? "." + std::to_string(i) : ""));
        }
    }
    return names;
}

std::optional<ReadOnlyIf> read_only_if(const AssertStmt *op) {
    class Text : public IRVisitor {
        using IRVisitor::visit;

        void visit(const StringImm *op) override {
            const std::string opening = "halyard:read_only_if ";
            if (op->value.compare(0, opening.size(), opening) == 0) {
                inputs = op->value.substr(opening.size());
            }
        }

    public:
        std::string inputs;
    } text;
    op->message.accept(&text);
    if (text.inputs.empty()) {
        return std::nullopt;
    }
    const Call *hidden = Call::as_intrinsic(op->condition, {Call::return_second});
    return ReadOnlyIf{text.inputs, hidden ? hidden->args.at(1) : op->condition};
}

}  // namespace halyard
