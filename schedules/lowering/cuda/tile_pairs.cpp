#include "tile_pairs.h"

#include <algorithm>

#include "linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kRow = "fragment_row", *const kCol = "fragment_col", *const kElement = "fragment_element";

namespace {

class ReadPair {
public:
    ReadPair(const Stmt &nest, const std::vector<TileOfProduct> &tiles,
             const std::function<void(const std::string &)> &fail)
        : tiles_(tiles),
          fail_(fail) {
        walk(nest);
    }

    Pair pair;

private:
    struct Loop {
        std::string name;
        Expr extent;
    };

    void walk(Stmt s) {
        for (;;) {
            if (const auto *let = s.as<LetStmt>()) {
                s = substitute(let->name, let->value, let->body);
            } else if (const auto *loop = s.as<For>()) {
                if (!is_const_zero(loop->min)) {
                    fail_("has a loop " + loop->name + " that does not begin at 0");
                }
                loops_.push_back({loop->name, loop->extent});
                s = loop->body;
            } else if (const auto *store = s.as<Store>()) {
                read(store);
                return;
            } else {
                fail_(
                    "stands in one kernel with something else than loops over its tile that store one value; compute that elsewhere");
                return;
            }
        }
    }

    void read(const Store *store) {
        if (loops_.size() != 2) {
            fail_("stands in one kernel with loops that are not over its rows and columns");
        }
        // The inner loop is over columns: the schedule's order is that of memory.
        const Loop &row = loops_[0], &col = loops_[1];
        pair.stored = store->name;
        pair.row_extent = row.extent;
        pair.col_extent = col.extent;
        row_ = row.name;
        col_ = col.name;
        pair.index = two(store->index);
        pair.value = two(store->value);
    }

    // For columns col and col + 1.
    Expr two(const Expr &e) {
        const Expr row = Variable::make(Int(32), kRow), col = Variable::make(Int(32), kCol);
        const Stmt loop = For::make(
            "fragment_lane", 0, 2, ForType::Vectorized, Partition::Never, DeviceAPI::None,
            Evaluate::make(substitute({{row_, row}, {col_, col + Variable::make(Int(32), "fragment_lane")}}, own(e))));
        const Stmt vector = simplify(vectorize_loops(loop, {}));
        const auto *evaluate = vector.as<Evaluate>();
        if (!evaluate) {
            fail_("has a value that cannot be computed two columns at a time");
            return e;
        }
        return evaluate->value.type().is_scalar() ? Broadcast::make(evaluate->value, 2) : evaluate->value;
    }

    // Sums of the tile become elements of the thread's own; by the column, as vectorising has to see it.
    Expr own(const Expr &e) {
        class Own : public IRMutator {
            using IRMutator::visit;
            Expr visit(const Load *op) override {
                const auto tile = std::find_if(tiles.begin(), tiles.end(),
                                               [&](const TileOfProduct &t) { return t.accumulator == op->name; });
                if (tile == tiles.end()) {
                    return IRMutator::visit(op);
                }
                const Linear at = linear(op->index);
                if (at.terms.size() != 2 || at.constant != 0 || at.factor_of(row) != tile->columns ||
                    at.factor_of(col) != 1) {
                    fail("is read elsewhere than where it was summed up; read one sum for each element of the tile");
                }
                const Expr lane = Variable::make(Int(32), col) - Variable::make(Int(32), kCol);
                return Load::make(op->type, op->name, Variable::make(Int(32), kElement) + lane, Buffer<>(), Parameter(),
                                  const_true(), ModulusRemainder());
            }

        public:
            Own(const std::vector<TileOfProduct> &tiles, const std::string &row, const std::string &col,
                const std::function<void(const std::string &)> &fail)
                : tiles(tiles),
                  row(row),
                  col(col),
                  fail(fail) {
            }
            const std::vector<TileOfProduct> &tiles;
            const std::string &row, &col;
            const std::function<void(const std::string &)> &fail;
        };
        return Own(tiles_, row_, col_, fail_).mutate(substitute_in_all_lets(e));
    }

    const std::vector<TileOfProduct> &tiles_;
    const std::function<void(const std::string &)> &fail_;
    std::vector<Loop> loops_;
    std::string row_, col_;
};

// Loads of device memory only where the tile is inside: at its end there is nothing.
class PredicateLoads : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        if (accumulators.count(op->name)) {
            return IRMutator::visit(op);
        }
        const Expr row = Variable::make(Int(32), kRow), col = Variable::make(Int(32), kCol);
        const int n = op->type.lanes();
        Expr inside = const_true(n);
        if (expr_uses_var(op->index, kCol)) {
            inside =
                (n > 1 ? Ramp::make(col, 1, n) : col) < (n > 1 ? Broadcast::make(pair.col_extent, n) : pair.col_extent);
        }
        if (expr_uses_var(op->index, kRow)) {
            const Expr in_rows = row < pair.row_extent;
            inside = simplify(inside && (n > 1 ? Broadcast::make(in_rows, n) : in_rows));
        }
        return Load::make(op->type, op->name, mutate(op->index), op->image, op->param, inside, ModulusRemainder());
    }

    const Pair &pair;
    const std::set<std::string> &accumulators;

public:
    PredicateLoads(const Pair &pair, const std::set<std::string> &accumulators)
        : pair(pair),
          accumulators(accumulators) {
    }
};

}  // namespace

Pair read_pair(const Stmt &nest, const std::vector<TileOfProduct> &tiles,
               const std::function<void(const std::string &)> &fail) {
    return ReadPair(nest, tiles, fail).pair;
}

Expr loaded_inside(const Pair &pair, const std::set<std::string> &accumulators) {
    return PredicateLoads(pair, accumulators).mutate(pair.value);
}

}  // namespace halyard
