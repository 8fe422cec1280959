#include "lowering/cuda/tensor_cores/wgmma_results.h"

#include <algorithm>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

void WgmmaResults::store_results(WgmmaForm form) {
    for (size_t i = 0; i < after_.size(); i++) {
        const Pair &p = after_[i];
        if (form != WgmmaForm::kWhole) {
            store_inside(program_.after[i]);
        } else if (leaves_by_tma(p)) {
            leave_by_engine(p, layout_.offset_results(form) + layout_.bytes_of_results(i, form));
        } else {
            store_pairs(p, alignment_[i]);
        }
    }
}

// Pairs of a tile that is whole, and of another the elements that are inside.
void WgmmaResults::store_pairs(const Pair &p, const ModulusRemainder &alignment) {
    out_->open("if (" + e(p.is_whole(tile().columns)) + ") {");
    open_elements();
    coordinates_of_element();
    print(Store::make(p.stored, p.value, p.index, Parameter(), const_true(2), alignment));
    out_->close();
    out_->otherwise();
    store_inside(p);
    out_->close();
}

void WgmmaResults::leave_by_engine(const Pair &p, int offset) {
    const Type t = p.value.type().element_of();
    const std::string name = out_->name(p.stored + ".result"), map = out_->name(p.stored + ".map");
    const int columns = tile().columns / layout_.parts();
    const TensorBox to = *box_of(p);
    declare_result(*out_, type_text(t), name, offset, layout_.rows_of_results(), columns);
    for (int part = 0; part < layout_.parts(); part++) {
        if (part > 0) {
            wait_for_result(*out_);
        }
        Pair whole = p, inside = p;
        whole.value = with_epilogue_loads(p.value);
        inside.value = whole.value;
        inside.value = loaded_inside(inside, not_in_memory_);
        if (equal(whole.value, inside.value)) {
            values(whole, name, part);
        } else {
            out_->open("if (" + e(p.is_whole(tile().columns)) + ") {");
            values(whole, name, part);
            out_->otherwise();
            values(inside, name, part);
            out_->close();
        }
        send_result(*out_, map, name, across_box(to, t, part * columns, columns), rest_of_box(to), elements_of_line(t));
    }
}

// A part of the columns into shared memory, in the order in which TMA takes them.
void WgmmaResults::values(const Pair &p, const std::string &name, int part) {
    const int first = part * sums() / layout_.parts();
    if (p.value.type().bits() == 16) {
        matrices(p, name, first);
    } else {
        pairs(p, name, first);
    }
}

// A thread has sums of columns 8 j + 2 (lane % 4) and the next, in rows lane / 4 and 8 below, of the 16 rows of its warp.
void WgmmaResults::coordinates_of_element() {
    const std::string i = out_->name(kElement);
    declare_place(row_of_thread() + " + " + i + " / 2 % 2 * 8", i + " / 4 * 8 + lane % 4 * 2");
}

std::string WgmmaResults::row_of_thread() const {
    return (layout_.ping_pong() ? "" : "warpgroup * " + number(kRowsOfWarpgroup) + " + ") + "warp * 16 + lane / 4";
}

// The results of 16 columns at a time, by stmatrix.
void WgmmaResults::matrices(const Pair &p, const std::string &name, int begin) {
    const std::string pairs = p.stored + ".pairs";
    const std::string type = type_text(p.value.type().element_of()), from = begin ? number(begin) + " + first" : "first";
    out_->line("#pragma unroll");
    out_->open("for (int first = 0; first < " + number(sums() / layout_.parts()) + "; first += 8) {");
    out_->declare_registers(pairs, "alignas(16) " + type, 8);
    open_elements(from, from + " + 8");
    coordinates_of_element();
    Stmt store = Store::make(pairs, p.value, Ramp::make(Variable::make(Int(32), kElement) % 8, 1, 2), Parameter(), const_true(2),
                             ModulusRemainder());
    print(store);
    out_->close();
    if (is_read_in_place(p)) {
        out_->line("__syncwarp();  // each lane has read its elements, where others store");
    }
    store_columns(*out_, out_->name(pairs), name);
    out_->close();
}

bool WgmmaResults::is_read_in_place(const Pair &p) const {
    return std::any_of(tiles_.begin(), tiles_.end(), [&](const EpilogueTile &t) { return t.in_place && t.pair->stored == p.stored; });
}

// Those of 8 or 32 bits two columns at a time: stmatrix has 16 bytes of a row where a thread has two elements of eight.
void WgmmaResults::pairs(const Pair &p, const std::string &name, int begin) {
    const std::string pair = p.stored + ".pair", col = out_->name(kCol);
    const Type t = p.value.type().element_of();
    const int line = elements_of_line(t), chunk = line / 8, columns = tile().columns / layout_.parts();
    open_elements(number(begin), number(begin + sums() / layout_.parts()));
    coordinates_of_element();
    out_->declare_registers(pair, type_text(t), 2);
    print(Store::make(pair, p.value, Ramp::make(0, 1, 2), Parameter(), const_true(2), ModulusRemainder()));
    out_->line("const int line = " + out_->name(kRow) + " % " + number(kRowsOfWarpgroup) + ", in_line = " + col + " % " + number(line) +
               ";");
    out_->line("store(" + name + " + (" + col + " % " + number(columns) + " / " + number(line) + " * " + number(line * kRowsOfWarpgroup) +
               " + line * " + number(line) + " + ((in_line / " + number(chunk) + ") ^ (line % 8)) * " + number(chunk) + " + in_line % " +
               number(chunk) + "), load_registers<2>(" + out_->name(pair) + "));");
    out_->close();
}

}  // namespace halyard
