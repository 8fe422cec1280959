#include "lowering/cuda/tiles/block_text.h"

#include <algorithm>

#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Loads from device memory, of the last row and column that there are where the tile goes on behind them.
Expr loaded_inside(const FusedNest &n, const Expr &value) {
    class Clamp : public IRMutator {
        using IRMutator::visit;
        Expr visit(const Load *op) override {
            const auto *held = op->index.as<Variable>();
            if (held && (held->name == kChainElement || held->name == kChainHeldRow)) {
                return op;
            }
            return Load::make(op->type, op->name, substitute(places, op->index), op->image, op->param, op->predicate, op->alignment);
        }

    public:
        std::map<std::string, Expr> places;
    } clamp;
    clamp.places = {{kChainRow, min(Variable::make(Int(32), kChainRow), n.row_extent - 1)},
                    {kChainColumn, min(Variable::make(Int(32), kChainColumn), n.column_extent - 1)}};
    return clamp.mutate(value);
}

// 16 columns, each to a line of the 64 rows of a warpgroup.
void store_rows(const BlockText &text, const std::string &values, const std::string &result) {
    std::string words;
    for (int k = 0; k < 4; k++) {
        words += ", reinterpret_cast<const uint32_t *>(" + values + ")[" + number(k) + "]";
    }
    text.out.line("const int line = first * 2 + lane / 16 * 8 + lane % 8, chunk = warp * 2 + lane / 8 % 2;");
    text.out.line("store_matrices_across(" + result + " + line * 64 + (chunk ^ (line % 8)) * 8" + words + ");");
}

// Has TMA store the boxes of a warpgroup.
void send_boxes(const BlockText &text, const FusedNest &n, const Assignment &a, const ResultBox &box, const std::string &result) {
    const auto &at = box.origin;
    const bool by_rows = box.how == ResultBox::kAcross;
    const std::string of_warpgroup = " + warpgroup * " + number(kRowsOfWarpgroup);
    std::vector<std::string> across;
    for (int panel = 0; panel < (by_rows ? 1 : n.columns / kAcross); panel++) {
        across.push_back(by_rows ? in_parentheses(text.e(at[0])) + of_warpgroup : text.e(simplify(at[0] + panel * kAcross)));
    }
    std::string rest;
    for (size_t d = 1; d < at.size(); d++) {
        rest += ", " + (d == 1 && !by_rows ? in_parentheses(text.e(at[1])) + of_warpgroup : text.e(at[d]));
    }
    send_result(text.out, text.out.name(a.stored + ".map"), result, across, rest);
}

// Has the threads of a warpgroup store its rows, 16 bytes at a time.
void store_pieces(const BlockText &text, const FusedNest &n, const Assignment &a, const std::string &result) {
    const std::string pieces = number(n.columns / kPieceOfResult), row = text.out.name(kChainRow), column = text.out.name(kChainColumn);
    text.out.line("warpgroup_barrier(warpgroup);");
    text.out.line("#pragma unroll 4");
    text.out.open("for (int i = thread; i < " + number(kRowsOfWarpgroup * n.columns / kPieceOfResult) + "; i += " + number(kWarpgroup) +
                  ") {");
    text.out.line("const int line = i / " + pieces + ", chunk = i % " + pieces + ";");
    text.out.line("const int " + row + " = warpgroup * " + number(kRowsOfWarpgroup) + " + line, " + column + " = chunk * " +
                  number(kPieceOfResult) + ";");
    const Expr inside = Variable::make(Int(32), kChainRow) < n.row_extent && Variable::make(Int(32), kChainColumn) < n.column_extent;
    text.out.open("if (" + text.e(simplify(inside)) + ") {");
    text.out.line("store(" + text.out.name(a.stored) + " + (" + text.e(a.index) + "), load<" + number(kPieceOfResult) + ">(" + result +
                  " + (chunk / 8 * " + number(kAcross * kRowsOfWarpgroup) + " + line * 64 + ((chunk % 8) ^ (line % 8)) * 8)));");
    text.out.close();
    text.out.close();
}

// Through shared memory: stmatrix puts 16 columns at a time into the order in which TMA takes them.
void leave_together(const BlockText &text, const FusedNest &n, const Assignment &a, const ResultBox &box) {
    const std::string type = type_text(a.value.type()), name = text.out.name(a.stored + ".result"), pairs = a.stored + ".pairs",
                      i = text.out.name(kChainElement);
    // A part of a tile may have no rows at all.
    text.out.open(box.by_engine() ? "{" : "if (" + text.e(simplify(n.row_extent > 0 && n.column_extent > 0)) + ") {");
    text.out.line("const int thread = threadIdx.x % " + number(kWarpgroup) + ", warp = thread / 32;");
    declare_result(text.out, type, name, text.launch.offset_results(), text.program.rows, n.columns);
    wait_for_result(text.out);
    const auto values = [&](const Expr &value) {
        text.out.line("#pragma unroll");
        text.out.open("for (int first = 0; first < " + number(n.columns / 2) + "; first += 8) {");
        text.out.declare_registers(pairs, "alignas(16) " + type, 8);
        text.out.line("#pragma unroll");
        text.out.open("for (int " + i + " = first; " + i + " < first + 8; " + i + " += 2) {");
        text.threads.coordinates_of_element(n.columns, {value});
        text.out.print(FusedNests::store_of(pairs, text.threads.pair(value), Ramp::make(Variable::make(Int(32), kChainElement) % 8, 1, 2)));
        text.out.close();
        if (box.how == ResultBox::kAcross) {
            store_rows(text, text.out.name(pairs), name);
        } else {
            store_columns(text.out, text.out.name(pairs), name);
        }
        text.out.close();
    };
    const Expr inside = loaded_inside(n, a.value);
    if (equal(inside, a.value)) {
        values(a.value);
    } else {
        text.out.open("if (" + text.e(simplify(n.row_extent >= text.program.rows && n.column_extent >= n.columns)) + ") {");
        values(a.value);
        text.out.otherwise();
        values(inside);
        text.out.close();
    }
    if (box.by_engine()) {
        send_boxes(text, n, a, box, name);
    } else {
        store_pieces(text, n, a, name);
    }
    text.out.close();
}

}  // namespace

void print_nest(const BlockText &text, const FusedNest &n) {
    const bool stores = std::any_of(n.assignments.begin(), n.assignments.end(), [](const Assignment &a) { return a.index.defined(); });
    if (!stores) {
        text.threads.nest(n);
        return;
    }
    for (const auto &a : n.assignments) {
        const auto at = text.fetching == Fetching::kEngine ? text.launch.box_of(n, a) : std::nullopt;
        if (at) {
            leave_together(text, n, a, *at);
        } else {
            text.threads.store_elements(n, a);
        }
    }
}

}  // namespace halyard
