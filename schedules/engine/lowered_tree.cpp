#include "lowered_tree.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A loop around the current statement. A fused loop is several of them: the variable is
// min + the sum of their steps.
struct Around {
    std::string variable;
    int number = 0;
    int64_t step = 1, extent = 1;  // of the variable; iterations
    int64_t now = 0;               // the iteration that stands for all
};

// The first store in a statement, which tells whose work a let before it is.
class FirstStore : public IRVisitor {
public:
    std::string name;
    bool reads_itself = false;

    explicit FirstStore(const Stmt &s) {
        s.accept(this);
    }

private:
    void visit(const Store *op) override {
        if (name.empty()) {
            name = op->name;
            IRVisitor::visit(op);
        }
    }
    void visit(const Load *op) override {
        reads_itself = reads_itself || op->name == name;
        IRVisitor::visit(op);
    }
    using IRVisitor::visit;
};

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

// Loops in code that does not run at this size count all the same.
class CountLoops : public IRVisitor {
public:
    CountLoops(std::map<std::string, int> &occurrences, const Stmt &s)
        : occurrences_(occurrences) {
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

class Builder : public IRVisitor {
public:
    Builder(LoopTree &tree, const BufferSizes &sizes, int vector_bytes, int registers)
        : tree_(tree), value_(sizes), vector_bytes_(vector_bytes), registers_(registers) {
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

    // `y.streamed` is y, stored past the caches; see lowering/stream.h.
    static std::string without_streamed(const std::string &name) {
        const std::string mark = ".streamed";
        const size_t at = name.size() - std::min(name.size(), mark.size());
        return name.compare(at, std::string::npos, mark) == 0 ? name.substr(0, at) : name;
    }

    // The Func that an array belongs to: a tuple's are f.0, f.1.
    static std::string func_of(const std::string &array) {
        const size_t dot = array.rfind('.');
        return dot != std::string::npos && array.find_first_not_of("0123456789", dot + 1) == std::string::npos
                   ? array.substr(0, dot)
                   : array;
    }

    // Loops are called FUNC.sN.VAR; a stage without loops is an update if it reads what it writes.
    int stage_of_store(const std::string &array, bool reads_itself) {
        const std::string func = func_of(without_streamed(array));
        for (auto it = loop_names_.rbegin(); it != loop_names_.rend(); ++it) {
            if (it->compare(0, func.size() + 2, func + ".s") == 0) {
                return stage_number({func, std::atoi(it->c_str() + func.size() + 2)});
            }
        }
        return stage_number({func, reads_itself ? 1 : 0});
    }

    // --- loops and conditions

    // Sets the variable of a loop from the iterations of its parts.
    void place(const std::string &variable) {
        int64_t v = mins_.at(variable).back();
        for (const Around &a : around_) {
            if (a.variable == variable) {
                v += a.step * a.now;
            }
        }
        value_.set_loop(variable, v);
    }

    int64_t at(size_t loop, int64_t iteration, const std::function<int64_t()> &f) {
        Around &a = around_[loop];
        const int64_t before = a.now;
        a.now = iteration;
        place(a.variable);
        const int64_t result = f();
        a.now = before;
        place(a.variable);
        return result;
    }

    // The mean of an expression over the loops around; where it is not the same everywhere, also the
    // iterations (loop and number) at which it is positive, and at which it is not.
    struct Mean {
        double value = 0;
        std::vector<std::pair<size_t, int64_t>> yes, no;
    };

    std::optional<Mean> mean(const Expr &e) {
        const auto now = value_(e);
        if (!now) {
            return std::nullopt;
        }
        Mean m;
        m.value = double(*now);
        const auto f = [&] { return value_(e).value_or(*now); };
        std::vector<size_t> varying;
        for (size_t i = 0; i < around_.size(); i++) {
            const int64_t n = around_[i].extent;
            for (const int64_t it : {int64_t(0), int64_t(1), n / 3, n - 2, n - 1}) {
                if (it >= 0 && it < n && at(i, it, f) != *now) {
                    varying.push_back(i);
                    break;
                }
            }
        }
        if (varying.empty()) {
            return m;
        }
        // All iterations of one loop, evenly spread ones of two; of more, the two innermost.
        if (varying.size() > 2) {
            note("a loop's length depends on more than two loops around it: mean over two of them");
            varying.erase(varying.begin(), varying.end() - 2);
        }
        const int64_t most = varying.size() == 1 ? 4096 : 64;
        double sum = 0, count = 0;
        const std::function<void(size_t)> walk = [&](size_t k) {
            if (k == varying.size()) {
                const int64_t v = f();
                sum += double(v);
                count++;
                auto &seen = v > 0 ? m.yes : m.no;
                if (seen.empty()) {
                    for (size_t i : varying) {
                        seen.emplace_back(i, around_[i].now);
                    }
                }
                return;
            }
            const size_t loop = varying[k];
            const int64_t n = around_[loop].extent, samples = std::min(n, most);
            for (int64_t s = 0; s < samples; s++) {
                at(loop, samples == n ? s : s * (n - 1) / (samples - 1), [&] {
                    walk(k + 1);
                    return int64_t(0);
                });
            }
        };
        walk(0);
        m.value = sum / count;
        return m;
    }

    // Builds with some loops at iterations where this code runs.
    void at_iterations(const std::vector<std::pair<size_t, int64_t>> &where, const std::function<void()> &build) {
        std::vector<int64_t> before;
        for (const auto &w : where) {
            before.push_back(around_[w.first].now);
            around_[w.first].now = w.second;
            place(around_[w.first].variable);
        }
        build();
        for (size_t i = 0; i < where.size(); i++) {
            around_[where[i].first].now = before[i];
            place(around_[where[i].first].variable);
        }
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
        const auto build = [&] {
            const int64_t whole = std::max<int64_t>(value_(op->extent).value_or(1), 1);
            value_.push_loop(op->name, min.value_or(0));
            mins_[op->name].push_back(min.value_or(0));
            loop_names_.push_back(op->name);
            build_loop(op, n, whole, occurrence);
            loop_names_.pop_back();
            mins_[op->name].pop_back();
            value_.pop(op->name);
        };
        if (value_(op->extent).value_or(1) < 1 && extent && !extent->yes.empty()) {
            at_iterations(extent->yes, build);
        } else {
            build();
        }
    }

    // A loop that was fused is taken apart again: how often data comes back depends on its parts.
    void build_loop(const For *op, double mean_extent, int64_t extent, int occurrence) {
        std::vector<int64_t> steps = {1};
        Divisors divisors(op->name, value_);
        op->body.accept(&divisors);
        std::sort(divisors.periods.begin(), divisors.periods.end());
        for (const int64_t p : divisors.periods) {
            if (p > steps.back() && p < extent && extent % p == 0 && p % steps.back() == 0) {
                steps.push_back(p);
            }
        }
        if (double(extent) != mean_extent) {
            steps = {1};
        }
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
            n.digit = left > 1;
            around_.push_back({op->name, n.loop, step, std::max<int64_t>(upper / step, 1), upper / step / 2});
            place(op->name);
            here_ = &n;
            nest(left - 1);
            close(n);
            here_ = parent;
            around_.pop_back();
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
        const auto branch = [&](const Stmt &s, double times, bool as_now, const std::vector<std::pair<size_t, int64_t>> &where) {
            if (!s.defined()) {
                return;
            }
            if (times <= 0) {
                CountLoops(occurrences_, s);
                return;
            }
            const auto build = [&] { inside(Node::kBlock, [&](Node &n) { n.times = times; }, s); };
            if (as_now || where.empty()) {
                build();
            } else {
                at_iterations(where, build);
            }
        };
        branch(op->then_case, then, now, m ? m->yes : std::vector<std::pair<size_t, int64_t>>());
        branch(op->else_case, 1 - then, !now, m ? m->no : std::vector<std::pair<size_t, int64_t>>());
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
        tree_.arrays.push_back(a);
        const int number = int(tree_.arrays.size()) - 1;
        arrays_[op->name].push_back(number);
        const size_t first = tree_.accesses.size();
        const int outer_loops = loops_;
        op->body.accept(this);
        arrays_[op->name].pop_back();
        // Scalars and register tiles: small, constant, and the same element in every iteration.
        bool registers = constant && a.elements * a.element_bytes <= int64_t(registers_) * vector_bytes_;
        for (size_t i = first; registers && i < tree_.accesses.size(); i++) {
            const Access &access = tree_.accesses[i];
            if (access.array == number) {
                for (const auto &s : access.steps) {
                    // The loop of an epilogue over the tile is unrolled or short; the tile stays close.
                    registers = registers && (s.loop < outer_loops || s.stride == 0 || s.count <= 16);
                }
                registers = registers && access.known;
            }
        }
        tree_.arrays[size_t(number)].in_registers = registers;
    }

    // The addresses of one load or store. The lanes first, then each loop around by itself.
    void access(const std::string &full_name, const Type &type, const Expr &index, bool store, int stage) {
        const std::string name = without_streamed(full_name);
        Access a;
        a.array = array_number(name, type.element_of());
        a.streamed = store && name != full_name;
        a.stage = stage;
        a.store = store;
        const int64_t size = type.element_of().bytes();
        const int lanes = type.lanes();
        a.bytes = size * lanes;
        for (const Around &l : around_) {
            a.anchors.emplace_back(l.number, double(l.now));
        }
        const auto base = value_(index, 0);
        if (!base) {
            a.known = a.exact = false;
            note("an index of " + name + " comes out of memory: all of it may be touched");
            tree_.accesses.push_back(std::move(a));
            return;
        }
        a.base = *base * size;
        for (size_t i = 0; i < around_.size(); i++) {
            const Around &l = around_[i];
            if (l.extent < 2) {
                continue;
            }
            const auto f = [&] { return value_(index, 0).value_or(*base); };
            const int64_t first = at(i, 0, f), second = at(i, 1, f), middle = at(i, l.extent / 2, f),
                          last = at(i, l.extent - 1, f);
            Access::Step s;
            s.loop = l.number;
            s.stride = (second - first) * size;
            s.count = l.extent;
            if (last - first != (second - first) * (l.extent - 1) || middle - first != (second - first) * (l.extent / 2)) {
                // Clamped at an end, or cut by a remainder: the usual step, as far as the values reach.
                const int64_t before = at(i, std::max<int64_t>(l.extent / 2 - 1, 0), f);
                const int64_t usual = middle != before ? middle - before : second != first ? second - first : 0;
                s.stride = usual * size;
                if (usual != 0) {
                    const int64_t reach = std::max(std::abs(last - first), std::abs(middle - first)) / std::abs(usual) + 1;
                    s.count = std::min(l.extent, reach);
                }
                a.exact = a.exact && s.count >= l.extent - 1;
            }
            if (s.stride != 0) {
                a.steps.push_back(s);
            }
            a.base -= s.stride * std::min(l.now, s.count - 1);
        }
        add_lanes(a, index, *base, lanes, size);
        if (!a.exact) {
            note("an index of " + name + " is no plain sum over the loops: a bound is taken");
        }
        tree_.accesses.push_back(std::move(a));
    }

    // Lanes are runs of equal steps, and runs may repeat (four vectors of 16, say).
    void add_lanes(Access &a, const Expr &index, int64_t base, int lanes, int64_t size) {
        if (lanes < 2) {
            return;
        }
        std::vector<int64_t> offsets;
        for (int i = 0; i < lanes; i++) {
            offsets.push_back(value_(index, i).value_or(base) - base);
        }
        const int64_t step = offsets[1];
        int run = 1;
        while (run < lanes && offsets[size_t(run)] == step * run) {
            run++;
        }
        const int64_t next = run < lanes ? offsets[size_t(run)] : 0;
        for (int i = 0; i < lanes; i++) {
            a.exact = a.exact && offsets[size_t(i)] == step * (i % run) + next * (i / run);
        }
        if (step != 0) {
            a.steps.push_back({-1, step * size, run});
        }
        if (run < lanes && next != 0) {
            a.steps.push_back({-1, next * size, (lanes + run - 1) / run});
        }
    }

    // --- statements

    void visit(const Store *op) override {
        bool reads_itself = FirstStore(Stmt(op)).reads_itself;
        inside_statement(stage_of_store(op->name, reads_itself), [&](int) {
            op->predicate.accept(this);
            op->index.accept(this);
            common_subexpression_elimination(op->value).accept(this);
            access(op->name, op->value.type(), op->index, true, stage_);
        });
    }

    void visit(const LetStmt *op) override {
        // A let of data before a store is part of its work.
        if (op->value.type().is_float() && loads_or_computes(op->value)) {
            const FirstStore store(op->body);
            if (!store.name.empty()) {
                inside_statement(stage_of_store(store.name, store.reads_itself), [&](int) {
                    common_subexpression_elimination(op->value).accept(this);
                });
            }
        }
        value_.push_let(op->name, op->value);
        op->body.accept(this);
        value_.pop(op->name);
    }

    static bool loads_or_computes(const Expr &e) {
        return !is_const(e) && !e.as<Variable>();
    }

    void inside_statement(int stage, const std::function<void(int)> &fill) {
        Node *parent = here_;
        Node &n = open(Node::kStatement);
        n.stage = stage;
        stage_ = stage;
        here_ = &n;
        fused_ = {};
        fill(stage);
        // A multiplication whose result is added is one instruction with its addition.
        n.work.instructions -= std::min(fused_.first, fused_.second);
        close(n);
        here_ = parent;
    }

    void visit(const AssertStmt *) override {
    }

    void visit(const Evaluate *op) override {
        if (const auto *c = op->value.as<Call>(); c && c->call_type != Call::Intrinsic) {
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
        access(op->name, op->type, op->index, false, stage_);
    }

    // --- arithmetic

    double vectors(const Type &t) const {
        return std::max(1.0, std::ceil(double(t.lanes()) * t.bytes() / vector_bytes_));
    }

    void arithmetic(const Type &t, double instructions = 1) {
        if (!t.is_float()) {
            // Index arithmetic of scalars is for address units and loops.
            here_->work.instructions += t.is_vector() && t.bits() > 1 ? vectors(t) * instructions : 0;
            return;
        }
        here_->work.flops += t.lanes();
        here_->work.scalar_flops += t.is_scalar();
        here_->work.instructions += vectors(t) * instructions;
    }

    template<typename T>
    void binary(const T *op, double instructions = 1) {
        arithmetic(op->type, instructions);
        IRVisitor::visit(op);
    }

    void visit(const Add *op) override {
        fused_.first += op->type.is_float() ? vectors(op->type) : 0;
        binary(op);
    }
    void visit(const Sub *op) override {
        fused_.first += op->type.is_float() ? vectors(op->type) : 0;
        binary(op);
    }
    void visit(const Mul *op) override {
        fused_.second += op->type.is_float() ? vectors(op->type) : 0;
        binary(op);
    }
    void visit(const Div *op) override {
        binary(op, 5);
    }
    void visit(const Min *op) override {
        binary(op);
    }
    void visit(const Max *op) override {
        binary(op);
    }
    void visit(const Select *op) override {
        here_->work.instructions += op->type.is_float() ? vectors(op->type) : 0;
        IRVisitor::visit(op);
    }
    void visit(const Cast *op) override {
        here_->work.instructions += op->type.is_float() || op->value.type().is_float() ? vectors(op->type) : 0;
        IRVisitor::visit(op);
    }
    void visit(const VectorReduce *op) override {
        const Type t = op->value.type();
        if (t.is_float()) {
            const double adds = t.lanes() - op->type.lanes();
            here_->work.flops += adds;
            here_->work.instructions += vectors(t);
        }
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        if (op->type.is_float() && op->call_type != Call::Intrinsic && op->call_type != Call::PureIntrinsic) {
            arithmetic(op->type, op->name.find("sqrt") != std::string::npos ? 6 : 20);
        } else if (op->is_intrinsic(Call::strict_add) || op->is_intrinsic(Call::strict_sub) ||
                   op->is_intrinsic(Call::strict_mul) || op->is_intrinsic(Call::strict_div) ||
                   op->is_intrinsic(Call::strict_min) || op->is_intrinsic(Call::strict_max) ||
                   (op->is_intrinsic(Call::abs) && op->type.is_float())) {
            arithmetic(op->type, op->is_intrinsic(Call::strict_div) ? 5 : 1);
        }
        IRVisitor::visit(op);
    }
    using IRVisitor::visit;

    LoopTree &tree_;
    IndexValue value_;
    const int vector_bytes_, registers_;
    Node *here_ = nullptr;
    int stage_ = 0, loops_ = 0;
    std::pair<double, double> fused_;  // additions and multiplications of a statement, in vectors
    std::vector<Around> around_;
    std::vector<std::string> loop_names_;
    std::map<std::string, std::vector<int64_t>> mins_;
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
