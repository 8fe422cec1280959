#include "lowering/cuda/tensor_cores/tile_pairs.h"

#include <algorithm>

#include "lowering/cuda/simt/linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kRow = "fragment_row", *const kCol = "fragment_col", *const kElement = "fragment_element";

namespace {

class ReadPair {
public:
    ReadPair(const Stmt &nest, const std::vector<TileOfProduct> &tiles, const std::function<void(const std::string &)> &fail)
        : tiles_(tiles), fail_(fail) {
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
                fail_("stands in one kernel with something else than loops over its tile that store one value; compute that elsewhere");
                return;
            }
        }
    }

    void read(const Store *store) {
        // The inner loop is over columns: the schedule's order is that of memory.
        pair.stored = store->name;
        if (!loops_.empty()) {
            pair.col_extent = loops_.back().extent;
            col_ = loops_.back().name;
            loops_.pop_back();
        }
        const TileOfProduct &tile = tiles_.front();
        const Linear sum = sum_ = sum_of(store);
        size_t found = 0;
        for (size_t i = 0; i < tile.row_loops.size(); i++) {
            PairRows rows = {row_name(tile, i), tile.row_loops[i], 1};  // a loop of one is not there
            for (const auto &l : loops_) {
                if (sum.factor_of(l.name) == tile.row_strides[i]) {
                    rows.inside = l.extent;
                    row_[l.name] = Variable::make(Int(32), rows.name);
                    found++;
                }
            }
            pair.rows.push_back(rows);
        }
        if (found != loops_.size() || sum.factor_of(col_) != 1 || sum.terms.size() != found + 1 || sum.constant != 0) {
            fail_("stands in one kernel with loops that are not over its rows and columns");
        }
        pair.index = two(store->index);
        pair.value = two(store->value);
    }

    // Where in the tile the sum stands that is stored or read; without one, loops over rows are in their order.
    Linear sum_of(const Store *store) const {
        class FindSum : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *op) override {
                look(op->name, op->index);
                IRVisitor::visit(op);
            }

        public:
            explicit FindSum(const std::vector<TileOfProduct> &tiles) : tiles(tiles) {}
            void look(const std::string &name, const Expr &index) {
                for (const auto &t : tiles) {
                    at = !at.defined() && t.accumulator == name ? index : at;
                }
            }
            const std::vector<TileOfProduct> &tiles;
            Expr at;
        };
        FindSum find(tiles_);
        find.look(store->name, store->index);
        substitute_in_all_lets(store->value).accept(&find);
        if (find.at.defined()) {
            return linear(find.at);
        }
        Linear in_order;
        in_order.terms.push_back({Variable::make(Int(32), col_), 1});
        const auto &strides = tiles_.front().row_strides;
        for (size_t i = 0; i < loops_.size() && i < strides.size(); i++) {
            in_order.terms.push_back({Variable::make(Int(32), loops_[loops_.size() - 1 - i].name), strides[i]});
        }
        return in_order;
    }

    // For columns col and col + 1.
    Expr two(const Expr &e) {
        std::map<std::string, Expr> places = row_;
        places[col_] = Variable::make(Int(32), kCol) + Variable::make(Int(32), "fragment_lane");
        const Stmt loop = For::make("fragment_lane", 0, 2, ForType::Vectorized, Partition::Never, DeviceAPI::None,
                                    Evaluate::make(substitute(places, own(e))));
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
                const auto tile =
                    std::find_if(tiles.begin(), tiles.end(), [&](const TileOfProduct &t) { return t.accumulator == op->name; });
                if (tile == tiles.end()) {
                    return IRMutator::visit(op);
                }
                if (!is_const_zero(simplify(op->index - sum))) {
                    fail("is read elsewhere than where it was summed up; read one sum for each element of the tile");
                }
                const Expr lane = Variable::make(Int(32), col) - Variable::make(Int(32), kCol);
                return Load::make(op->type, op->name, Variable::make(Int(32), kElement) + lane, Buffer<>(), Parameter(), const_true(),
                                  ModulusRemainder());
            }

        public:
            Own(const std::vector<TileOfProduct> &tiles, Expr sum, const std::string &col,
                const std::function<void(const std::string &)> &fail)
                : tiles(tiles), sum(std::move(sum)), col(col), fail(fail) {}
            const std::vector<TileOfProduct> &tiles;
            const Expr sum;
            const std::string &col;
            const std::function<void(const std::string &)> &fail;
        };
        return Own(tiles_, sum_.expr(), col_, fail_).mutate(substitute_in_all_lets(e));
    }

    const std::vector<TileOfProduct> &tiles_;
    const std::function<void(const std::string &)> &fail_;
    std::vector<Loop> loops_;  // but for that over columns, when all are found
    Linear sum_;               // the place in the tile, by the loops
    std::map<std::string, Expr> row_;
    std::string col_;
};

// Loads of device memory only where the tile is inside: at its end there is nothing.
class PredicateTileLoads : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        if (accumulators.count(op->name)) {
            return IRMutator::visit(op);
        }
        const Expr col = Variable::make(Int(32), kCol);
        const int n = op->type.lanes();
        Expr inside = const_true(n);
        if (expr_uses_var(op->index, kCol)) {
            inside = (n > 1 ? Ramp::make(col, 1, n) : col) < (n > 1 ? Broadcast::make(pair.col_extent, n) : pair.col_extent);
        }
        for (const auto &r : pair.rows) {
            if (expr_uses_var(op->index, r.name)) {
                const Expr in_rows = Variable::make(Int(32), r.name) < r.inside;
                inside = simplify(inside && (n > 1 ? Broadcast::make(in_rows, n) : in_rows));
            }
        }
        return Load::make(op->type, op->name, mutate(op->index), op->image, op->param, inside, ModulusRemainder());
    }

    const Pair &pair;
    const std::set<std::string> &accumulators;

public:
    PredicateTileLoads(const Pair &pair, const std::set<std::string> &accumulators) : pair(pair), accumulators(accumulators) {}
};

}  // namespace

std::string row_name(const TileOfProduct &tile, size_t loop) {
    return tile.row_loops.size() == 1 ? kRow : kRow + ("_" + std::to_string(loop));
}

Expr Pair::row_is_inside() const {
    Expr e = const_true();
    for (const auto &r : rows) {
        e = e && Variable::make(Int(32), r.name) < r.inside;
    }
    return simplify(e);
}

// One comparison of products, since no factor is larger than its extent. Of two comparisons ptxas 13.0 makes predicates of the
// minima before them (VIMNMX), and whole tiles seem to take the other, slower branch.
Expr Pair::is_whole(int columns) const {
    Expr inside = col_extent;
    int whole = columns;
    for (const auto &r : rows) {
        inside = inside * r.inside;
        whole *= r.extent;
    }
    return simplify(inside == whole);
}

Pair read_pair(const Stmt &nest, const std::vector<TileOfProduct> &tiles, const std::function<void(const std::string &)> &fail) {
    return ReadPair(nest, tiles, fail).pair;
}

Expr loaded_inside(const Pair &pair, const std::set<std::string> &accumulators) {
    return PredicateTileLoads(pair, accumulators).mutate(pair.value);
}

}  // namespace halyard
