#include "mma.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "accesses.h"
#include "definitions.h"
#include "depends_on_data.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

struct Loop {
    Stmt whole;
    std::string name;
    Expr min, extent;
};

// One access of the nest: a buffer, and an index that is affine in the loops.
struct Access {
    const Load *load = nullptr;
    Expr index;
};

const char *function_name(const Type &c, const Type &a, const Type &b) {
    if (c == Float(32) && a == BFloat(16) && b == BFloat(16)) {
        return "halyard_mma_bf16";
    }
    if (c == Int(32) && b == Int(8)) {
        return a == UInt(8) ? "halyard_mma_u8s8" : a == Int(8) ? "halyard_mma_s8s8" : nullptr;
    }
    if (c == Float(32) && a == Float(32) && b == Float(32)) {
        return "halyard_mma_f32";
    }
    return nullptr;
}

// The load under casts that widen it.
const Load *widened_load(const Expr &e) {
    if (const auto *cast = e.as<Cast>()) {
        return cast->value.as<Load>();
    }
    return e.as<Load>();
}

// What is touched after a product, row by row.
struct Touched {
    std::string buffer;
    Expr start, stride;  // in elements; undefined if there is nothing
    Expr rows;
    int bytes = 0;  // of an element
};

// What the first loop of a statement writes and reads, of buffers that are the caller's and move with it.
class FindTouched : public VisitDefinitions {
public:
    explicit FindTouched(std::set<std::string> own)
        : own_(std::move(own)) {
    }

    Touched written, read;

    // A buffer that is not the caller's.
    void own(const std::string &buffer) {
        own_.insert(buffer);
    }

private:
    using VisitDefinitions::visit;

    void visit(const Allocate *op) override {
        own_.insert(op->name);
        VisitDefinitions::visit(op);
    }

    void visit(const For *op) override {
        if (row_.empty() && !done_) {
            row_ = op->name;
            first_row_ = op->min;
            rows_ = resolved(op->extent);
            op->body.accept(this);
            row_.clear();
            done_ = true;
        } else if (!row_.empty()) {
            within(op->name, op->min, op->body);
        }
    }

    void visit(const Store *op) override {
        touch(written, op->name, op->index, op->value.type());
        VisitDefinitions::visit(op);
    }

    void visit(const Load *op) override {
        touch(read, op->name, op->index, op->type);
        VisitDefinitions::visit(op);
    }

    void touch(Touched &t, const std::string &buffer, const Expr &index, const Type &type) {
        if (row_.empty() || t.start.defined() || own_.count(buffer) || buffer == written.buffer) {
            return;
        }
        Expr at = substitute_in_all_lets(index);
        while (at.as<Ramp>() || at.as<Broadcast>()) {
            at = at.as<Ramp>() ? at.as<Ramp>()->base : at.as<Broadcast>()->value;
        }
        if (!at.type().is_scalar() || !at.type().is_int()) {
            return;
        }
        at = resolved(at);
        const Expr stride = simplify(substitute(row_, Variable::make(Int(32), row_) + 1, at) - at);
        if (depends_on_data(at) || expr_uses_var(stride, row_) || is_const_zero(stride)) {
            return;
        }
        t = {buffer, simplify(substitute(row_, resolved(first_row_), at)), stride, rows_, type.bytes()};
    }

    std::set<std::string> own_;
    std::string row_;
    Expr first_row_, rows_;
    bool done_ = false;
};

// The body of a parallel loop that calls products.
struct Task {
    std::set<std::string> writes;  // to these buffers

    // A loop, a definition or a condition around a product, the outermost first; only loops have an extent, and a condition no
    // name.
    struct Around {
        std::string name;
        Expr value, extent;
    };
    std::vector<Around> around;

    // Where a product will start in an operand when it is through with this part of it, or -1, and how many calls that takes.
    // `same` depends on whatever may not change until then; undefined: it is not known.
    std::pair<Expr, Expr> next(Expr start, Expr same) const {
        const std::pair<Expr, Expr> none = {Expr(-1), Expr(1)};
        Expr calls = 1;
        for (auto a = around.rbegin(); a != around.rend() && same.defined(); ++a) {
            if (a->name.empty()) {
                same += cast<int>(a->value);
            } else if (!a->extent.defined()) {
                start = substitute(a->name, a->value, start);
                same = substitute(a->name, a->value, same);
                calls = substitute(a->name, a->value, calls);
            } else if (expr_uses_var(start, a->name)) {
                const Expr behind = Variable::make(Int(32), a->name) + 1;
                if (expr_uses_var(same, a->name) || expr_uses_var(calls, a->name)) {
                    return none;
                }
                return {select(behind < a->value + a->extent, substitute(a->name, behind, start), -1), max(calls, 1)};
            } else {
                calls = calls * a->extent;
            }
        }
        return none;
    }
};

class Nest {
public:
    Nest(const Stmt &s, const std::function<void(const std::string &)> &fail)
        : fail_(fail) {
        descend(s);
        read_store();
        classify();
    }

    // Whether one call makes all of a sum.
    bool sums_at_once() const {
        for (size_t i = 0; i < around_; i++) {
            if (!moves(c_index_, loops_[i])) {
                return false;
            }
        }
        return true;
    }

    Stmt call(bool fresh, const Touched &written, const Touched &read, const Task &task) const {
        const char *name = function_name(store_->value.type(), a_.load->type, b_.load->type);
        std::vector<Expr> args = {
            pointer(store_->name), at_start(c_index_), stride(c_index_, row_),
            pointer(a_.load->name), at_start(a_.index), stride(a_.index, row_),
            pointer(b_.load->name), at_start(b_.index), stride(b_.index, groups_),
            extent(row_), extent(col_), group_extent_, Expr(fresh ? 1 : 0)};
        for (const Touched *t : {&written, &read}) {
            const bool any = t->start.defined();
            args.push_back(any ? pointer(t->buffer) : reinterpret(Handle(), make_zero(UInt(64))));
            args.push_back(any ? cast<int64_t>(t->start) * t->bytes : make_zero(Int(64)));
            args.push_back(any ? cast<int64_t>(t->stride) * t->bytes : make_zero(Int(64)));
            args.push_back(any ? t->rows : Expr(0));
            args.push_back(any ? extent(col_) * t->bytes : Expr(0));
        }
        if (a_.load->type == Float(32)) {
            for (const Access *x : {&a_, &b_}) {
                args.push_back(Expr(task.writes.count(x->load->name) ? 0 : 1));
            }
            const auto [next, calls] = task.next(at_start(b_.index), around_ == 0 ? Expr(extent(col_) + group_extent_) : Expr());
            args.push_back(next);
            args.push_back(calls);
        }
        Stmt s = Evaluate::make(Call::make(Int(32), name, args, Call::Extern));
        for (size_t i = around_; i-- > 0;) {
            const auto *loop = loops_[i].whole.as<For>();
            s = For::make(loop->name, loops_[i].min, loops_[i].extent, loop->for_type, loop->partition_policy,
                          loop->device_api, s);
        }
        return s;
    }

private:
    [[noreturn]] void fail(const std::string &message) const {
        fail_(message);
        throw CompileError(message);
    }

    static std::string text(const Type &t) {
        std::ostringstream s;
        s << t;
        return s.str();
    }

    void descend(Stmt s) {
        for (;;) {
            if (const auto *let = s.as<LetStmt>()) {
                s = substitute(let->name, let->value, let->body);
            } else if (const auto *loop = s.as<For>()) {
                if (loop->for_type != ForType::Serial) {
                    fail("the loop " + loop->name + " is not serial; leave the loops of the product as they are");
                }
                loops_.push_back({s, loop->name, loop->min, loop->extent});
                s = loop->body;
            } else if (const auto *store = s.as<Store>()) {
                body_ = s;
                store_ = store;
                return;
            } else {
                fail(s.as<IfThenElse>()
                         ? "a condition stands in the loops of the product: split them so that no guard is needed"
                         : "the loops of the product hold more than the product: compute at them what it reads");
            }
        }
    }

    static Expr without_lets(const Expr &e) {
        return substitute_in_all_lets(e);
    }

    void read_store() {
        if (!store_->value.type().is_scalar()) {
            fail("the product is vectorized; leave its loops as they are, a tile instruction takes them whole");
        }
        c_index_ = without_lets(store_->index);
        value_ = without_lets(store_->value);
        const auto *add = value_.as<Add>();
        const Mul *mul = nullptr;
        if (add) {
            for (const auto &[sum, product] : {std::pair(add->a, add->b), std::pair(add->b, add->a)}) {
                const auto *load = sum.as<Load>();
                if (load && load->name == store_->name && is_const(simplify(load->index - c_index_), 0) &&
                    product.as<Mul>()) {
                    mul = product.as<Mul>();
                    break;
                }
            }
        }
        const Load *left = mul ? widened_load(mul->a) : nullptr, *right = mul ? widened_load(mul->b) : nullptr;
        if (!left || !right) {
            std::ostringstream s;
            s << value_;
            fail("the update is not of the form sum += cast(a) * cast(b) over stored a and b, but " + s.str());
        }
        a_ = {left, left->index};
        b_ = {right, right->index};
    }

    // How much an index grows by a step of a loop; undefined where that is not the same at every step.
    Expr step(const Expr &index, const Loop &loop) const {
        const Expr v = Variable::make(Int(32), loop.name);
        const Expr by = simplify(substitute(loop.name, v + 1, index) - index);
        for (const auto &l : loops_) {
            if (expr_uses_var(by, l.name)) {
                return Expr();
            }
        }
        return by;
    }

    bool steps(const Expr &index, const Loop &loop, int by) const {
        const Expr s = step(index, loop);
        return s.defined() && is_const(simplify(s), by);
    }

    bool moves(const Expr &index, const Loop &loop) const {
        return !steps(index, loop, 0);
    }

    void classify() {
        // `a` is what does not move with the loop that is neighbours in `acc`.
        for (const auto &l : loops_) {
            if (steps(c_index_, l, 1) && moves(a_.index, l)) {
                std::swap(a_, b_);
            }
        }
        const Type type = store_->value.type();
        if (!function_name(type, a_.load->type, b_.load->type)) {
            fail("there is no tile instruction that multiplies " + text(a_.load->type) + " by " +
                 text(b_.load->type) + " and adds up in " + text(type) +
                 "; there are bfloat16 and float32 in float32, and uint8 or int8 by int8 in int32");
        }
        // Loops that are none of the product stand around the call, each turn of which adds to the sums.
        const int group = 4 / a_.load->type.bytes();
        std::string other;
        while (!find_roles(group)) {
            other = other.empty() ? loops_[none_].name : other;
        }
        const bool all = member_ || group == 1;
        if (!all && !other.empty()) {
            fail("the loop " + other + " is none of a product of tiles: rows of a, neighbouring columns of "
                 "packed b, groups, and " + std::to_string(group) + " members of a group");
        }
        if (!all) {
            fail("no loop runs over the " + std::to_string(group) + " members of a group: split the loop over k by " +
                 std::to_string(group) + ", and take packed weights");
        }
        join_groups();
    }

    // A loop of the sum around the groups that goes on where they end, as over blocks of keys, is one with them.
    void join_groups() {
        group_extent_ = groups_ ? loops_[*groups_].extent : Expr(1);
        while (around_ > 0 && groups_ && is_const(group_extent_)) {
            const Loop &l = loops_[around_ - 1];
            const Expr a = step(a_.index, l), b = step(b_.index, l);
            const Expr of_a = step(a_.index, loops_[*groups_]), of_b = step(b_.index, loops_[*groups_]);
            if (moves(c_index_, l) || !a.defined() || !b.defined() || !is_const_zero(simplify(a - group_extent_ * of_a)) ||
                !is_const_zero(simplify(b - group_extent_ * of_b))) {
                return;
            }
            group_extent_ = simplify(group_extent_ * l.extent);
            around_--;
        }
    }

    // What the loops inside of those around are. If one is nothing, or what a loop around it is already, there are more
    // around.
    bool find_roles(int group) {
        row_ = col_ = member_ = groups_ = std::nullopt;
        for (size_t i = around_; i < loops_.size(); i++) {
            const Loop &l = loops_[i];
            std::optional<size_t> *role = nullptr;
            const bool in_a = moves(a_.index, l), in_b = moves(b_.index, l), in_c = moves(c_index_, l);
            if (in_c && in_a && !in_b && step(c_index_, l).defined() && step(a_.index, l).defined()) {
                role = &row_;
            } else if (in_c && in_b && !in_a && steps(c_index_, l, 1) && steps(b_.index, l, group)) {
                role = &col_;
            } else if (!in_c && in_a && in_b && is_const(l.extent, group) && steps(a_.index, l, 1) &&
                       steps(b_.index, l, 1)) {
                role = &member_;
            } else if (!in_c && in_a && in_b && steps(a_.index, l, group) && step(b_.index, l).defined()) {
                role = &groups_;
            }
            if (!role || *role) {
                none_ = i;
                around_ = (role ? **role : i) + 1;
                return false;
            }
            *role = i;
        }
        return true;
    }

    Expr at_start(Expr index) const {
        for (size_t i = loops_.size(); i-- > around_;) {
            index = substitute(loops_[i].name, loops_[i].min, index);
        }
        return simplify(index);
    }

    static Expr pointer(const std::string &buffer) {
        return Variable::make(Handle(), buffer);
    }

    Expr stride(const Expr &index, const std::optional<size_t> &loop) const {
        return loop ? step(index, loops_[*loop]) : Expr(0);
    }

    Expr extent(const std::optional<size_t> &loop) const {
        return loop ? loops_[*loop].extent : Expr(1);
    }

    const std::function<void(const std::string &)> &fail_;
    Stmt body_;
    const Store *store_ = nullptr;
    std::vector<Loop> loops_;  // outermost first
    size_t around_ = 0;        // of them are around the call
    size_t none_ = 0;          // the last that was found to be no loop of the product inside of those
    Expr c_index_, value_;
    Access a_, b_;
    Expr group_extent_;
    std::optional<size_t> row_, col_, groups_, member_;  // numbers of loops
};

class HasParallel : public IRVisitor {
    using IRVisitor::visit;

    void visit(const For *op) override {
        found = found || op->is_parallel();
        IRVisitor::visit(op);
    }
    void visit(const Fork *) override {
        found = true;
    }

public:
    bool found = false;
};

class MultiplyInTiles : public IRMutator {
public:
    explicit MultiplyInTiles(std::vector<TileProduct> products)
        : products_(std::move(products)) {
    }

private:
    using IRMutator::visit;

    // A Func between its storage and the end of it.
    struct Stored {
        bool fresh = false;
        Touched written, read;
    };

    class Consumed : public IRVisitor {
        using IRVisitor::visit;

        void visit(const Allocate *op) override {
            touched_.second.own(op->name);
            IRVisitor::visit(op);
        }

        void visit(const ProducerConsumer *op) override {
            if (!op->is_producer && op->name == touched_.first) {
                op->body.accept(&touched_.second);
            } else {
                IRVisitor::visit(op);
            }
        }

        std::pair<std::string, FindTouched> touched_;

    public:
        Consumed(const std::string &func, const std::set<std::string> &own)
            : touched_(func, FindTouched(own)) {
        }
        const FindTouched &touched() const {
            return touched_.second;
        }
    };

    const TileProduct *product_of(const For *loop, int stage) const {
        for (const auto &p : products_) {
            const std::string prefix = p.func.name() + ".s" + std::to_string(stage < 0 ? p.stage : stage) + ".";
            if (loop->name.compare(0, prefix.size(), prefix) == 0) {
                return &p;
            }
        }
        return nullptr;
    }

    Stmt visit(const Allocate *op) override {
        own_.insert(op->name);
        for (const auto &p : products_) {
            if (p.func.name() == op->name) {
                Consumed consumed(op->name, own_);
                op->body.accept(&consumed);
                stored_[op->name] = {false, consumed.touched().written, consumed.touched().read};
            }
        }
        const Stmt s = IRMutator::visit(op);
        stored_.erase(op->name);
        return s;
    }

    Stmt visit(const ProducerConsumer *op) override {
        const auto stored = stored_.find(op->name);
        if (op->is_producer && stored != stored_.end()) {
            stored->second.fresh = can_be_fresh(op);
        }
        return IRMutator::visit(op);
    }

    // Whether what makes the sums 0 may leave: the product makes all of each at once.
    bool can_be_fresh(const ProducerConsumer *op) const {
        class Update : public IRVisitor {
            using IRVisitor::visit;

            void visit(const For *loop) override {
                const bool before = in_zeros_;
                if (self->product_of(loop, 1) == product && product->stage == 1) {
                    found++;
                    at_once = Nest(loop, product->fail).sums_at_once();
                    return;
                }
                in_zeros_ = before || self->product_of(loop, 0) == product;
                IRVisitor::visit(loop);
                in_zeros_ = before;
            }

            void visit(const Store *store) override {
                alone = alone && (!in_zeros_ || store->name == product->func.name());
                IRVisitor::visit(store);
            }

            bool in_zeros_ = false;

        public:
            const MultiplyInTiles *self = nullptr;
            const TileProduct *product = nullptr;
            int found = 0;
            bool at_once = false, alone = true;  // the loops that make them 0 do nothing else
        } update;
        update.self = this;
        for (const auto &p : products_) {
            if (p.func.name() == op->name && p.func.definition().values().size() == 1 &&
                is_const_zero(p.func.definition().values()[0])) {
                update.product = &p;
            }
        }
        if (update.product) {
            op->body.accept(&update);
        }
        return update.found == 1 && update.at_once && update.alone;
    }

    Stmt visit(const For *op) override {
        const TileProduct *init = product_of(op, 0), *product = product_of(op, -1);
        if (init && stored_.count(init->func.name()) && stored_[init->func.name()].fresh) {
            return Evaluate::make(0);
        }
        if (product) {
            const Stored &stored = stored_[product->func.name()];
            called_ = true;
            const Stmt call = Nest(op, product->fail).call(stored.fresh, stored.written, stored.read, task_);
            return in_task_ ? call : configured(call);
        }
        HasParallel inner;
        op->body.accept(&inner);
        if (in_task_) {
            task_.around.push_back({op->name, op->min, op->extent});
            const Stmt s = IRMutator::visit(op);
            task_.around.pop_back();
            return s;
        }
        // While it waits for a loop within, a thread may do something else.
        if (!op->is_parallel() || inner.found) {
            return IRMutator::visit(op);
        }
        called_ = false;
        in_task_ = true;
        task_.writes = accesses_of(op->body).stored;
        const Stmt body = mutate(op->body);
        in_task_ = false;
        task_ = {};
        return called_ ? For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api,
                                   configured(body))
                       : Stmt(op);
    }

    Stmt visit(const LetStmt *op) override {
        if (!in_task_) {
            return IRMutator::visit(op);
        }
        task_.around.push_back({op->name, op->value, Expr()});
        const Stmt s = IRMutator::visit(op);
        task_.around.pop_back();
        return s;
    }

    // What it guards in the next turn of a loop may not be there.
    Stmt visit(const IfThenElse *op) override {
        if (!in_task_) {
            return IRMutator::visit(op);
        }
        task_.around.push_back({"", op->condition, Expr()});
        const Stmt s = IRMutator::visit(op);
        task_.around.pop_back();
        return s;
    }

    static Stmt configured(const Stmt &s) {
        const auto call = [](const char *name) { return Evaluate::make(Call::make(Int(32), name, {}, Call::Extern)); };
        return Block::make({call("halyard_mma_begin"), s, call("halyard_mma_end")});
    }

    std::vector<TileProduct> products_;
    std::map<std::string, Stored> stored_;
    std::set<std::string> own_;  // what is allocated, not the caller's
    bool in_task_ = false, called_ = false;
    Task task_;
};

}  // namespace

std::unique_ptr<IRMutator> multiply_in_tiles(std::vector<TileProduct> products) {
    return std::make_unique<MultiplyInTiles>(std::move(products));
}

}  // namespace halyard
