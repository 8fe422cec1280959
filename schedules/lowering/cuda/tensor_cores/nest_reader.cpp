#include "lowering/cuda/tensor_cores/nest_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lowering/accesses.h"
#include "lowering/cuda/simt/linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kChainRow = "fragment_row", *const kChainColumn = "fragment_col", *const kChainElement = "fragment_element",
                  *const kChainHeldRow = "fragment_line";

namespace {

Expr variable(const std::string &name) {
    return Variable::make(Int(32), name);
}

}  // namespace

void NestReader::fail(const std::string &message) const {
    fail_(message);
    throw CompileError(message);
}

void NestReader::hold(const Allocate *op) {
    sizes_[op->name] = op->constant_allocation_size();
    held_[op->name] = {op->type.element_of(), -1};
}

void NestReader::know(const std::string &name, int columns) {
    held_[name].columns = columns;
}

FusedNest NestReader::read(const For *loop, bool conditions) {
    struct Loop {
        std::string name;
        Expr extent;
    };
    std::vector<Loop> loops;
    std::vector<std::pair<std::string, Expr>> inner;
    Stmt s = loop;
    for (;;) {
        if (const auto *let = s.as<LetStmt>()) {
            inner.emplace_back(let->name, let->value);
            s = let->body;
        } else if (const auto *l = s.as<For>()) {
            if (!is_const_zero(l->min)) {
                fail("stands in one kernel with the loop " + l->name + ", which does not begin at 0");
            }
            loops.push_back({l->name, l->extent});
            s = l->body;
        } else {
            break;
        }
    }
    if (loops.size() > 2) {
        fail("stands in one kernel with loops that are not over its rows and columns");
    }
    const std::function<Expr(Expr)> full = [&](Expr e) {
        for (auto it = inner.rbegin(); it != inner.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        return inlined_(e);
    };
    // Halide leaves a loop over one row or column out.
    const Single single = loops.size() == 1 ? single_of(s, loops[0].name, full) : Single::kNone;
    if (single == Single::kRow) {
        loops.insert(loops.begin(), {unique_name("row"), 1});
    } else if (single == Single::kColumn) {
        loops.push_back({unique_name("col"), 1});
    }
    single_ = single;
    FusedNest nest;
    nest.kind = loops.size() == 1 ? FusedNest::kRows : FusedNest::kTile;
    nest.row_extent = full(loops[0].extent);
    std::map<std::string, Expr> names = {{loops[0].name, variable(kChainRow)}};
    if (loops.size() == 2) {
        nest.column_extent = full(loops[1].extent);
        names[loops[1].name] = variable(kChainColumn);
        nest.columns = int(as_const_int(nest.column_extent).value_or(0));
        if (nest.columns == 0 && !of_buffers(s)) {
            fail("stands in one kernel with the loop " + loops[1].name + ", whose extent is not known when it is compiled");
        }
    }
    columns_read_ = 0;
    read_stores(nest, s, full, names, conditions);
    // What leaves may be less than a tile, at the edge of a buffer.
    const bool leaves =
        std::all_of(nest.assignments.begin(), nest.assignments.end(), [](const Assignment &a) { return a.index.defined(); });
    if (nest.kind != FusedNest::kRows && nest.columns > 0 && nest.columns < columns_read_ && !leaves) {
        fail("stands in one kernel with a loop over some columns of a tile that is computed for more");
    }
    if (nest.kind == FusedNest::kTile && (nest.columns == 0 || (leaves && columns_read_ > 0))) {
        nest.columns = columns_read_;
    }
    if (nest.kind == FusedNest::kTile && nest.columns == 0) {
        fail("stands in one kernel with a loop over columns, whose extent is not known when it is compiled, and which reads no tile");
    }
    return nest;
}

// Of the one loop of a nest: what a tile of sums is read, or stored, along.
NestReader::Single NestReader::single_of(const Stmt &s, const std::string &loop, const std::function<Expr(Expr)> &full) const {
    class Find : public IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Load *op) override {
            look(op->name, op->index);
            IRGraphVisitor::visit(op);
        }
        void visit(const Store *op) override {
            look(op->name, op->index);
            IRGraphVisitor::visit(op);
        }
        void look(const std::string &name, const Expr &index) {
            const auto held = reader.held_.find(name);
            if (held == reader.held_.end() || held->second.columns <= 1 || !reader.holds(name)) {
                return;
            }
            const int64_t factor = linear(full(index)).factor_of(loop);
            found = factor == 1 ? Single::kRow : factor == held->second.columns ? Single::kColumn : found;
        }

    public:
        Find(const NestReader &reader, const std::string &loop, const std::function<Expr(Expr)> &full)
            : reader(reader), loop(loop), full(full) {}
        const NestReader &reader;
        const std::string &loop;
        const std::function<Expr(Expr)> &full;
        Single found = Single::kNone;
    } find(*this, loop, full);
    s.accept(&find);
    return find.found;
}

void NestReader::read_stores(FusedNest &nest, const Stmt &s, const std::function<Expr(Expr)> &full,
                             const std::map<std::string, Expr> &names, bool conditions) {
    if (const auto *block = s.as<Block>()) {
        read_stores(nest, block->first, full, names, conditions);
        read_stores(nest, block->rest, full, names, conditions);
        return;
    }
    const auto *store = s.as<Store>();
    if (!store) {
        fail("stands in one kernel with loops over its tile that do more than to store values");
    }
    const Expr index = substitute(names, full(store->index));
    const Expr value = substitute(names, full(store->value));
    if (!holds(store->name)) {
        if (conditions) {
            fail("stores " + store->name + " under a condition");
        }
        nest.assignments.push_back({store->name, canonical(value), index});
        return;
    }
    const bool by_row = place(store->name, index);
    Expr rest;
    if (nest.kind == FusedNest::kTile && by_row) {
        nest.kind = FusedNest::kReduction;
        rest = without_self(nest, store->name, value);
    }
    nest.assignments.push_back({store->name, canonical(rest.defined() ? rest : value), Expr()});
}

bool NestReader::of_buffers(const Stmt &s) const {
    const auto stored = accesses_of(s).stored;
    return std::none_of(stored.begin(), stored.end(), [&](const std::string &name) { return holds(name); });
}

// sum + x, or max(sum, x): x.
Expr NestReader::without_self(FusedNest &nest, const std::string &self, const Expr &value) const {
    const auto other = [&](const Expr &a, const Expr &b) {
        const auto *x = a.as<Load>(), *y = b.as<Load>();
        return x && x->name == self ? b : y && y->name == self ? a : Expr();
    };
    Expr rest;
    if (const auto *add = value.as<Add>()) {
        nest.reduction = FusedNest::kSum;
        rest = other(add->a, add->b);
    } else if (const auto *m = value.as<Max>()) {
        nest.reduction = FusedNest::kMax;
        rest = other(m->a, m->b);
    } else if (const auto *m = value.as<Min>()) {
        nest.reduction = FusedNest::kMin;
        rest = other(m->a, m->b);
    }
    if (!rest.defined()) {
        fail("stands in one kernel with a reduction of " + self + " that is no sum, minimum or maximum");
    }
    return rest;
}

// Whether a held value is one a row, by an index of it.
bool NestReader::place(const std::string &name, const Expr &index) {
    const Linear at = linear(index);
    const int64_t row = at.factor_of(kChainRow), column = at.factor_of(kChainColumn);
    const int size = sizes_[name];
    if (size == rows_ || (rows_ == 0 && row == 1 && column == 0)) {
        if (row != 1 || column != 0 || at.terms.size() != 1 || at.constant != 0) {
            fail("reads " + name + " in another row than its own");
        }
        know(name, 0);
        return true;
    }
    const int columns = held_[name].columns;
    const bool in_row = single_ == Single::kRow && row == 0 && column == 1, in_column = single_ == Single::kColumn && row == columns;
    if (columns > 1 && (in_row || in_column) && at.terms.size() == 1 && at.constant == 0) {
        columns_read_ = columns;
        return false;
    }
    // One a row where it does not depend on the column (fused_algebra.h), which is told by a read of the first.
    if (column == 0 && at.constant == 0 && at.terms.size() == 1) {
        return true;
    }
    if (column != 1 || at.terms.size() != 2 || at.constant != 0 || row < 1) {
        fail("reads " + name + " elsewhere than where it was computed");
    }
    know(name, int(row));
    columns_read_ = int(row);
    return false;
}

// Loads of held values, by what a thread has of them.
Expr NestReader::canonical(const Expr &e) {
    class Canonical : public IRMutator {
        using IRMutator::visit;
        Expr visit(const Load *op) override {
            if (!reader.holds(op->name)) {
                return IRMutator::visit(op);
            }
            const bool by_row = reader.place(op->name, op->index);
            return Load::make(op->type, op->name, variable(by_row ? kChainHeldRow : kChainElement), Buffer<>(), Parameter(), const_true(),
                              ModulusRemainder());
        }

    public:
        explicit Canonical(NestReader &reader) : reader(reader) {}
        NestReader &reader;
    };
    return Canonical(*this).mutate(e);
}

std::optional<std::vector<Expr>> held_coordinates(const Expr &index) {
    const Linear at = linear(index);
    int64_t columns = 0;
    for (const auto &t : at.terms) {
        columns = std::max(columns, t.factor);
    }
    Expr row = 0, column = int(at.constant);
    for (const auto &t : at.terms) {
        if (t.factor == columns) {
            row += t.atom;
        } else {
            column += t.atom * int(t.factor);
        }
    }
    return std::vector<Expr>{simplify(column), simplify(row)};
}

}  // namespace halyard
