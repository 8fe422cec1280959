#include "lowering/cuda/tensor_cores/tensor_box.h"

#include <algorithm>

#include "lowering/cuda/simt/linear.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Of each loop over rows, what the 64 of a warpgroup have; nothing where they are no box.
std::vector<int> rows_of_warpgroup(const TileOfProduct &tile) {
    std::vector<int> box;
    int left = kRowsOfWarpgroup;
    for (const int extent : tile.row_loops) {
        const int part = std::min(extent, left);
        if (left % part != 0 || extent % part != 0) {
            return {};
        }
        box.push_back(part);
        left /= part;
    }
    return left == 1 ? box : std::vector<int>();
}

}  // namespace

bool moves_by_tma(const Type &element, int columns) {
    const bool known = element.is_float() ? element.bits() <= 32 : element.bits() == 8 || element.bits() == 32;
    return known && !element.is_bool() && columns % elements_of_line(element) == 0;
}

bool is_stored_as_box(const Expr &stored, int size, const std::string &buffer, int dimension, const Expr &origin, const Lets &host,
                      const Strides &strides) {
    const bool allocated = strides.allocated.count(buffer) > 0;
    if (allocated && strides.partly_stored.count(buffer) == 0) {
        return true;
    }
    const auto whole = [&](const Expr &e) { return allocated ? strides.expanded(expand(e, host)) : expand(e, host); };
    // Where there is a tile, there are more than 0.
    const auto without_zero = [](const Expr &e) {
        const auto *most = e.as<Max>();
        return most && is_const_zero(most->b) ? most->a : e;
    };
    const auto is_size = [&](const Expr &e) {
        const auto c = as_const_int(e);
        return c && *c >= size;
    };
    Expr left = without_zero(simplify(whole(stored)));
    if (const auto *least = left.as<Min>(); least && (is_size(least->b) || is_size(least->a))) {
        left = is_size(least->b) ? least->a : least->b;
    }
    const auto covers = [&](const Expr &extent) {
        return extent.defined() && can_prove(left >= without_zero(simplify(allocated ? whole(extent) : extent)) - whole(origin));
    };
    const auto said = strides.extents.find(buffer);
    return is_size(left) || (!allocated && covers(field(buffer, "extent", dimension))) ||
           (said != strides.extents.end() && size_t(dimension) < said->second.size() && covers(said->second[size_t(dimension)]));
}

std::optional<TensorBox> tensor_box(const TileProgram &program, const std::string &buffer, const Type &element, const Expr &index,
                                    const std::vector<PairRows> &rows) {
    const auto *ramp = index.as<Ramp>();
    if (!ramp || !is_const_one(ramp->stride)) {
        return std::nullopt;
    }
    // Blocks may begin outside of what they store: then the box has to be there as well.
    IndexVariables variables = {{kCol}, extents_of_launch(program.base, program.parts.block_names, program.strides), false};
    for (const auto &r : rows) {
        variables.tile.push_back(r.name);
    }
    const auto all = tensor_coordinates(expand(ramp->base, *program.first().lets), buffer, program.strides, variables);
    if (!all || all->size() < 2 || all->size() > 5 || linear((*all)[0]).factor_of(kCol) != 1) {
        return std::nullopt;
    }
    TensorBox r;
    const auto in_box = rows_of_warpgroup(program.tile());
    size_t found = 0;
    for (size_t d = 0; d < all->size(); d++) {
        Expr at = (*all)[d];
        int loop = -1, box = d == 0 ? elements_of_line(element) : 1;
        if (d == 0) {
            at = substitute(kCol, 0, at);
        } else if (found < rows.size() && linear(at).factor_of(rows[found].name) == 1) {
            at = substitute(rows[found].name, 0, at);
            loop = int(found);
            box = in_box.empty() ? 0 : in_box[found];
            found++;
        }
        r.origin.push_back(collapse(simplify(at), *program.host));
        r.loop.push_back(loop);
        r.box.push_back(box);
        const bool more =
            expr_uses_var(at, kCol) || std::any_of(rows.begin(), rows.end(), [&](const PairRows &l) { return expr_uses_var(at, l.name); });
        if (more) {
            return std::nullopt;
        }
    }
    return in_box.empty() || found < rows.size() ? std::nullopt : std::make_optional(r);
}

}  // namespace halyard
