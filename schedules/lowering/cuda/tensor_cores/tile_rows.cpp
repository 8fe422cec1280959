#include "lowering/cuda/tensor_cores/tile_rows.h"

#include <algorithm>

#include "lowering/accesses.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

Expr int_variable(const std::string &name) {
    return Variable::make(Int(32), name);
}

class ReadRows {
public:
    ReadRows(const std::vector<TileOfProduct> &tiles, const std::set<std::string> &numbers,
             const std::function<void(const std::string &)> &fail)
        : tiles_(tiles), numbers_(numbers), fail_(fail) {}

    std::vector<FusedNest> read(Stmt s) {
        std::vector<const For *> loops;
        for (;;) {
            if (const auto *let = s.as<LetStmt>()) {
                s = substitute(let->name, let->value, let->body);
            } else if (const auto *branch = s.as<IfThenElse>(); branch && loops.empty() && !branch->else_case.defined()) {
                nest_.counts = substitute_in_all_lets(branch->condition);
                s = branch->then_case;
            } else if (const auto *loop = s.as<For>(); loop && is_const_zero(loop->min)) {
                loops.push_back(loop);
                kept_.emplace_back(loop);
                s = loop->body;
            } else {
                break;
            }
        }
        if (loops.empty() || loops.size() > 2 || tiles_.front().row_loops.size() != 1) {
            fail("stands in one kernel with a reduction whose loops are not rows, or rows around columns, from 0 on");
        }
        nest_.kind = loops.size() == 1 ? FusedNest::kRows : FusedNest::kReduction;
        if (nest_.counts.defined() && nest_.kind != FusedNest::kReduction) {
            fail("stands in one kernel with numbers of rows that change only in some blocks, and are no reduction");
        }
        nest_.row_extent = loops[0]->extent;
        places_[loops[0]->name] = int_variable(kChainRow);
        if (loops.size() == 2) {
            take_columns(*loops[1], s);
            nest_.columns = tiles_.front().columns;
            nest_.column_extent = nest_.columns;
        }
        stores(s);
        return ends_.assignments.empty() ? std::vector<FusedNest>{nest_} : std::vector<FusedNest>{ends_, nest_};
    }

private:
    [[noreturn]] void fail(const std::string &message) const {
        fail_(message);
        throw CompileError(message);
    }

    // The loop over columns may begin elsewhere than at the tile's first, and end elsewhere: Halide leaves out what changes nothing,
    // as all but the label's column where its logit is summed up. Then a condition says which count, by two numbers of the row.
    void take_columns(const For &loop, const Stmt &body) {
        const TileOfProduct &tile = tiles_.front();
        const Expr row = int_variable(kChainRow), extent = simplify(substitute(places_, substitute_in_all_lets(loop.extent)));
        if (is_const(extent, tile.columns)) {
            places_[loop.name] = int_variable(kChainColumn);
            return;
        }
        Expr first;
        class FindSum : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *op) override {
                for (const auto &t : tiles) {
                    at = t.accumulator == op->name ? op->index : at;
                }
                IRVisitor::visit(op);
            }

        public:
            explicit FindSum(const std::vector<TileOfProduct> &tiles) : tiles(tiles) {}
            const std::vector<TileOfProduct> &tiles;
            Expr at;
        } find(tiles_);
        body.accept(&find);
        if (find.at.defined()) {
            first = simplify(substitute(places_, substitute_in_all_lets(find.at)) - row * tile.columns - int_variable(loop.name));
        }
        if (!first.defined() || expr_uses_var(first, loop.name)) {
            fail("stands in one kernel with a reduction over other columns than those of its tile");
        }
        places_[loop.name] = int_variable(kChainColumn) - first;
        first_ = first;
        end_ = simplify(first + extent);
        at_column_ = substitute(places_, substitute_in_all_lets(find.at));
    }

    void stores(const Stmt &s) {
        if (const auto *block = s.as<Block>()) {
            stores(block->first);
            stores(block->rest);
            return;
        }
        const auto *store = s.as<Store>();
        if (!store) {
            fail("stands in one kernel with loops over its rows that do more than to store values");
        }
        const Expr index = substitute(places_, store->index);
        Expr value = substitute(places_, substitute_in_all_lets(store->value));
        const bool number = numbers_.count(store->name) > 0;
        if (number ? !is_row(index) : nest_.kind != FusedNest::kRows) {
            fail("stands in one kernel with " + store->name +
                 ", which is neither a number of a row nor stored row by row; compute it elsewhere");
        }
        if (nest_.kind == FusedNest::kReduction) {
            value = without_itself(store->name, value);
            if (first_.defined()) {
                value = select(counts(store->name), value, nest_.neutral(value.type()));
            }
        }
        nest_.assignments.push_back({store->name, held(value), number ? Expr() : index});
    }

    // The bounds are found once a row. For each element anew, they would take a large part of the time of a cross-entropy.
    Expr counts(const std::string &name) {
        ends_.kind = FusedNest::kRows;
        ends_.row_extent = nest_.row_extent;
        const auto number = [&](const std::string &of_row, const Expr &value) {
            ends_.assignments.push_back({of_row, value, Expr()});
            return Load::make(Int(32), of_row, int_variable(kChainHeldRow), Buffer<>(), Parameter(), const_true(), ModulusRemainder());
        };
        const Expr first = number(name + ".first", first_), end = number(name + ".end", end_);
        return int_variable(kChainColumn) >= first && int_variable(kChainColumn) < end;
    }

    static bool is_row(const Expr &index) {
        const auto *v = simplify(index).as<Variable>();
        return v && v->name == kChainRow;
    }

    // sum + x, or max(sum, x): x.
    Expr without_itself(const std::string &name, const Expr &value) {
        const auto other = [&](const Expr &a, const Expr &b) {
            const auto *x = a.as<Load>(), *y = b.as<Load>();
            return x && x->name == name ? b : y && y->name == name ? a : Expr();
        };
        Expr rest;
        if (const auto *add = value.as<Add>()) {
            nest_.reduction = FusedNest::kSum;
            rest = other(add->a, add->b);
        } else if (const auto *m = value.as<Max>()) {
            nest_.reduction = FusedNest::kMax;
            rest = other(m->a, m->b);
        } else if (const auto *m = value.as<Min>()) {
            nest_.reduction = FusedNest::kMin;
            rest = other(m->a, m->b);
        }
        if (!rest.defined()) {
            fail("stands in one kernel with a reduction of " + name + " that is no sum, minimum or maximum");
        }
        return rest;
    }

    // Sums and numbers of rows by what a thread has of them.
    Expr held(const Expr &e) {
        class Held : public IRMutator {
            using IRMutator::visit;
            Expr visit(const Load *op) override {
                const auto &tiles = reader.tiles_;
                const bool sum = std::any_of(tiles.begin(), tiles.end(), [&](const TileOfProduct &t) { return t.accumulator == op->name; });
                if (!sum && !reader.numbers_.count(op->name)) {
                    return IRMutator::visit(op);
                }
                const Expr place = int_variable(kChainRow) * tiles.front().columns + int_variable(kChainColumn);
                const auto is_place = [&] {
                    return (reader.at_column_.defined() && equal(op->index, reader.at_column_)) ||
                           is_const_zero(simplify(op->index - place));
                };
                if (sum ? !is_place() : !is_row(op->index)) {
                    reader.fail("stands in one kernel with something that reads " + op->name + " elsewhere than in its own row and column");
                }
                return Load::make(op->type, op->name, int_variable(sum ? kChainElement : kChainHeldRow), Buffer<>(), Parameter(),
                                  const_true(), ModulusRemainder());
            }

        public:
            explicit Held(ReadRows &reader) : reader(reader) {}
            ReadRows &reader;
        };
        return Held(*this).mutate(e);
    }

    const std::vector<TileOfProduct> &tiles_;
    const std::set<std::string> &numbers_;
    const std::function<void(const std::string &)> &fail_;
    std::vector<Stmt> kept_;
    std::map<std::string, Expr> places_;
    Expr first_, end_, at_column_;  // of a reduction, the columns that count, and where a sum then is; undefined: all
    FusedNest nest_, ends_;         // and what gives the two as numbers of each row
};

// Of a condition on the column, and on what a whole block has in common, which may be read.
bool is_of_columns(const Expr &condition) {
    class FindLoads : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *op) override {
            for (const char *place : {kChainColumn, kChainElement, kChainHeldRow}) {
                moves = moves || expr_uses_var(op->index, place);
            }
            IRVisitor::visit(op);
        }

    public:
        bool moves = false;
    } loads;
    condition.accept(&loads);
    return !loads.moves && expr_uses_var(condition, kChainColumn) && !expr_uses_var(condition, kChainRow);
}

}  // namespace

bool is_of_rows(const Stmt &nest, const std::set<std::string> &numbers) {
    const Accesses all = accesses_of(nest);
    return meet(all.loaded, numbers) || meet(all.stored, numbers);
}

std::vector<FusedNest> read_rows(const Stmt &nest, const std::vector<TileOfProduct> &tiles, const std::set<std::string> &numbers,
                                 const std::function<void(const std::string &)> &fail) {
    return ReadRows(tiles, numbers, fail).read(nest);
}

std::vector<FusedNest> of_whole_tile(std::vector<FusedNest> nests, Expr *whole) {
    class Whole : public IRMutator {
        using IRMutator::visit;

        Expr visit(const Select *op) override {
            const bool first = is_const(op->false_value), usual = first || is_const(op->true_value);
            if (!usual || !is_of_columns(op->condition)) {
                return IRMutator::visit(op);
            }
            Scope<Interval> tile;
            tile.push(kChainColumn, Interval(0, columns - 1));
            const Expr all = simplify(and_condition_over_domain(simplify(first ? op->condition : !op->condition), tile));
            if (is_const_zero(all)) {
                return IRMutator::visit(op);
            }
            whole = whole.defined() && !equal(whole, all) ? whole && all : all;
            return mutate(first ? op->true_value : op->false_value);
        }

        const int columns;
        Expr &whole;

    public:
        Whole(int columns, Expr &whole) : columns(columns), whole(whole) {}
    };
    for (auto &n : nests) {
        for (auto &a : n.assignments) {
            a.value = Whole(n.columns, *whole).mutate(a.value);
        }
    }
    return nests;
}

}  // namespace halyard
