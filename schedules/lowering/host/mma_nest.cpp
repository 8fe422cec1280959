#include "lowering/host/mma_nest.h"

#include <sstream>
#include <utility>

#include "lowering/contraction.h"
#include "lowering/extern_call.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

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

std::string text(const Type &t) {
    std::ostringstream s;
    s << t;
    return s.str();
}

Expr pointer(const std::string &buffer) {
    return Variable::make(Handle(), buffer);
}

void append(std::vector<Expr> &to, const std::vector<Expr> &more) {
    to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

TileNest::TileNest(const Stmt &s, const std::function<void(const std::string &)> &fail) : fail_(fail) {
    descend(s);
    read_store();
    classify();
}

bool TileNest::sums_at_once() const {
    for (size_t i = 0; i < around_; i++) {
        if (!moves(c_index_, loops_[i])) {
            return false;
        }
    }
    return true;
}

std::vector<Expr> TileNest::touched_rows(const TouchedRows &touched) const {
    std::vector<Expr> args;
    for (const Touched *t : {&touched.written, &touched.read}) {
        const bool any = t->start.defined();
        args.push_back(any ? pointer(t->buffer) : reinterpret(Handle(), make_zero(UInt(64))));
        args.push_back(any ? cast<int64_t>(t->start) * t->bytes : make_zero(Int(64)));
        args.push_back(any ? cast<int64_t>(t->stride) * t->bytes : make_zero(Int(64)));
        args.push_back(any ? t->rows : Expr(0));
        args.push_back(any ? extent(col_) * t->bytes : Expr(0));
    }
    return args;
}

std::vector<Expr> TileNest::taps() const {
    std::vector<Expr> args;
    for (const size_t taps : {2, 1}) {
        const std::optional<size_t> loop = taps_ >= taps ? std::optional(around_ + lines_ + taps_ - taps) : std::nullopt;
        args.insert(args.end(), {extent(loop), stride(a_.index, loop), stride(b_.index, loop)});
    }
    return args;
}

std::vector<Expr> TileNest::lines() const {
    const std::optional<size_t> line = lines_ > 0 ? std::optional(around_) : std::nullopt;
    return {extent(line), stride(a_.index, line), stride(c_index_, line)};
}

std::optional<TileNest::Ahead> TileNest::ahead(const TouchedRows &touched, const TileTask &task, const std::string &memory,
                                               int pairs) const {
    if (around_ > 0 || a_.load->type == Float(32)) {
        return std::nullopt;
    }
    std::vector<Expr> shape = {stride(c_index_, row_), stride(a_.index, row_), stride(b_.index, groups_), group_extent_};
    append(shape, taps());
    shape = task.at_begin(shape);
    const TileTask::Turn next =
        task.following({at_start(a_.index), at_start(b_.index), extent(row_), extent(col_)}, {a_.load->name, b_.load->name});
    if (shape.empty()) {
        return std::nullopt;
    }
    const std::string name = function_name(store_->value.type(), a_.load->type, b_.load->type);
    std::vector<Expr> args = {pointer(memory),        pointer(store_->name), at_start(c_index_),
                              pointer(a_.load->name), at_start(a_.index),    pointer(b_.load->name),
                              at_start(b_.index),     extent(row_),          extent(col_)};
    append(args, lines());
    Stmt take = call_of(name + "_take", args);
    if (touched.written.start.defined() || touched.read.start.defined()) {
        std::vector<Expr> rows = {pointer(memory)};
        append(rows, touched_rows(touched));
        take = Block::make(call_of(name + "_touch", rows), take);
    }
    const std::vector<Expr> begin = {pointer(memory), cast<int>(next.there), pointer(a_.load->name), next.values[0], pointer(b_.load->name),
                                     next.values[1],  next.values[2],        next.values[3],         next.values[2], pairs};
    return Ahead{name, shape, take, call_of(name + "_begin", begin)};
}

Stmt TileNest::call(bool fresh, const TouchedRows &touched, const TileTask &task) const {
    std::vector<Expr> args = {pointer(store_->name),     at_start(c_index_),     stride(c_index_, row_), pointer(a_.load->name),
                              at_start(a_.index),        stride(a_.index, row_), pointer(b_.load->name), at_start(b_.index),
                              stride(b_.index, groups_), extent(row_),           extent(col_),           group_extent_,
                              Expr(fresh ? 1 : 0)};
    append(args, touched_rows(touched));
    append(args, taps());
    append(args, lines());
    if (a_.load->type == Float(32)) {
        for (const Access *x : {&a_, &b_}) {
            args.push_back(Expr(task.writes.count(x->load->name) ? 0 : 1));
        }
        const auto [next, calls] = task.next(at_start(b_.index), around_ == 0 ? Expr(extent(col_) + group_extent_) : Expr());
        args.push_back(next);
        args.push_back(calls);
    }
    Stmt s = call_of(function_name(store_->value.type(), a_.load->type, b_.load->type), args);
    for (size_t i = around_; i-- > 0;) {
        const auto *loop = loops_[i].whole.as<For>();
        s = For::make(loop->name, loops_[i].min, loops_[i].extent, loop->for_type, loop->partition_policy, loop->device_api, s);
    }
    return s;
}

void TileNest::fail(const std::string &message) const {
    fail_(message);
    throw CompileError(message);
}

void TileNest::descend(Stmt s) {
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
            fail(s.as<IfThenElse>() ? "a condition stands in the loops of the product: split them so that no guard is needed"
                                    : "the loops of the product hold more than the product: compute at them what it reads");
        }
    }
}

void TileNest::read_store() {
    if (!store_->value.type().is_scalar()) {
        fail("the product is vectorized; leave its loops as they are, a tile instruction takes them whole");
    }
    c_index_ = substitute_in_all_lets(store_->index);
    value_ = substitute_in_all_lets(store_->value);
    const auto update = contraction(value_, [&](const Expr &sum) {
        const auto *load = sum.as<Load>();
        return load && load->name == store_->name && is_const(simplify(load->index - c_index_), 0);
    });
    const bool product = update && !update->converted && !update->times.defined();
    const Load *left = product ? widened_load(update->a) : nullptr, *right = product ? widened_load(update->b) : nullptr;
    if (!left || !right) {
        std::ostringstream s;
        s << value_;
        fail("the update is not of the form sum += cast(a) * cast(b) over stored a and b, but " + s.str());
    }
    a_ = {left, left->index};
    b_ = {right, right->index};
}

Expr TileNest::step(const Expr &index, const Loop &loop) const {
    const Expr v = Variable::make(Int(32), loop.name);
    const Expr by = simplify(substitute(loop.name, v + 1, index) - index);
    for (const auto &l : loops_) {
        if (expr_uses_var(by, l.name)) {
            return Expr();
        }
    }
    return by;
}

bool TileNest::steps(const Expr &index, const Loop &loop, int by) const {
    const Expr s = step(index, loop);
    return s.defined() && is_const(simplify(s), by);
}

bool TileNest::moves(const Expr &index, const Loop &loop) const {
    return !steps(index, loop, 0);
}

void TileNest::classify() {
    // `a` is what does not move with the loop that is neighbours in `acc`.
    for (const auto &l : loops_) {
        if (steps(c_index_, l, 1) && moves(a_.index, l)) {
            std::swap(a_, b_);
        }
    }
    const Type type = store_->value.type();
    if (!function_name(type, a_.load->type, b_.load->type)) {
        fail("there is no tile instruction that multiplies " + text(a_.load->type) + " by " + text(b_.load->type) + " and adds up in " +
             text(type) + "; there are bfloat16 and float32 in float32, and uint8 or int8 by int8 in int32");
    }
    // Loops that are none of the product stand around the call, each turn of which adds to the sums.
    const int group = 4 / a_.load->type.bytes();
    std::string other;
    while (!find_roles(group)) {
        other = other.empty() ? loops_[none_].name : other;
    }
    const bool all = member_ || group == 1;
    if (!all && !other.empty()) {
        fail("the loop " + other +
             " is none of a product of tiles: rows of a, neighbouring columns of "
             "packed b, groups, and " +
             std::to_string(group) + " members of a group");
    }
    if (!all) {
        fail("no loop runs over the " + std::to_string(group) + " members of a group: split the loop over k by " + std::to_string(group) +
             ", and take packed weights");
    }
    join_groups();
    take_taps();
}

bool TileNest::bounds_depend_on(const Loop &l, size_t first) const {
    for (size_t i = first; i < loops_.size(); i++) {
        if (expr_uses_var(loops_[i].min, l.name) || expr_uses_var(loops_[i].extent, l.name)) {
            return true;
        }
    }
    return false;
}

void TileNest::take_lines() {
    // Rows of float32 are taken apart once, and known by where they begin.
    if (a_.load->type == Float(32) || around_ == 0 || !row_) {
        return;
    }
    const Loop &l = loops_[around_ - 1];
    for (size_t i = 0; i + 1 < around_; i++) {
        if (moves(c_index_, loops_[i]) && !is_const_one(loops_[i].extent)) {
            return;  // its sums may lie between
        }
    }
    if (step(c_index_, l).defined() && step(a_.index, l).defined() && !moves(b_.index, l) && moves(c_index_, l) &&
        !bounds_depend_on(l, around_)) {
        around_--;
        lines_ = 1;
    }
}

void TileNest::take_taps() {
    // Parts of float32 are made of what one loop passes.
    while (a_.load->type != Float(32) && around_ > 0 && taps_ < 2) {
        const Loop &l = loops_[around_ - 1];
        if (moves(c_index_, l) || !step(a_.index, l).defined() || !step(b_.index, l).defined() || bounds_depend_on(l, around_)) {
            return;
        }
        around_--;
        taps_++;
    }
}

void TileNest::join_groups() {
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

bool TileNest::find_roles(int group) {
    row_ = col_ = member_ = groups_ = std::nullopt;
    for (size_t i = around_; i < loops_.size(); i++) {
        const Loop &l = loops_[i];
        std::optional<size_t> *role = nullptr;
        const bool in_a = moves(a_.index, l), in_b = moves(b_.index, l), in_c = moves(c_index_, l);
        if (in_c && in_a && !in_b && step(c_index_, l).defined() && step(a_.index, l).defined()) {
            role = &row_;
        } else if (in_c && in_b && !in_a && steps(c_index_, l, 1) && steps(b_.index, l, group)) {
            role = &col_;
        } else if (!in_c && in_a && in_b && is_const(l.extent, group) && steps(a_.index, l, 1) && steps(b_.index, l, 1)) {
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

Expr TileNest::at_start(Expr index) const {
    for (size_t i = loops_.size(); i-- > around_;) {
        index = substitute(loops_[i].name, loops_[i].min, index);
    }
    return simplify(index);
}

Expr TileNest::stride(const Expr &index, const std::optional<size_t> &loop) const {
    return loop ? step(index, loops_[*loop]) : Expr(0);
}

Expr TileNest::extent(const std::optional<size_t> &loop) const {
    return loop ? loops_[*loop].extent : Expr(1);
}

}  // namespace halyard
