#include "lowering/host/side_by_side.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lowering/host/parallel_jobs.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Whether a name is that of a Func's memory, or of a part of it: a tuple's element, an other name of the same pointer.
bool is_of(const std::string &name, const std::string &func) {
    return name.compare(0, func.size(), func) == 0 && (name.size() == func.size() || name[func.size()] == '.');
}

// Whether a statement or an expression may touch the memory of some Funcs or arrays.
class Touches : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Load *op) override {
        note(op->name);
        IRGraphVisitor::visit(op);
    }
    void visit(const Store *op) override {
        note(op->name);
        IRGraphVisitor::visit(op);
    }
    void visit(const Variable *op) override {
        if (op->type.is_handle()) {
            note(op->name);
        }
    }

    void note(const std::string &name) {
        found = found || std::any_of(memory_.begin(), memory_.end(), [&](const std::string &m) { return is_of(name, m); });
    }

    std::vector<std::string> memory_;

public:
    explicit Touches(std::vector<std::string> memory) : memory_(std::move(memory)) {}
    bool found = false;
};

template<class T>
bool touches(const T &part, const std::vector<std::string> &memory) {
    Touches t(memory);
    part.accept(&t);
    return t.found;
}

// Takes out where memory of others is given back, which Halide does behind the last loop that reads it.
class TakeFrees : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Allocate *op) override {
        own_.insert(op->name);
        return IRMutator::visit(op);
    }
    Stmt visit(const Free *op) override {
        if (own_.count(op->name)) {
            return op;
        }
        const bool known = std::any_of(frees_.begin(), frees_.end(), [&](const Stmt &s) { return s.as<Free>()->name == op->name; });
        if (!known) {
            frees_.push_back(op);
        }
        return Evaluate::make(0);
    }

    std::vector<Stmt> &frees_;
    std::set<std::string> own_;

public:
    explicit TakeFrees(std::vector<Stmt> &frees) : frees_(frees) {}
};

bool is_parallel(const Definition &d) {
    const auto &dims = d.schedule().dims();  // the last one stands for what is outside of all loops
    return dims.size() > 1 && dims[dims.size() - 2].for_type == ForType::Parallel &&
           std::all_of(d.specializations().begin(), d.specializations().end(),
                       [](const Specialization &s) { return !s.failure_message.empty() || is_parallel(s.definition); });
}

class PutSideBySide : public IRMutator {
public:
    explicit PutSideBySide(SideBySide group) : group_(std::move(group)) {}

    using IRMutator::mutate;

    // Descends to the innermost statements that have all of the Funcs: one, or one in each version of the loops.
    Stmt mutate(const Stmt &s) override {
        const bool whole = !begun_;
        begun_ = true;
        if (whole) {
            check_schedules();
        }
        if (!s.defined() || made_in(s).size() < group_.funcs.size()) {
            if (whole) {
                group_.fail("not all of these Funcs are computed");
            }
            return s;
        }
        const int before = fused_;
        const Stmt inner = IRMutator::mutate(s);
        if (fused_ > before) {
            return inner;
        }
        fused_++;
        return gathered(s);
    }

private:
    using IRMutator::visit;

    // Which one of the group is made by a node; -1 for none.
    int index_of(const ProducerConsumer *op) const {
        for (size_t i = 0; op->is_producer && i < group_.funcs.size(); i++) {
            if (group_.funcs[i].name() == op->name) {
                return int(i);
            }
        }
        return -1;
    }

    std::set<int> made_in(const Stmt &s) const {
        class Find : public IRVisitor {
            using IRVisitor::visit;
            void visit(const ProducerConsumer *op) override {
                made.insert(self->index_of(op));
                IRVisitor::visit(op);
            }
            // What an expression holds makes nothing, and is most of a pipeline.
            void visit(const Store *) override {}
            void visit(const Evaluate *) override {}
            void visit(const AssertStmt *) override {}
            void visit(const LetStmt *op) override {
                op->body.accept(this);
            }
            void visit(const For *op) override {
                op->body.accept(this);
            }

        public:
            const PutSideBySide *self = nullptr;
            std::set<int> made;
        } find;
        find.self = this;
        s.accept(&find);
        find.made.erase(-1);
        return find.made;
    }

    void check_schedules() const {
        for (size_t i = 0; i < group_.funcs.size(); i++) {
            if (!is_parallel(*only_stage(group_.funcs[i]))) {
                group_.fail("the outermost loop of " + group_.names[i] +
                            " is not parallel, or that of one of its specialisations: say parallel() of it");
            }
        }
    }

    // Takes the Funcs from where they are to the place of the last one.
    Stmt gathered(const Stmt &s) {
        if (const auto *block = s.as<Block>()) {
            const Stmt first = gathered(block->first), rest = gathered(block->rest);
            return is_no_op(first) ? rest : is_no_op(rest) ? first : Block::make(first, rest);
        }
        if (const auto *let = s.as<LetStmt>()) {
            return gathered_definition(let);
        }
        if (const auto *a = s.as<Allocate>()) {
            return Allocate::make(a->name, a->type, a->memory_type, a->extents, a->condition, gathered(a->body), a->new_expr,
                                  a->free_function, a->padding);
        }
        if (const auto *node = s.as<ProducerConsumer>()) {
            const int index = index_of(node);
            if (index >= 0) {
                parts_[index] = TakeFrees(frees_).mutate(node->body);
                return parts_.size() < group_.funcs.size() ? Evaluate::make(0) : fused();
            }
            if (!node->is_producer) {
                return ProducerConsumer::make(node->name, false, gathered(node->body));
            }
        }
        if (const auto *free = s.as<Free>()) {
            if (under_way() && needed(free->name)) {
                frees_.push_back(s);
                return Evaluate::make(0);
            }
            return s;
        }
        for (int index : made_in(s)) {
            group_.fail(group_.names[size_t(index)] + " is computed in a loop, under a condition or by a thread of its own: say "
                                                      "compute_root() of it, and not async()");
        }
        check_between(s);
        return s;
    }

    // One that ends before the last of the Funcs goes with those that it is for.
    Stmt gathered_definition(const LetStmt *let) {
        check_between(let->value);
        const std::map<int, Stmt> before = parts_;
        around_.push_back(let->value);
        const Stmt body = gathered(let->body);
        around_.pop_back();
        for (auto &p : parts_) {
            if (!before.count(p.first)) {
                p.second = LetStmt::make(let->name, let->value, p.second);
            }
        }
        return is_no_op(body) ? body : LetStmt::make(let->name, let->value, body);
    }

    // Whether the Funcs that are waiting read an array.
    bool needed(const std::string &array) const {
        return std::any_of(parts_.begin(), parts_.end(), [&](const auto &p) { return touches(p.second, {array}); }) ||
               std::any_of(around_.begin(), around_.end(), [&](const Expr &value) { return touches(value, {array}); });
    }

    bool under_way() const {
        return !parts_.empty() && parts_.size() < group_.funcs.size();
    }

    template<class T>
    void check_between(const T &part) const {
        for (const auto &p : parts_) {
            if (under_way() && touches(part, {group_.funcs[size_t(p.first)].name()})) {
                group_.fail("what is computed before the last of these Funcs needs " + group_.names[size_t(p.first)] + ": leave that out");
            }
        }
    }

    // The one loop. Jobs of the first Func come first.
    Stmt fused() {
        const std::string name = group_.funcs[0].name() + ".s0.side_by_side";
        const Expr at = Variable::make(Int(32), name);
        Definitions common, ends;  // where the jobs of each Func end; counted in 64 bits, as all of them may be more than 2^31
        std::vector<Expr> behind;  // the same in 32
        std::vector<Stmt> bodies;
        Expr begin = 0, all = make_zero(Int(64));
        for (size_t i = 0; i < group_.funcs.size(); i++) {
            const std::string &func = group_.funcs[i].name(), job = name + ".of." + func, end = name + ".end." + func;
            const ParallelJobs jobs = jobs_of(parts_[int(i)], job, common);
            if (!jobs.count.defined()) {
                group_.fail("the loops of " + group_.names[i] + " are not one parallel loop: something is computed around it or beside it");
            }
            bodies.push_back(LetStmt::make(job, at - begin, jobs.body));
            ends.emplace_back(end + ".exact", all + cast<int64_t>(jobs.count));
            all = Variable::make(Int(64), end + ".exact");
            ends.emplace_back(end, cast<int32_t>(all));
            begin = Variable::make(Int(32), end);
            behind.push_back(begin);
        }
        Stmt body = bodies.back();
        for (size_t i = bodies.size() - 1; i-- > 0;) {
            body = IfThenElse::make(at < behind[i], bodies[i], body);
        }
        Stmt s = For::make(name, 0, begin, ForType::Parallel, Partition::Never, DeviceAPI::None, body);
        s = Block::make(AssertStmt::make(all < make_const(Int(64), int64_t(1) << 31), too_many(all)), s);
        for (auto e = ends.rbegin(); e != ends.rend(); ++e) {
            s = LetStmt::make(e->first, e->second, s);
        }
        for (auto d = common.rbegin(); d != common.rend(); ++d) {
            s = LetStmt::make(d->first, d->second, s);
        }
        for (const auto &f : group_.funcs) {
            s = ProducerConsumer::make(f.name(), true, s);
        }
        frees_.insert(frees_.begin(), s);
        s = Block::make(frees_);
        frees_.clear();
        parts_.clear();
        return s;
    }

    // What a call says.
    Expr too_many(const Expr &jobs) const {
        std::string names;
        for (const std::string &n : group_.names) {
            names += (names.empty() ? "" : n == group_.names.back() ? " and " : ", ") + n;
        }
        const Expr message = Call::make(type_of<const char *>(), Call::stringify,
                                        {Expr(names + " have "), jobs, Expr(" jobs side by side")}, Call::Intrinsic);
        return Call::make(Int(32), "halide_error_requirement_failed", {Expr("fewer than 2^31 jobs in one loop"), message}, Call::Extern);
    }

    SideBySide group_;
    bool begun_ = false;
    int fused_ = 0;
    std::map<int, Stmt> parts_;  // what computes a Func, until there are all
    std::vector<Expr> around_;   // what definitions around stand for
    std::vector<Stmt> frees_;    // of what the parts read, once they are done
};

}  // namespace

const Definition *only_stage(const Function &f) {
    if (!f.has_pure_definition() || !f.has_update_definition()) {
        return f.has_pure_definition() ? &f.definition() : nullptr;
    }
    const auto is_undef = [](const Expr &value) { return Call::as_intrinsic(value, {Call::undef}) != nullptr; };
    const bool stored_once = f.updates().size() == 1 && std::all_of(f.values().begin(), f.values().end(), is_undef);
    return stored_once ? &f.update(0) : nullptr;
}

std::unique_ptr<IRMutator> put_side_by_side(SideBySide group) {
    return std::make_unique<PutSideBySide>(std::move(group));
}

}  // namespace halyard
