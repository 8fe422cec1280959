#include "lowering/cuda/tiles/block_program.h"

#include <algorithm>
#include <utility>

#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_plain(const Operand &o, const BlockProgram &program) {
    return !o.value.defined() && !program.held.count(o.buffer) && o.depth_dimension == 0;
}

// Whether each product has computed columns and rows that lie in device memory, and nothing else depends on which side is which.
bool can_swap(const BlockProgram &program) {
    constexpr int kMostRows = 3 * kRowsOfWarpgroup, kMostColumns = 256;
    const auto products = program.products();
    const int columns = products[0]->product.columns;
    const bool sizes = columns % 16 == 0 && program.rows % 16 == 0 && (columns < kRowsOfWarpgroup || columns % kRowsOfWarpgroup == 0) &&
                       columns <= kMostRows && program.rows <= kMostColumns;
    const bool sides = std::all_of(products.begin(), products.end(), [&](const TileNode *n) {
        return n->product.b.value.defined() && is_plain(n->product.a, program) && n->product.columns == columns;
    });
    const auto nodes = program.nodes();
    return sizes && sides && std::all_of(nodes.begin(), nodes.end(), [](const TileNode *n) {
               return n->kind != TileNode::kNest || n->nest.kind == FusedNest::kTile;
           });
}

void swap_nodes(TileBody &body, int columns) {
    for (auto &n : body) {
        if (n.body) {
            swap_nodes(*n.body, columns);
        }
        if (n.kind == TileNode::kProduct) {
            TileOfProduct &t = n.product;
            std::swap(t.a, t.b);
            std::swap(t.rows, t.columns);
            t.row_loops = {t.rows};
            t.row_strides = {t.columns};
            // In registers it has no orientation.
            if (t.a.depth_dimension != 0) {
                std::swap(t.a.depth_dimension, t.a.other_dimension);
                std::swap(t.a.box[0], t.a.box[1]);
            }
        }
        if (n.kind == TileNode::kNest) {
            std::swap(n.nest.row_extent, n.nest.column_extent);
            n.nest.columns = columns;
            for (auto &a : n.nest.assignments) {
                a.value = with_sides_swapped(a.value);
                a.index = a.index.defined() ? with_sides_swapped(a.index) : a.index;
            }
        }
    }
}

}  // namespace

Expr with_sides_swapped(const Expr &e) {
    return substitute({{kChainRow, Variable::make(Int(32), kChainColumn)}, {kChainColumn, Variable::make(Int(32), kChainRow)}}, e);
}

void swap_sides(BlockProgram &program) {
    if (!can_swap(program)) {
        return;
    }
    const int rows = program.rows;
    program.rows = program.products()[0]->product.columns;
    swap_nodes(program.body, rows);
    for (auto &h : program.held) {
        h.second.columns = h.second.columns > 0 ? rows : h.second.columns;
    }
}

}  // namespace halyard
