// Words on the memory that a Func's values lie in, and on the bounds of what is computed.

#include "language/word.h"

namespace halyard {

using namespace Halide;

namespace {

void reorder_storage(Call &c) {
    std::vector<Var> dims;
    for (const auto &name : c.args[0].texts) {
        dims.emplace_back(name);
    }
    c.func().reorder_storage(dims);
}

void set_estimate(Call &c) {
    c.need_numbers({c.args[1].expr, c.args[2].expr});
    c.func().set_estimate(c.dim(0), c.args[1].expr, c.args[2].expr);
}

void set_estimates(Call &c) {
    const auto &e = c.args[0].exprs;
    if (e.size() != 2 * size_t(c.func().dimensions())) {
        c.fail("needs a min and an extent for each of the " + std::to_string(c.func().dimensions()) + " dimensions");
    }
    c.need_numbers(e);
    Region region;
    for (size_t i = 0; i < e.size(); i += 2) {
        region.emplace_back(e[i], e[i + 1]);
    }
    c.func().set_estimates(region);
}

}  // namespace

const std::vector<Word> kStorageWords = {
    {"store_in", Handle::kFunc, "memory:memory", "self", "The kind of memory that the Func is stored in.", "f in heap", "f in registers",
     [](Call &c) { c.func().store_in(MemoryType(c.args[0].integer)); }, nullptr, Effect::kMemory},
    {"align_storage", Handle::kFunc, "dim:dim alignment:size[1..65536,asked]", "self", "Pads a dimension of the allocation to a multiple.",
     "float f[rows][67]", "float f[rows][80]", [](Call &c) { c.func().align_storage(c.dim(0), c.args[1].expr); }, nullptr, Effect::kMemory},
    {"bound_storage", Handle::kFunc, "dim:dim bound:size[1..]", "self",
     "An upper bound on a dimension of the allocation, so that it can be static. Checked at run time.", "f[n]", "f[64]",
     [](Call &c) { c.func().bound_storage(c.dim(0), c.args[1].expr); }, nullptr, Effect::kMemory},
    {"fold_storage", Handle::kFunc, "dim:dim extent:size[1..16777216,asked] forward:bool?", "self",
     "Keeps only the last `extent` entries of a dimension, addressed modulo. Checked at run time where Halide cannot "
     "prove it.",
     "f[n]", "f[2]", [](Call &c) { c.func().fold_storage(c.dim(0), c.args[1].expr, !c.args[2].present || c.args[2].boolean); }, nullptr,
     Effect::kMemory},
    {"reorder_storage", Handle::kFunc, "dims:dim...", "self", "The order of dimensions in memory, innermost first.", "f[y][x]", "f[x][y]",
     reorder_storage, nullptr, Effect::kMemory},
};

const std::vector<Word> kBoundsWords = {
    {"bound", Handle::kFunc, "dim:dim min:expr[-2147483647..] extent:size[1..]", "self",
     "Promises the range of a dimension, so that loops over it are constant. Checked at run time.", "for x in a..b",
     "for x in min..min+extent", [](Call &c) { c.func().bound(c.dim(0), c.args[1].expr, c.args[2].expr); }, nullptr, Effect::kPlaced},
    {"bound_extent", Handle::kFunc, "dim:dim extent:size[1..]", "self", "Promises the extent of a dimension. Checked at run time.",
     "for x in a..b", "for x in a..a+64", [](Call &c) { c.func().bound_extent(c.dim(0), c.args[1].expr); }, nullptr, Effect::kPlaced},
    {"align_bounds", Handle::kFunc, "dim:dim modulus:size[1..16777216,asked] remainder:size[0..<modulus,asked]?", "self",
     "Widens what is computed so that its start and extent are multiples.", "for x in 3..17", "for x in 0..32",
     [](Call &c) { c.func().align_bounds(c.dim(0), c.args[1].expr, c.args[2].present ? c.args[2].expr : Expr(0)); }, nullptr,
     Effect::kPlaced},
    {"align_extent", Handle::kFunc, "dim:dim modulus:size[1..16777216,asked]", "self", "Widens what is computed to a multiple.",
     "for x in 3..17", "for x in 3..19", [](Call &c) { c.func().align_extent(c.dim(0), c.args[1].expr); }, nullptr, Effect::kPlaced},
    {"set_estimate", Handle::kFunc, "dim:dim min:expr[any] extent:size[0..]", "self", "An expected size, for autoschedulers only.", "f",
     "f", set_estimate},
    {"set_estimates", Handle::kFunc, "ranges:sizes[any]", "self", "Expected sizes of all dimensions: { min, extent, min, extent, ... }.",
     "f", "f", set_estimates},
};

const std::vector<Word> kTraceWords = {
    {"trace_loads", Handle::kFunc, "", "self", "Traces every load of the Func at run time.", "f", "f, traced",
     [](Call &c) { c.func().trace_loads(); }},
    {"trace_stores", Handle::kFunc, "", "self", "Traces every store to the Func at run time.", "f", "f, traced",
     [](Call &c) { c.func().trace_stores(); }},
    {"trace_realizations", Handle::kFunc, "", "self", "Traces every allocation of the Func at run time.", "f", "f, traced",
     [](Call &c) { c.func().trace_realizations(); }},
    {"add_trace_tag", Handle::kFunc, "tag:string", "self", "A tag that the trace of this Func carries.", "f", "f, traced",
     [](Call &c) { c.func().add_trace_tag(c.args[0].text); }},
    {"no_profiling", Handle::kFunc, "", "self", "Leaves the Func out of Halide's profile.", "f", "f",
     [](Call &c) { c.func().no_profiling(); }},
};

}  // namespace halyard
