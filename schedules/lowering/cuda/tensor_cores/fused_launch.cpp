#include "lowering/cuda/tensor_cores/fused_launch.h"

#include <algorithm>

#include "lowering/accesses.h"
#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/tensor_cores/scalar_arguments.h"
#include "lowering/cuda/tensor_cores/tensor_argument.h"
#include "lowering/cuda/tensor_cores/tensor_box.h"
#include "lowering/cuda/tensor_cores/tile_program.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kTilesTogether = "tiles_together";

std::vector<const Operand *> FusedLaunch::operands() const {
    return {&parts_.first.a, &parts_.first.b, &parts_.second.b};
}

// The results, in the order of their nests.
std::vector<const Assignment *> FusedLaunch::results() const {
    std::vector<const Assignment *> all;
    for (const auto &n : parts_.after) {
        for (const auto &a : n.assignments) {
            if (a.index.defined()) {
                all.push_back(&a);
            }
        }
    }
    return all;
}

std::optional<std::vector<Expr>> FusedLaunch::tensor_of(const Assignment &a) const {
    const auto nest = std::find_if(parts_.after.begin(), parts_.after.end(), [&](const FusedNest &n) {
        return std::any_of(n.assignments.begin(), n.assignments.end(), [&](const Assignment &x) { return x.stored == a.stored; });
    });
    const auto origin = place_of(a);
    const auto is_box = [&](const Expr &stored, int size, size_t d) {
        return is_stored_as_box(stored, size, a.stored, int(d), origin->at(d), parts_.lets, strides_);
    };
    const bool as_box = parts_.second.columns % kAcross == 0 && origin && nest != parts_.after.end() && nest->column_extent.defined() &&
                        is_box(nest->column_extent, nest->columns, 0) && is_box(nest->row_extent, parts_.rows, 1);
    return as_box ? origin : std::nullopt;
}

std::optional<std::vector<Expr>> FusedLaunch::place_of(const Assignment &a) const {
    return place_of_result(a, base_, parts_.block_names, parts_.lets, strides_);
}

std::optional<std::vector<Expr>> place_of_result(const Assignment &a, const Kernel &kernel, const std::array<std::string, 3> &block_names,
                                                 const Lets &host, const Strides &strides) {
    const Type t = a.value.type();
    if (!t.is_float() || t.bits() != 16) {
        return std::nullopt;
    }
    const IndexVariables variables = {{kChainColumn, kChainRow}, extents_of_launch(kernel, block_names, strides), false};
    auto all = tensor_coordinates(substitute_in_all_lets(expand(a.index, host)), a.stored, strides, variables);
    if (!all || all->size() < 2 || all->size() > 4) {
        return std::nullopt;
    }
    const char *loops[] = {kChainColumn, kChainRow};
    for (size_t d = 0; d < all->size(); d++) {
        Expr &c = (*all)[d];
        for (size_t l = 0; l < 2; l++) {
            const bool here = d == l;
            if (here ? linear(c).factor_of(loops[l]) != 1 : expr_uses_var(c, loops[l])) {
                return std::nullopt;
            }
        }
        c = simplify(substitute({{kChainColumn, 0}, {kChainRow, 0}}, c));
    }
    return all;
}

Expr FusedLaunch::usable() const {
    Expr e = const_true();
    for (const auto *o : operands()) {
        e = e && is_tensor(o->buffer, o->type, o->rank());
    }
    for (const auto *r : results()) {
        if (const auto at = tensor_of(*r)) {
            e = e && is_stored_tensor(r->stored, r->value.type(), int(at->size()));
        }
    }
    return e;
}

Expr FusedLaunch::tiles_together() const {
    constexpr int kMostInL2 = 24 << 20;  // bytes, about half of what devices of sm_90a have
    Expr bytes = make_zero(Int(64));
    for (const Operand *o : {&parts_.first.b, &parts_.second.b}) {
        Expr of_operand = make_const(Int(64), o->type.bytes());
        for (int d = 0; d < o->rank(); d++) {
            of_operand = of_operand * cast<int64_t>(field_on_host(o->buffer, Call::buffer_get_extent, d));
        }
        bytes = bytes + of_operand;
    }
    return select(bytes <= make_const(Int(64), kMostInL2), max(base_.blocks[1] * base_.blocks[2], 1), parts_.first_asked->raster);
}

Kernel FusedLaunch::with_arguments(bool by_tma) const {
    Kernel k;
    k.name = base_.name;
    k.threads = {((parts_.rows / kRowsOfWarpgroup) + (by_tma ? 1 : 0)) * kWarpgroup, 1, 1};
    const Expr tiles = base_.blocks[0] * base_.blocks[1] * base_.blocks[2];
    k.blocks = {min(tiles, Call::make(Int(32), "halyard_cuda_multiprocessors",
                                      {Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic)}, Call::Extern)),
                1, 1};
    k.shared_bytes = shared_bytes(by_tma);
    k.blocks_per_multiprocessor = ", 1";

    const std::vector<Expr> all = used(by_tma);
    std::set<std::string> local = {kChainRow, kChainColumn, kChainElement, kChainHeldRow, kOperandDepth, parts_.step};
    local.insert(parts_.block_names.begin(), parts_.block_names.end());
    add_scalars(k, all, local, operands());
    std::set<std::string> needed = loaded_by(all);
    if (!by_tma) {
        for (const auto *o : operands()) {
            needed.insert(o->buffer);
        }
    }
    for (const auto *r : results()) {
        if (!by_tma || !tensor_of(*r)) {
            needed.insert(r->stored);
        }
    }
    add_buffers(k, base_, needed);
    if (!by_tma) {
        return k;
    }
    const auto tensor = [&](const std::string &buffer, const Type &type, int rank, int rows) {
        std::vector<int> box(size_t(rank), 1);
        box[0] = kAcross;
        box[1] = rows;
        k.arguments.push_back({buffer + ".map", false, false, Handle(), tensor_argument(buffer, type, box), Expr()});
    };
    const auto operand = [&](const Operand &o, int rows) { tensor(o.buffer, o.type, o.rank(), rows); };
    operand(parts_.first.a, parts_.rows);
    operand(parts_.first.b, parts_.first.columns);
    operand(parts_.second.b, parts_.second.depth);
    if (counts_tiles()) {
        k.arguments.push_back({kTilesTogether, false, false, Int(32), Expr(), tiles_together()});
        k.arguments.push_back({"next_tile", false, false, Handle(), Expr(), cast<uint64_t>(tiles > k.blocks[0] * kTilesToCount)});
    }
    for (const auto *r : results()) {
        if (const auto at = tensor_of(*r)) {
            tensor(r->stored, r->value.type(), int(at->size()), kRowsOfWarpgroup);
        }
    }
    return k;
}

std::vector<Expr> FusedLaunch::used(bool by_tma) const {
    std::vector<Expr> all = {base_.blocks[0], base_.blocks[1], base_.blocks[2], parts_.first_step, parts_.steps};
    for (const auto *o : operands()) {
        all.insert(all.end(), o->origin.begin(), o->origin.end());
        if (o->counts.defined()) {
            all.push_back(o->counts);
        }
        for (int d = 0; d < o->rank() && !by_tma; d++) {
            if (d < 2 || d == o->line_dimension()) {
                all.push_back(field(o->buffer, "extent", d));
            }
            if (d > 0) {
                all.push_back(field(o->buffer, "stride", d));
            }
        }
    }
    all.insert(all.end(), parts_.promises.begin(), parts_.promises.end());
    for (const auto *list : {&parts_.before, &parts_.between, &parts_.together, &parts_.after}) {
        for (const auto &n : *list) {
            if (n.row_extent.defined()) {
                all.push_back(n.row_extent);
            }
            for (const auto &a : n.assignments) {
                all.push_back(a.value);
                if (a.index.defined()) {
                    const auto at = by_tma ? tensor_of(a) : std::nullopt;
                    if (at) {
                        all.insert(all.end(), at->begin(), at->end());
                    } else {
                        all.push_back(a.index);
                    }
                }
            }
        }
    }
    return all;
}

int FusedLaunch::elements_a() const {
    return parts_.rows * panels(parts_.first.depth) * kAcross;
}

int FusedLaunch::elements_b() const {
    return parts_.first.columns * panels(parts_.first.depth) * kAcross;
}

int FusedLaunch::elements_c() const {
    return parts_.second.depth * panels(parts_.second.columns) * kAcross;
}

int FusedLaunch::stages(bool by_tma) const {
    return by_tma ? parts_.first_asked->stages : 1;
}

int FusedLaunch::results_by_engine() const {
    const auto all = results();
    return int(std::count_if(all.begin(), all.end(), [&](const Assignment *a) { return tensor_of(*a).has_value(); }));
}

int FusedLaunch::stages_a(bool by_tma) const {
    return by_tma && 2 * 2 * elements_a() + bytes_behind_a(true) <= kSharedBytesOfHopper ? 2 : 1;
}

bool FusedLaunch::counts_tiles() const {
    return stages_a(true) > 1 && std::any_of(parts_.block_names.begin(), parts_.block_names.end(), [&](const std::string &n) {
               return !n.empty() && (expr_uses_var(parts_.steps, n) || expr_uses_var(parts_.first_step, n));
           });
}

// Barriers, and the numbers of two tiles.
int FusedLaunch::bytes_behind_a(bool by_tma) const {
    const int stages_bytes = stages(by_tma) * (elements_b() + elements_c()) * 2;
    return stages_bytes + (by_tma ? results_by_engine() * parts_.rows * parts_.second.columns * 2 + 8 * (4 + 4 * stages(true)) + 8 : 0);
}

int FusedLaunch::offset_b(bool by_tma) const {
    return stages_a(by_tma) * elements_a() * 2;
}

int FusedLaunch::offset_c(bool by_tma) const {
    return offset_b(by_tma) + stages(by_tma) * elements_b() * 2;
}

int FusedLaunch::offset_results(bool by_tma) const {
    return offset_c(by_tma) + stages(by_tma) * elements_c() * 2;
}

int FusedLaunch::offset_barriers(bool by_tma) const {
    return offset_results(by_tma) + (by_tma ? results_by_engine() * parts_.rows * parts_.second.columns * 2 : 0);
}

int FusedLaunch::shared_bytes(bool by_tma) const {
    return stages_a(by_tma) * elements_a() * 2 + bytes_behind_a(by_tma);
}

}  // namespace halyard
