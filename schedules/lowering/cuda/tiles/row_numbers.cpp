#include "lowering/cuda/tiles/row_numbers.h"

#include <algorithm>
#include <utility>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Where a thread's registers of rows lie: each has two neighbours of the depth, those of a thread are 8 apart, and so are its rows.
constexpr int kEighth = 8;
// What there is beside 128 sums, and rows of two turns.
constexpr int kMostRegisters = 32;
// Turns of a group of the depth that has one number.
constexpr int kMostTurns = 32;

Expr variable_of(const char *name) {
    return Variable::make(Int(32), name);
}

class FindNumbers : public IRMutator {
public:
    FindNumbers(const ComputedTile &tile, std::string prefix, std::string loop, Expr first, int fragments)
        : tile_(tile), prefix_(std::move(prefix)), loop_(std::move(loop)), first_(std::move(first)), fragments_(fragments) {
        pairs_.push(kQuad, Interval(0, 3));
    }

    std::vector<RowNumber> numbers;

private:
    using IRMutator::visit;

    static constexpr const char *kQuad = "operand_quad";

    // At the first or second element of the pair that a thread has in a number-th eighth of the depth.
    Expr index_at(const Expr &index, int eighth, int lane) const {
        return substitute(kOperandDepth, variable_of(kQuad) * 2 + (eighth * kEighth + lane), index);
    }

    // A group of the depth may be several turns, as in a[(turn * 64 + depth) / 256]: then it is so in each turn of a group.
    bool equal(const Expr &a, const Expr &b) const {
        for (int turn = 0; turn < turns_; turn++) {
            const Expr at = turns_ == 1 ? Variable::make(Int(32), loop_) : Variable::make(Int(32), loop_) * turns_ + turn;
            if (!is_const_zero(simplify(substitute(loop_, at, a - b), true, pairs_))) {
                return false;
            }
        }
        return true;
    }

    // Turns after which it repeats, by what it divides through.
    int turns_of(const Expr &index) const {
        class Find : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Div *op) override {
                const auto c = as_const_int(op->b);
                if (c && *c > depth && *c % depth == 0 && *c / depth <= kMostTurns) {
                    turns = std::max(turns, int(*c / depth));
                }
                IRVisitor::visit(op);
            }

        public:
            explicit Find(int depth) : depth(depth) {}
            const int depth;
            int turns = 1;
        };
        Find find(tile_.depth);
        index.accept(&find);
        return find.turns;
    }

    bool is_of_line(const Expr &index) const {
        bool all = true;
        for (int depth = 0; depth < tile_.depth; depth += kEighth) {
            all = all && equal(index_at(index, depth / kEighth, 0), substitute(kOperandDepth, 0, index)) &&
                  equal(index_at(index, depth / kEighth, 1), substitute(kOperandDepth, 0, index));
        }
        return all;
    }

    // How many eighths of the depth have the same numbers: 1, 2, 4 .. all.
    int eighths_of(const Expr &index, bool in_pairs) const {
        const int all = tile_.depth / kEighth;
        int together = 1;
        while (!in_pairs && together < all) {
            for (int first = 0; first < all; first += 2 * together) {
                if (!equal(index_at(index, first, 0), index_at(index, first + together, 0)) ||
                    !equal(index_at(index, first, 0), index_at(index, first + 2 * together - 1, 1))) {
                    return together;
                }
            }
            together *= 2;
        }
        return together;
    }

    // The first pair, if all others lie a multiple of two elements behind it.
    Expr begin_of_pairs(const Expr &index) const {
        const Expr first = substitute({{kOperandDepth, 0}, {kOperandOther, 0}, {loop_, first_}}, index);
        for (int eighth = 0; eighth < tile_.depth / kEighth; eighth++) {
            const Expr pair = index_at(index, eighth, 0);
            if (!equal(index_at(index, eighth, 1), pair + 1) || modulus_remainder(simplify(pair - first)).modulus % 2 != 0 ||
                modulus_remainder(simplify(pair - first)).remainder % 2 != 0) {
                return Expr();
            }
        }
        return simplify(first);
    }

    // Whether it is, or what stands in its index is, in a slot, where nothing is before the turn that waits for it: an entry of a table
    // that a code names.
    bool is_of_slot(const Expr &e) const {
        class Find : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *op) override {
                found = found || sources.count(op->name) > 0;
                IRVisitor::visit(op);
            }

        public:
            explicit Find(const std::map<std::string, SourceInSlot> &sources) : sources(sources) {}
            const std::map<std::string, SourceInSlot> &sources;
            bool found = false;
        };
        Find find(tile_.sources);
        e.accept(&find);
        return find.found;
    }

    Expr visit(const Let *op) override {
        const ScopedBinding<> bind(bound_, op->name);
        return IRMutator::visit(op);
    }

    // What stands under a condition may be no element at all where that does not hold.
    Expr visit(const Call *op) override {
        return op->is_intrinsic(Call::if_then_else) ? Expr(op) : IRMutator::visit(op);
    }

    Expr visit(const Load *op) override {
        if (is_of_slot(op) || !op->type.is_scalar() || !is_const_one(op->predicate) || expr_uses_vars(op->index, bound_)) {
            return IRMutator::visit(op);
        }
        RowNumber n;
        n.load = op;
        n.of_turn = expr_uses_var(op->index, loop_);
        turns_ = turns_of(op->index);
        n.by_line = expr_uses_var(op->index, kOperandOther);
        n.by_depth = !is_of_line(op->index);
        if (!n.by_depth) {
            n.load = substitute(kOperandDepth, 0, n.load);
        } else if (!n.of_turn && tile_.left.defined()) {
            return IRMutator::visit(op);  // how much there is of the depth changes with the turn
        }
        n.in_pairs = n.by_depth && !equal(index_at(op->index, 0, 0), index_at(op->index, 0, 1));
        n.depth = n.by_depth ? eighths_of(op->index, n.in_pairs) * kEighth : tile_.depth;
        n.elements = (tile_.depth / n.depth) * (n.by_line ? 2 * fragments_ : 1) * (n.in_pairs ? 2 : 1);
        for (const auto &other : numbers) {
            if (graph_equal(other.load, n.load)) {
                return number_of(other);
            }
        }
        n.begins = n.in_pairs ? begin_of_pairs(op->index) : Expr();
        const int taken = (n.elements * op->type.bytes() + 3) / 4;
        if (taken > left_) {
            return IRMutator::visit(op);
        }
        left_ -= taken;
        n.registers = prefix_ + number(int(numbers.size()));
        numbers.push_back(n);
        return number_of(n);
    }

    Expr number_of(const RowNumber &n) const {
        Expr at = n.by_line ? variable_of(kOperandRow) * (tile_.depth / n.depth) : Expr(0);
        if (n.depth < tile_.depth) {
            at = at + variable_of(kOperandEighth) / (n.depth / kEighth);
        }
        if (n.in_pairs) {
            at = at * 2 + variable_of(kOperandLane);
        }
        return Load::make(n.load.type(), n.registers, simplify(at), Buffer<>(), Parameter(), const_true(), ModulusRemainder());
    }

    const ComputedTile &tile_;
    const std::string prefix_, loop_;
    const Expr first_;
    const int fragments_;
    Scope<Interval> pairs_;
    Scope<> bound_;
    int turns_ = 1, left_ = kMostRegisters;
};

}  // namespace

std::vector<RowNumber> take_row_numbers(ComputedTile &tile, const std::string &prefix, const std::string &loop, const Expr &first,
                                        int fragments) {
    FindNumbers find(tile, prefix, loop, first, fragments);
    tile.value = find.mutate(tile.value);
    for (const auto &n : find.numbers) {
        if (n.is_packed()) {
            tile.packed.insert(n.registers);
        }
    }
    return find.numbers;
}

void declare_row_number(const RowNumber &n, KernelPrinter &out) {
    if (n.is_packed()) {
        out.declare_registers(n.registers, "uint32_t", n.elements / 2);
    } else {
        out.declare_registers(n.registers, type_text(n.load.type()), n.elements);
    }
    if (n.begins.defined()) {
        out.line("const bool " + out.name(n.aligned()) + " = are_aligned<2>(" + out.name(n.load.as<Load>()->name) + " + " +
                 in_parentheses(out.expr(n.begins)) + ");");
    }
}

void print_row_number(const RowNumber &n, const ComputedTile &tile, const Expr &left, const std::string &first_row, KernelPrinter &out) {
    const int in_depth = tile.depth / n.depth, lanes = n.in_pairs ? 2 : 1;
    const std::string row = out.name(kOperandLine), depth = out.name(kOperandDepth), which = out.name("operand_number");
    const Expr at = variable_of("operand_number");
    const Expr d = variable_of(kOperandDepth) * 2 + (n.in_pairs ? variable_of(kOperandLane) : Expr(0));
    // With another loop beside it, compilers load both kinds' elements one by one.
    const bool maybe = left.defined() && n.by_depth;
    if (maybe) {
        out.open("if (" + out.expr(left >= tile.depth) + ") {");
    }
    const auto print = [&](bool aligned) {
        out.line("#pragma unroll");
        out.open("for (int " + which + " = 0; " + which + " < " + number(n.elements / lanes) + "; " + which + "++) {");
        if (n.by_line) {
            const std::string line = in_depth == 1 ? which : "(" + which + " / " + number(in_depth) + ")";
            out.line("const int " + row + " = " + first_row + " + " + line + " / 2 * 16 + " + line + " % 2 * 8;");
        }
        if (n.by_depth) {
            out.line("const int " + depth + " = " +
                     (in_depth == 1 ? "" : which + " % " + number(in_depth) + " * " + number(n.depth / 2) + " + ") +
                     "lane % 4;  // in pairs");
        }
        const Expr value = substitute({{kOperandDepth, d}, {kOperandOther, variable_of(kOperandLine)}}, n.load);
        Expr loaded = n.in_pairs ? vector_of_tile(value, lanes, tile) : value;
        if (aligned) {
            const auto *load = loaded.as<Load>();
            loaded = Load::make(load->type, load->name, load->index, load->image, load->param, load->predicate, ModulusRemainder(2, 0));
        }
        if (n.is_packed()) {
            out.print(Store::make(n.registers, Reinterpret::make(UInt(32), loaded), at, Parameter(), const_true(), ModulusRemainder()));
        } else {
            out.print(Store::make(n.registers, loaded, n.in_pairs ? Ramp::make(at * 2, 1, 2) : at, Parameter(), const_true(lanes),
                                  ModulusRemainder(n.in_pairs ? 2 : 1, 0)));
        }
        out.close();
    };
    if (n.begins.defined()) {
        out.open("if (" + out.name(n.aligned()) + ") {");
        print(true);
        out.otherwise();
        print(false);
        out.close();
    } else {
        print(false);
    }
    if (maybe) {
        out.close();
    }
}

}  // namespace halyard
