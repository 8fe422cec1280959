#include "language/lowered_tree.h"

#include <algorithm>
#include <functional>

#include "language/addresses.h"
#include "language/fused_loop.h"
#include "language/store_stage.h"
#include "language/work_counter.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int64_t kLongestOfTile = 32;

// Loops in code that does not run at this size count all the same.
class CountLoops : public IRVisitor {
public:
    CountLoops(std::map<std::string, int> &occurrences, const Stmt &s) : occurrences_(occurrences) {
        s.accept(this);
    }

private:
    void visit(const For *op) override {
        occurrences_[op->name]++;
        op->body.accept(this);
    }
    using IRVisitor::visit;

    std::map<std::string, int> &occurrences_;
};

class Builder : public WorkCounter {
public:
    Builder(LoopTree &tree, const BufferSizes &sizes, int vector_bytes, int registers)
        : WorkCounter(vector_bytes), tree_(tree), around_(sizes), register_bytes_(int64_t(registers) * vector_bytes) {
        here_ = &tree_.root;
    }

    void build(const Stmt &s) {
        s.accept(this);
        close(tree_.root);
    }

private:
    // --- the tree

    Node &open(Node::Kind kind) {
        here_->children.emplace_back();
        Node &n = here_->children.back();
        n.kind = kind;
        n.first_access = tree_.accesses.size();
        n.first_loop = loops_;
        return n;
    }

    void close(Node &n) {
        n.last_access = tree_.accesses.size();
        n.last_loop = loops_;
    }

    // Builds a statement into a new node. The node moves when its parent gets more children, but not
    // while it is open.
    void inside(Node::Kind kind, const std::function<void(Node &)> &fill, const Stmt &body) {
        Node *parent = here_;
        Node &n = open(kind);
        fill(n);
        here_ = &n;
        body.accept(this);
        close(n);
        here_ = parent;
    }

    void note(const std::string &text) {
        if (std::find(tree_.notes.begin(), tree_.notes.end(), text) == tree_.notes.end()) {
            tree_.notes.push_back(text);
        }
    }

    int stage_number(const StageName &s) {
        const auto it = std::find(tree_.stages.begin(), tree_.stages.end(), s);
        if (it != tree_.stages.end()) {
            return int(it - tree_.stages.begin());
        }
        tree_.stages.push_back(s);
        return int(tree_.stages.size()) - 1;
    }

    // --- loops and conditions

    std::optional<LoopsAround::Mean> mean(const Expr &e) {
        auto m = around_.mean(e);
        if (m && m->of_two) {
            note("a loop's length depends on more than two loops around it: mean over two of them");
        }
        return m;
    }

    void visit(const For *op) override {
        const auto extent = mean(op->extent);
        const auto min = value_(op->min);
        if (!extent) {
            note("the length of the loop " + op->name + " comes out of memory: taken as 1");
        }
        const double n = extent ? extent->value : 1;
        const int occurrence = occurrences_[op->name]++;
        if (n <= 0) {
            CountLoops(occurrences_, op->body);
            return;
        }
        const bool block = op->for_type == ForType::GPUBlock;
        const auto build = [&] {
            const int64_t whole = std::max<int64_t>(value_(op->extent).value_or(1), 1);
            around_.push_variable(op->name, min.value_or(0));
            loop_names_.push_back(op->name);
            blocks_ += block;
            build_loop(op, n, whole, occurrence);
            blocks_ -= block;
            loop_names_.pop_back();
            around_.pop_variable(op->name);
        };
        if (value_(op->extent).value_or(1) < 1 && extent && !extent->yes.empty()) {
            around_.at_iterations(extent->yes, build);
        } else {
            build();
        }
    }

    // A loop that was fused is taken apart again: how often data comes back depends on its parts.
    void build_loop(const For *op, double mean_extent, int64_t extent, int occurrence) {
        // One that is shorter in some iterations of the loops around stays whole.
        const std::vector<int64_t> steps = double(extent) == mean_extent ? fused_steps(op, extent, value_) : std::vector<int64_t>{1};
        std::function<void(size_t)> nest = [&](size_t left) {
            if (left == 0) {
                op->body.accept(this);
                return;
            }
            const int64_t step = steps[left - 1], upper = left == steps.size() ? extent : steps[left];
            Node *parent = here_;
            Node &n = open(Node::kLoop);
            n.name = op->name;
            n.loop = loops_++;
            n.occurrence = occurrence;
            n.extent = steps.size() == 1 ? mean_extent : double(upper / step);
            n.parallel = op->is_parallel();
            n.block = op->for_type == ForType::GPUBlock;
            n.digit = left > 1;
            around_.push({op->name, n.loop, step, std::max<int64_t>(upper / step, 1), upper / step / 2});
            here_ = &n;
            nest(left - 1);
            close(n);
            here_ = parent;
            around_.pop();
        };
        nest(steps.size());
    }

    void visit(const IfThenElse *op) override {
        const auto m = mean(op->condition);
        const double then = m ? m->value : 1;
        if (!m) {
            note("a condition depends on data: taken as true");
        }
        const bool now = value_(op->condition).value_or(1) != 0;
        const auto branch = [&](const Stmt &s, double times, bool as_now, const LoopsAround::Iterations &where) {
            if (!s.defined()) {
                return;
            }
            if (times <= 0) {
                CountLoops(occurrences_, s);
                return;
            }
            const auto build = [&] {
                inside(
                    Node::kBlock, [&](Node &n) { n.times = times; }, s);
            };
            if (as_now || where.empty()) {
                build();
            } else {
                around_.at_iterations(where, build);
            }
        };
        branch(op->then_case, then, now, m ? m->yes : LoopsAround::Iterations());
        branch(op->else_case, 1 - then, !now, m ? m->no : LoopsAround::Iterations());
    }

    // --- memory

    int array_number(const std::string &name, const Type &type) {
        const auto it = arrays_.find(name);
        if (it != arrays_.end() && !it->second.empty()) {
            return it->second.back();
        }
        Array a;
        a.name = name;
        a.element_bytes = type.bytes();
        a.argument = true;
        const auto size = value_.sizes().find(name);
        if (size != value_.sizes().end()) {
            a.elements = 1;
            for (int64_t e : size->second) {
                a.elements *= e;
            }
        }
        tree_.arrays.push_back(a);
        arrays_[name].push_back(int(tree_.arrays.size()) - 1);
        return arrays_[name].back();
    }

    void visit(const Allocate *op) override {
        Array a;
        a.name = op->name;
        a.element_bytes = op->type.bytes();
        a.elements = 1;
        bool constant = true;
        for (const Expr &e : op->extents) {
            constant = constant && is_const(e);
            a.elements *= std::max<int64_t>(value_(e).value_or(0), 0);
        }
        a.on_stack = constant;
        a.in_kernel = blocks_ > 0;
        tree_.arrays.push_back(a);
        const int number = int(tree_.arrays.size()) - 1;
        arrays_[op->name].push_back(number);
        const size_t first = tree_.accesses.size();
        const int outer_loops = loops_;
        op->body.accept(this);
        arrays_[op->name].pop_back();
        // Scalars and register tiles: small, constant, and the same element in every iteration.
        bool registers = constant && a.elements * a.element_bytes <= register_bytes_;
        for (size_t i = first; registers && i < tree_.accesses.size(); i++) {
            const Access &access = tree_.accesses[i];
            if (access.array == number) {
                for (const auto &s : access.steps) {
                    // The loop of an epilogue over the tile is unrolled or short (a row or column of it): the tile stays close.
                    registers = registers && (s.loop < outer_loops || s.stride == 0 || s.count <= kLongestOfTile);
                }
                registers = registers && access.known;
            }
        }
        tree_.arrays[size_t(number)].in_registers = registers;
    }

    // The part of a vector's lanes that a predicate lets through, over all iterations.
    double part_of_lanes(const Expr &predicate) {
        if (is_const_one(predicate)) {
            return 1;
        }
        const int lanes = predicate.type().lanes();
        double through = 0;
        for (int lane = 0; lane < lanes; lane++) {
            const auto m = mean(lanes == 1 ? predicate : extract_lane(predicate, lane));
            through += m ? std::clamp(m->value, 0.0, 1.0) : 1;
        }
        return through / lanes;
    }

    void access(const std::string &full_name, const Type &type, const Expr &index, const Expr &predicate, bool store) {
        const std::string name = without_streamed(full_name);
        const int array = array_number(name, type.element_of());
        Access a = addresses(around_, type, index);
        a.array = array;
        a.streamed = store && name != full_name;
        a.stage = stage_;
        a.store = store;
        a.part = part_of_lanes(predicate);
        if (!a.known) {
            note("an index of " + name + " comes out of memory: all of it may be touched");
        } else if (!a.exact) {
            note("an index of " + name + " is no plain sum over the loops: a bound is taken");
        }
        tree_.accesses.push_back(std::move(a));
    }

    // --- statements

    void visit(const Store *op) override {
        inside_statement(first_store(Stmt(op)), [&] {
            op->predicate.accept(this);
            op->index.accept(this);
            common_subexpression_elimination(op->value).accept(this);
            access(op->name, op->value.type(), op->index, op->predicate, true);
        });
    }

    void visit(const LetStmt *op) override {
        // A let of data before a store is part of its work.
        if (op->value.type().is_float() && loads_or_computes(op->value)) {
            const FirstStore store = first_store(op->body);
            if (!store.array.empty()) {
                inside_statement(store, [&] { common_subexpression_elimination(op->value).accept(this); });
            }
        }
        value_.push_let(op->name, op->value);
        op->body.accept(this);
        value_.pop(op->name);
    }

    static bool loads_or_computes(const Expr &e) {
        return !is_const(e) && !e.as<Variable>();
    }

    void inside_statement(const FirstStore &store, const std::function<void()> &fill) {
        Node *parent = here_;
        Node &n = open(Node::kStatement);
        n.stage = stage_ = stage_number(stage_of_store(store, loop_names_));
        here_ = &n;
        begin_statement();
        fill();
        end_statement();
        close(n);
        here_ = parent;
    }

    void visit(const AssertStmt *) override {}

    void visit(const Evaluate *op) override {
        if (const auto *c = op->value.as<Internal::Call>(); c && c->call_type != Internal::Call::Intrinsic) {
            here_->work.calls++;
            op->value.accept(this);
        }
    }

    void visit(const Let *op) override {
        op->value.accept(this);
        value_.push_let(op->name, op->value);
        op->body.accept(this);
        value_.pop(op->name);
    }

    void visit(const Load *op) override {
        op->predicate.accept(this);
        op->index.accept(this);
        access(op->name, op->type, op->index, op->predicate, false);
    }

    Work &work() override {
        return here_->work;
    }
    using WorkCounter::visit;

    LoopTree &tree_;
    LoopsAround around_;
    IndexValue &value_ = around_.value;
    const int64_t register_bytes_;  // of all vector registers
    Node *here_ = nullptr;
    int stage_ = 0, loops_ = 0, blocks_ = 0;
    std::vector<std::string> loop_names_;
    std::map<std::string, std::vector<int>> arrays_;
    std::map<std::string, int> occurrences_;
};

}  // namespace

LoopTree loop_tree(const Stmt &lowered, const BufferSizes &sizes, int vector_bytes, int registers) {
    LoopTree tree;
    Builder(tree, sizes, vector_bytes, registers).build(lowered);
    return tree;
}

}  // namespace halyard
