#include "lowering/cuda/tensor_cores/fused_nests.h"

#include <algorithm>
#include <array>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/tile_order.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

void FusedNests::nests(const std::vector<FusedNest> &list) {
    for (const auto &n : list) {
        nest(n);
    }
}

void FusedNests::open_rows() {
    const std::string line = out_->name(kChainHeldRow);
    out_->line("#pragma unroll");
    out_->open("for (int " + line + " = 0; " + line + " < " + number(2 * rows_.fragments) + "; " + line + "++) {");
}

void FusedNests::row_of_line() {
    out_->line("const int " + out_->name(kChainRow) + " = " + rows_.first + " + " + out_->name(kChainHeldRow) + " * 8;");
}

void FusedNests::open_elements(int columns, const std::vector<Expr> &reads) {
    const std::string i = out_->name(kChainElement);
    out_->line("#pragma unroll");
    out_->open("for (int " + i + " = 0; " + i + " < " + number(columns / 2 * rows_.fragments) + "; " + i + " += 2) {");
    coordinates_of_element(columns, reads);
}

void FusedNests::coordinates_of_element(int columns, const std::vector<Expr> &reads) {
    const std::string i = out_->name(kChainElement), of_fragment = number(columns / 2);
    const bool several = rows_.fragments > 1;
    const std::string line = (several ? i + " / " + of_fragment + " * 2 + " : "") + i + " / 2 % 2";
    const auto uses = [&](const char *name) {
        return std::any_of(reads.begin(), reads.end(), [&](const Expr &x) { return expr_uses_var(x, name); });
    };
    if (uses(kChainHeldRow)) {
        out_->line("const int " + out_->name(kChainHeldRow) + " = " + line + ";");
    }
    if (uses(kChainRow)) {
        out_->line("const int " + out_->name(kChainRow) + " = " + rows_.first + " + " + (several ? "(" + line + ")" : line) + " * 8;");
    }
    if (uses(kChainColumn)) {
        const std::string first = rows_.first_column.empty() ? "" : rows_.first_column + " + ";
        out_->line("const int " + out_->name(kChainColumn) + " = " + first + i + (several ? " % " + of_fragment : "") +
                   " / 4 * 8 + lane % 4 * 2;");
    }
}

Stmt FusedNests::store_of(const std::string &name, const Expr &value, const Expr &index) {
    return Store::make(name, value, index, Parameter(), const_true(value.type().lanes()), ModulusRemainder());
}

void FusedNests::nest(const FusedNest &n) {
    std::vector<Expr> reads;
    for (const auto &a : n.assignments) {
        reads.push_back(a.value);
    }
    const Expr line = Variable::make(Int(32), kChainHeldRow);
    if (n.kind == FusedNest::kRows) {
        open_rows();
        if (std::any_of(reads.begin(), reads.end(), [](const Expr &x) { return expr_uses_var(x, kChainRow); })) {
            row_of_line();
        }
        if (n.assignments.size() == 1) {
            out_->print(store_of(n.assignments[0].stored, n.assignments[0].value, line));
        } else {
            // All at once: none sees what another becomes.
            Stmt stores;
            for (size_t i = n.assignments.size(); i-- > 0;) {
                const auto &a = n.assignments[i];
                const Stmt s = store_of(a.stored, Variable::make(a.value.type(), a.stored + ".next"), line);
                stores = stores.defined() ? Block::make(s, stores) : s;
            }
            for (size_t i = n.assignments.size(); i-- > 0;) {
                stores = LetStmt::make(n.assignments[i].stored + ".next", n.assignments[i].value, stores);
            }
            out_->print(stores);
        }
        out_->close();
        return;
    }
    if (n.kind == FusedNest::kReduction) {
        reads.push_back(line);
        out_->open(n.counts.defined() ? "if (" + out_->expr(n.counts) + ") {" : "{");
    }
    begin(n);
    open_elements(n.columns, reads);
    at_element(n);
    out_->close();
    end(n);
    if (n.kind == FusedNest::kReduction) {
        out_->close();
    }
}

// Two neighbours of the operand, rounded, in a register.
void FusedNests::pack(const Assignment &a) {
    const auto *cast = a.value.as<Cast>();
    const Expr wide = cast && cast->value.type() == Float(32) ? cast->value : Cast::make(Float(32), a.value);
    const std::string function = a.value.type().is_bfloat() ? "floats_to_bfloat16_bits" : "floats_to_half_bits";
    out_->line(out_->name(a.stored) + "[" + out_->name(kChainElement) + " / 2] = " + function + "(" + out_->expr(wide) + ", " +
               out_->expr(shifted(wide, 1)) + ");");
}

namespace {

Expr combined(const FusedNest &n, const Expr &x, const Expr &y) {
    switch (n.reduction) {
    case FusedNest::kSum: return x + y;
    case FusedNest::kMin: return min(x, y);
    case FusedNest::kMax: return max(x, y);
    default: return Call::make(x.type(), kMaxOrNan, {x, y}, Call::PureExtern);
    }
}

// Of even and of odd columns apart: more chains of dependent instructions.
std::array<std::string, 2> parts_of(const FusedNest &n) {
    const std::string &stored = n.assignments[0].stored;
    return {stored + ".part", stored + ".odd"};
}

}  // namespace

// A thread's own columns first, then those of the four lanes that share a row.
void FusedNests::begin(const FusedNest &n) {
    if (n.kind != FusedNest::kReduction) {
        return;
    }
    const Type t = n.assignments[0].value.type();
    const Expr nothing = n.neutral(t);
    for (const auto &name : parts_of(n)) {
        out_->declare_registers(name, type_text(t), 2 * rows_.fragments);
    }
    open_rows();
    for (const auto &name : parts_of(n)) {
        out_->print(store_of(name, nothing, Variable::make(Int(32), kChainHeldRow)));
    }
    out_->close();
}

void FusedNests::at_element(const FusedNest &n) {
    for (const auto &a : n.assignments) {
        if (n.kind == FusedNest::kReduction) {
            const Expr line = Variable::make(Int(32), kChainHeldRow);
            for (int lane = 0; lane < 2; lane++) {
                const std::string part = parts_of(n)[size_t(lane)];
                out_->print(store_of(part, combined(n, held_at(part, a.value.type(), line), shifted(a.value, lane)), line));
            }
        } else if (operands_.count(a.stored)) {
            pack(a);
        } else {
            // To leave acc = acc * g out where g is 1 in all rows of a warp, as it mostly is, costs more than it saves.
            out_->print(store_of(a.stored, pair(a.value), Ramp::make(Variable::make(Int(32), kChainElement), 1, 2)));
        }
    }
}

void FusedNests::end(const FusedNest &n) {
    if (n.kind != FusedNest::kReduction) {
        return;
    }
    const auto [part, odd] = parts_of(n);
    const Assignment &a = n.assignments[0];
    const Type t = a.value.type();
    const Expr line = Variable::make(Int(32), kChainHeldRow);
    open_rows();
    out_->print(store_of(part, combined(n, held_at(part, t, line), held_at(odd, t, line)), line));
    const auto combine = [&](const Expr &x, const Expr &y) { return combined(n, x, y); };
    if (n.across_lanes) {
        combine_lanes(part, t, combine);
    }
    if (rows_.across_warps) {
        out_->close();
        rows_.across_warps(part, t, combine);
        open_rows();
    }
    out_->print(store_of(a.stored, combined(n, held_at(a.stored, t, line), held_at(part, t, line)), line));
    out_->close();
}

// Of the four lanes that have a row.
void FusedNests::combine_lanes(const std::string &name, const Type &t, const Combine &combine) {
    const Expr line = Variable::make(Int(32), kChainHeldRow);
    for (int with : {1, 2}) {
        const std::string other = name + ".of_" + number(with);
        out_->line("const " + type_text(t) + " " + out_->name(other) + " = __shfl_xor_sync(0xffffffff, " + out_->name(name) + "[" +
                   out_->name(kChainHeldRow) + "], " + number(with) + ");");
        out_->print(store_of(name, combine(held_at(name, t, line), Variable::make(t, other)), line));
    }
}

void FusedNests::store_rows(const FusedNest &n, const std::string &condition) {
    open_rows();
    row_of_line();
    out_->open("if (lane % 4 == 0 && " + (condition.empty() ? "" : condition + " && ") +
               out_->expr(Variable::make(Int(32), kChainRow) < n.row_extent) + ") {");
    for (const auto &a : n.assignments) {
        out_->print(store_of(a.stored, a.value, a.index));
    }
    out_->close();
    out_->close();
}

void FusedNests::store_elements(const FusedNest &n, const Assignment &a) {
    if (n.kind == FusedNest::kRows) {
        FusedNest one = n;
        one.assignments = {a};
        store_rows(one);
        return;
    }
    const Expr row = Variable::make(Int(32), kChainRow), column = Variable::make(Int(32), kChainColumn);
    const bool whole = as_const_int(n.column_extent).value_or(0) >= n.columns;
    std::vector<Expr> reads = {a.value, a.index, row, n.row_extent};
    if (!whole) {
        reads.push_back(column);
    }
    open_elements(n.columns, reads);
    out_->open("if (" + out_->expr(row < n.row_extent) + ") {");
    for (int lane = 0; lane < 2; lane++) {
        if (!whole) {
            out_->open("if (" + out_->expr(simplify(column + lane < n.column_extent)) + ") {");
        }
        out_->print(store_of(a.stored, shifted(a.value, lane), shifted(a.index, lane)));
        if (!whole) {
            out_->close();
        }
    }
    out_->close();
    out_->close();
}

Expr FusedNests::held_at(const std::string &name, const Type &t, const Expr &at) {
    return Load::make(t, name, at, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

// The value of the pair's column 0 or 1.
Expr FusedNests::shifted(const Expr &value, int lane) {
    const Expr column = Variable::make(Int(32), kChainColumn), element = Variable::make(Int(32), kChainElement);
    return lane == 0 ? value : simplify(substitute({{kChainColumn, column + 1}, {kChainElement, element + 1}}, value));
}

// Of columns col and col + 1.
Expr FusedNests::pair(const Expr &value) const {
    const Expr lane = Variable::make(Int(32), "fragment_lane");
    const Expr column = Variable::make(Int(32), kChainColumn), element = Variable::make(Int(32), kChainElement);
    const Stmt loop = For::make("fragment_lane", 0, 2, ForType::Vectorized, Partition::Never, DeviceAPI::None,
                                Evaluate::make(substitute({{kChainColumn, column + lane}, {kChainElement, element + lane}}, value)));
    const Stmt vector = simplify(vectorize_loops(loop, {}));
    const auto *evaluate = vector.as<Evaluate>();
    if (!evaluate) {
        asked_.fail("has a value that cannot be computed two columns at a time");
    }
    return evaluate->value.type().is_scalar() ? Broadcast::make(evaluate->value, 2) : evaluate->value;
}

}  // namespace halyard
