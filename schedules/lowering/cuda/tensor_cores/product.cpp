#include "lowering/cuda/tensor_cores/product.h"

#include <algorithm>
#include <optional>

#include "lowering/contraction.h"
#include "lowering/cuda/tensor_cores/coordinates.h"
#include "lowering/cuda/tensor_cores/polynomial.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"
#include "lowering/cuda/tensor_cores/zero_outside.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kOperandDepth = "operand_depth";

namespace {

class ReadProduct {
public:
    ReadProduct(const Stmt &nest, const Lets &lets, const CoordinatesOf &coordinates_of,
                const std::function<void(const std::string &)> &fail)
        : coordinates_of_(coordinates_of), fail_(fail) {
        descend(nest, lets);
        for (const auto &l : loops_) {
            names_.push_back(l.name);
        }
        const Expr index = full(store_->index, lets), value = full(store_->value, lets);
        read_accumulator(without_clamps(index, names_));
        const auto update = contraction(value, [&](const Expr &sum) {
            const auto *load = sum.as<Load>();
            return load && load->name == store_->name;
        });
        if (!update || update->converted) {
            fail("is no sum of products: the update has to be sum += cast(a) * cast(b)");
        }
        const Operand x = operand(update->a), y = operand(update->b);
        const bool x_has_rows = !moves_with(update->a, col_);
        tile_.a = x_has_rows ? x : y;
        tile_.b = x_has_rows ? y : x;
        find_dimensions(tile_.a, rows_);
        find_dimensions(tile_.b, {col_});
    }

    TileOfProduct result() const {
        return tile_;
    }

private:
    struct Loop {
        std::string name;
        int extent = 0;
        Expr left;           // of the loop that was split: so many turns from here on, at most the extent
        int64_t factor = 0;  // in the index of the sums
    };

    [[noreturn]] void fail(const std::string &message) const {
        fail_(message);
        throw CompileError(message);
    }

    void descend(Stmt s, const Lets &lets) {
        for (;;) {
            if (const auto *let = s.as<LetStmt>()) {
                inner_.emplace_back(let->name, let->value);
                s = let->body;
            } else if (const auto *loop = s.as<For>()) {
                Expr left;
                const int extent = constant_extent(loop, lets, left);
                loops_.push_back({loop->name, extent, left});
                s = loop->body;
            } else if (const auto *store = s.as<Store>()) {
                store_ = store;
                body_ = s;
                return;
            } else {
                fail("has more in its loops than the product; split them so that no condition is needed, and compute what "
                     "it reads elsewhere");
            }
        }
    }

    // min(what is left, 64) for a loop that a split made: TMA fills up with zeros.
    int constant_extent(const For *loop, const Lets &lets, Expr &left) {
        Expr e = loop->extent;
        for (auto it = inner_.rbegin(); it != inner_.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        e = simplify(expand(e, lets));
        // A depth of 4 channels in steps of 64 is one of a channel in steps of 16 to the simplifier: min(what is left, 16) * 4.
        const auto *times = e.as<Mul>();
        const auto *factor_of_both = times && is_positive_const(times->b) ? times->a.as<Min>() : nullptr;
        if (factor_of_both) {
            e = Min::make(simplify(factor_of_both->a * times->b), simplify(factor_of_both->b * times->b));
        }
        if (const auto *m = e.as<Min>()) {
            left = as_const_int(m->a) ? m->b : m->a;
            e = as_const_int(m->a) ? m->a : m->b;
        }
        const auto c = as_const_int(e);
        if (!c || !is_const_zero(loop->min)) {
            fail("has a loop " + loop->name + " of an extent that is not known when it is compiled; split it, or bound it");
        }
        return int(*c);
    }

    Expr full(Expr e, const Lets &lets) const {
        for (auto it = inner_.rbegin(); it != inner_.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        return expand(e, lets);
    }

    void read_accumulator(const Expr &index) {
        const Linear at = linear(index);
        for (auto &l : loops_) {
            l.factor = at.factor_of(l.name);
            if (l.factor == 0) {
                depth_ = l;
            } else if (l.factor == 1) {
                col_ = l;
            } else {
                rows_.push_back(l);
            }
        }
        std::sort(rows_.begin(), rows_.end(), [](const Loop &x, const Loop &y) { return x.factor < y.factor; });
        tile_.columns = col_.extent;
        tile_.rows = 1;
        int64_t next = tile_.columns;
        bool whole = true;
        for (const auto &r : rows_) {
            whole = whole && r.factor >= next;
            next = r.factor * r.extent;
            tile_.rows *= r.extent;
            tile_.row_loops.push_back(r.extent);
            tile_.row_strides.push_back(r.factor);
        }
        if (loops_.size() != rows_.size() + 2 || depth_.name.empty() || col_.name.empty() || rows_.empty() ||
            at.terms.size() != rows_.size() + 1 || at.constant != 0 || !whole) {
            fail("has other loops than rows, columns and depth over a whole tile of sums");
        }
        tile_.accumulator = store_->name;
        tile_.sum = store_->value.type();
        tile_.depth = depth_.extent;
    }

    // x of an f32 x without the bits that TF32 has not, as cut_to_tf32() of generators/math/elements.h has it.
    static std::optional<Expr> whole_of_tf32(const Expr &e) {
        const auto *number = e.as<Reinterpret>();
        const Call *cut = number && e.type() == Float(32) ? number->value.as<Call>() : nullptr;
        const auto mask = cut && cut->is_intrinsic(Call::bitwise_and) ? as_const_uint(cut->args[1]) : std::nullopt;
        const auto *bits = mask ? cut->args[0].as<Reinterpret>() : nullptr;
        if (!bits || *mask != 0xffffe000 || bits->value.type() != Float(32)) {
            return std::nullopt;
        }
        return bits->value;
    }

    // x, or a select between x and 0.
    static const Select *or_zero(const Expr &e) {
        const auto *cast = e.as<Cast>();
        const auto *select = (cast ? cast->value : e).as<Select>();
        return select && (is_const_zero(select->true_value) || is_const_zero(select->false_value)) ? select : nullptr;
    }

    static const Load *widened(const Expr &e) {
        if (const auto *select = or_zero(e)) {
            return widened(is_const_zero(select->true_value) ? select->false_value : select->true_value);
        }
        const auto *cast = e.as<Cast>();
        return cast ? cast->value.as<Load>() : e.as<Load>();
    }

    bool moves_with(const Expr &e, const Loop &l) const {
        return expr_uses_var(e, l.name);
    }

    // Its coordinates are left with the loops in them, for find_dimensions().
    Operand operand(const Expr &factor) {
        const auto whole = whole_of_tf32(factor);
        const Expr e = whole.value_or(factor);
        const Load *load = widened(e);
        if (!load) {
            fail("multiplies something that is not stored; compute the operand first, or leave it as it is in memory");
        }
        Operand o;
        o.buffer = load->name;
        o.type = load->type;
        o.tf32 = whole.has_value();
        const auto *select = or_zero(e);
        ProductLoops product = {names_, {}, depth_.name.substr(0, depth_.name.find('.', depth_.name.find('.') + 1) + 1)};
        for (const auto &r : rows_) {
            product.rows.push_back(r.name);
        }
        Expr counts = const_true();
        if (select) {
            counts = is_const_zero(select->true_value) ? !select->condition : select->condition;
            if (const auto inside = zero_outside(counts, load->index, o.buffer, product, coordinates_of_)) {
                o.origin = *inside;
                return o;
            }
        }
        if (!select && reads_edge(load->index, product)) {
            fail("reads " + o.buffer + " at its edge in place of what is outside; outside may be zeros: select(inside, " + o.buffer +
                 "(..), 0)");
        }
        const auto all = coordinates_of_(without_clamps(load->index, names_), o.buffer);
        if (!all) {
            fail("reads " + load->name +
                 " at an index that is no sum of coordinates, the first of them with a stride of 1; leave its storage in the order of "
                 "its dimensions, and its strides open");
        }
        o.origin = *all;
        if (select) {
            counts = without_clamps(counts, names_);
            o.counts = simplify(substitute(depth_.name, Variable::make(Int(32), kOperandDepth), counts));
            for (const auto &l : loops_) {
                if (expr_uses_var(o.counts, l.name)) {
                    fail("reads " + o.buffer + " under a condition that is neither on its depth alone nor on where the buffer ends");
                }
            }
        }
        return o;
    }

    void find_dimensions(Operand &o, const std::vector<Loop> &others) {
        size_t found = 0;  // of the others: neighbours in the tile are so in memory
        for (size_t d = 0; d < o.origin.size(); d++) {
            Expr &at = o.origin[d];
            const Linear c = linear(at);
            int box = 1, step = 1;
            Expr origin = at;
            const auto moves = [&](const Loop &l) {
                box = l.extent;
                origin = substitute(l.name, 0, at);
            };
            if (c.factor_of(depth_.name) == 1 && o.depth_dimension < 0) {
                o.depth_dimension = int(d);
                moves(depth_);
            } else if (found < others.size() && c.factor_of(others[found].name) >= 1) {
                o.other_dimension = found == 0 ? int(d) : o.other_dimension;
                step = int(c.factor_of(others[found].name));
                moves(others[found++]);
            }
            at = simplify(origin);
            const bool more = std::any_of(names_.begin(), names_.end(), [&](const std::string &l) { return expr_uses_var(at, l); });
            if (more || (d == 0 && step != 1)) {
                fail("reads " + o.buffer + " in another order than a tile of it");
            }
            o.box.push_back(box);
            o.step.push_back(step);
        }
        if (o.depth_dimension < 0 || found < others.size() || (o.depth_dimension != 0 && o.other_dimension != 0)) {
            fail("reads " + o.buffer + " where neighbours of its tile are not neighbours in memory");
        }
        if (depth_.left.defined()) {
            o.end = Polynomial(o.origin[size_t(o.depth_dimension)] + depth_.left).expr();
        }
    }

    const CoordinatesOf &coordinates_of_;
    const std::function<void(const std::string &)> &fail_;
    std::vector<std::pair<std::string, Expr>> inner_;
    std::vector<Loop> loops_, rows_;
    std::vector<std::string> names_;  // of loops_
    Loop col_, depth_;
    const Store *store_ = nullptr;
    Stmt body_;
    TileOfProduct tile_;
};

}  // namespace

TileOfProduct read_product(const Stmt &nest, const Lets &lets, const CoordinatesOf &coordinates_of,
                           const std::function<void(const std::string &)> &fail) {
    return ReadProduct(nest, lets, coordinates_of, fail).result();
}

}  // namespace halyard
