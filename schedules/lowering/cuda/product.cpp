#include "product.h"

#include <optional>

#include "coordinates.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kOperandDepth = "operand_depth";

namespace {

class ReadProduct {
public:
    ReadProduct(const Stmt &nest, const Lets &lets, const CoordinatesOf &coordinates_of,
                const std::function<void(const std::string &)> &fail)
        : coordinates_of_(coordinates_of),
          fail_(fail) {
        descend(nest, lets);
        const Expr index = full(store_->index, lets), value = full(store_->value, lets);
        read_accumulator(index);
        const auto *add = value.as<Add>();
        const Mul *mul = add ? add->b.as<Mul>() : nullptr;
        const auto *sum = add ? add->a.as<Load>() : nullptr;
        if (add && (!mul || !sum || sum->name != store_->name)) {
            mul = add->a.as<Mul>();
            sum = add->b.as<Load>();
        }
        if (!mul || !sum || sum->name != store_->name) {
            fail("is no sum of products: the update has to be sum += cast(a) * cast(b)");
        }
        Operand x = operand(mul->a), y = operand(mul->b);
        const bool x_has_rows = moves_with(mul->a, row_);
        tile_.a = x_has_rows ? x : y;
        tile_.b = x_has_rows ? y : x;
        find_dimensions(tile_.a, x_has_rows ? mul->a : mul->b, row_);
        find_dimensions(tile_.b, x_has_rows ? mul->b : mul->a, col_);
    }

    TileOfProduct result() const {
        return tile_;
    }

private:
    struct Loop {
        std::string name;
        int extent = 0;
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
                loops_.push_back({loop->name, constant_extent(loop, lets)});
                s = loop->body;
            } else if (const auto *store = s.as<Store>()) {
                store_ = store;
                body_ = s;
                return;
            } else {
                fail(
                    "has more in its loops than the product; split them so that no condition is needed, and compute what "
                    "it reads elsewhere");
            }
        }
    }

    // min(what is left, 64) for a loop that a split made: the copy engine fills up with zeros.
    int constant_extent(const For *loop, const Lets &lets) {
        Expr e = loop->extent;
        for (auto it = inner_.rbegin(); it != inner_.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        e = simplify(expand(e, lets));
        if (const auto *m = e.as<Min>()) {
            e = as_const_int(m->a) ? m->a : m->b;
        }
        const auto c = as_const_int(e);
        if (!c || !is_const_zero(loop->min)) {
            fail("has a loop " + loop->name +
                 " of an extent that is not known when it is compiled; split it, or bound it");
        }
        return int(*c);
    }

    Expr full(Expr e, const Lets &lets) const {
        for (auto it = inner_.rbegin(); it != inner_.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        e = expand(e, lets);
        std::vector<std::string> names;
        for (const auto &l : loops_) {
            names.push_back(l.name);
        }
        return without_clamps(e, names);
    }

    void read_accumulator(const Expr &index) {
        const Linear at = linear(index);
        for (const auto &l : loops_) {
            const int64_t by = at.factor_of(l.name);
            if (by == 0) {
                depth_ = l;
            } else if (by == 1) {
                col_ = l;
            } else {
                row_ = l;
                tile_.columns = int(by);
            }
        }
        if (loops_.size() != 3 || depth_.name.empty() || col_.name.empty() || row_.name.empty() ||
            at.terms.size() != 2 || at.constant != 0 || tile_.columns != col_.extent) {
            fail("has other loops than rows, columns and depth over a whole tile of sums");
        }
        tile_.accumulator = store_->name;
        tile_.sum = store_->value.type();
        tile_.rows = row_.extent;
        tile_.depth = depth_.extent;
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

    Operand operand(const Expr &e) {
        const Load *load = widened(e);
        if (!load) {
            fail("multiplies something that is not stored; compute the operand first, or leave it as it is in memory");
        }
        Operand o;
        o.buffer = load->name;
        o.type = load->type;
        const auto all = coordinates_of_(load->index, load->name);
        if (!all) {
            fail("reads " + load->name + " at an index that is no sum of coordinates");
        }
        for (Expr c : *all) {
            for (const auto &l : loops_) {
                c = substitute(l.name, 0, c);
            }
            o.origin.push_back(simplify(c));
        }
        if (const auto *select = or_zero(e)) {
            const Expr counts = is_const_zero(select->true_value) ? !select->condition : select->condition;
            o.counts = simplify(substitute(depth_.name, Variable::make(Int(32), kOperandDepth), counts));
            for (const auto &l : loops_) {
                if (expr_uses_var(o.counts, l.name)) {
                    fail("reads " + o.buffer + " under a condition on more than its depth");
                }
            }
        }
        return o;
    }

    void find_dimensions(Operand &o, const Expr &e, const Loop &other) {
        const Load *load = widened(e);
        const auto all = *coordinates_of_(load->index, load->name);
        for (size_t d = 0; d < all.size(); d++) {
            const Linear c = linear(all[d]);
            if (c.factor_of(depth_.name) == 1 && o.depth_dimension < 0) {
                o.depth_dimension = int(d);
            } else if (c.factor_of(other.name) == 1 && o.other_dimension < 0) {
                o.other_dimension = int(d);
            } else if (expr_uses_var(all[d], depth_.name) || expr_uses_var(all[d], other.name)) {
                fail("reads " + o.buffer + " in another order than a tile of it");
            }
        }
        if (o.depth_dimension < 0 || o.other_dimension < 0 || (o.depth_dimension != 0 && o.other_dimension != 0)) {
            fail("reads " + o.buffer + " where neighbours of its tile are not neighbours in memory");
        }
    }

    const CoordinatesOf &coordinates_of_;
    const std::function<void(const std::string &)> &fail_;
    std::vector<std::pair<std::string, Expr>> inner_;
    std::vector<Loop> loops_;
    Loop row_, col_, depth_;
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
