#ifndef HALYARD_MATH_WEIGHTS_H
#define HALYARD_MATH_WEIGHTS_H

/** \file
 * The right-hand matrix of a product, b: k x n, in the layouts in which weights are kept.
 */

#include <map>
#include <string>

#include <Halide.h>

namespace halyard {

/** kn: as it is written, n innermost. nk: transposed, k innermost, as torch.nn.Linear stores it.
 * packed: panels of `panel` columns, one after the other, each read from front to back;
 * [group, panel, ceil(k / group), ceil(n / panel)], padded with anything at its ends.
 * blocks: of 4 to 8 bits, in the formats of math/block_layout.h. */
enum class WeightLayout { kKN, kNK, kPacked, kBlocks };

inline std::map<std::string, WeightLayout> weight_layouts() {
    return {{"kn", WeightLayout::kKN}, {"nk", WeightLayout::kNK}, {"packed", WeightLayout::kPacked}};
}

/** Rows of b that lie together in a packed panel: 32 bits of them where an instruction multiplies and
 * adds so many at once (bf16: AVX512-BF16 and AMX; 8 bits: VNNI and AMX), else 1. `b` is the type of
 * the weights, and of what they are multiplied with. */
inline int packed_group(const Halide::Type &b) {
    return b.is_bfloat() ? 2 : b.bits() == 8 ? 4 : 1;
}

/** The name of the argument that holds b in a layout: b, b_nk or b_packed. */
inline std::string weights_name(const std::string &b, WeightLayout layout) {
    return b + (layout == WeightLayout::kKN ? "" : layout == WeightLayout::kNK ? "_nk" : "_packed");
}

inline int weights_rank(WeightLayout layout) {
    return layout == WeightLayout::kPacked ? 4 : 2;
}

/** Element (k, col) of b. Columns from `columns` on are read as the last one, or those of the last panel, so that a schedule may
 * round them up. */
template<typename Buffer>
Halide::Expr weight_at(Buffer &b, WeightLayout layout, int panel, const Halide::Expr &k, const Halide::Expr &col,
                       const Halide::Expr &columns) {
    using namespace Halide;
    const int group = packed_group(b.type());
    switch (layout) {
    case WeightLayout::kKN: return b(min(likely(col), columns - 1), k);
    case WeightLayout::kNK: return b(k, min(col, columns - 1));
    default: break;
    }
    // Not of columns - 1 clamped, as Halide makes min(col, columns - 1) / panel of that, of which vectors along col are gathered.
    const Expr of_col = min(col / panel, max((columns - 1) / panel, 0));
    return group == 1 ? b(0, col % panel, k, of_col) : b(k % group, col % panel, k / group, of_col);
}

/** A row of the left-hand matrix, whose second dimension it is. On a GPU rows beyond the last are read as the last one, so
 * that a schedule may round them up; on the host tiles are moved up instead. */
template<typename Buffer>
Halide::Expr row_at(Buffer &a, const Halide::Expr &row, const Halide::Target &target) {
    return target.has_gpu_feature() ? min(row, a.dim(1).max()) : row;
}

/** What a call on a GPU checks, as row_at() reads a row for any: an input has the rows of an output. */
inline void need_rows(Halide::Internal::GeneratorBase &generator, const Halide::Target &target, const std::string &name,
                      const Halide::Internal::Dimension &given, const Halide::Internal::Dimension &rows) {
    using Halide::Internal::Call;
    if (target.has_gpu_feature()) {
        const Halide::Expr there = rows.extent() <= 0 || (given.min() <= rows.min() && given.max() >= rows.max());
        // The second of two values is known by nobody: loops are split where clamped reads begin to be clamped.
        const Halide::Expr hidden = Call::make(Halide::Bool(), Call::return_second, {0, there}, Call::PureIntrinsic);
        generator.add_requirement(hidden, name, "has rows", given.min(), "to", given.max(), "and the output wants", rows.min(), "to",
                                  rows.max());
    }
}

/** What a call checks: b has as many rows as `k`, and packed panels are dense. */
template<typename Buffer>
void constrain_weights(Buffer &b, WeightLayout layout, int panel, const Halide::Expr &k) {
    const int group = packed_group(b.type());
    if (layout != WeightLayout::kPacked) {
        b.dim(layout == WeightLayout::kNK ? 0 : 1).set_extent(k);
        return;
    }
    b.dim(0).set_bounds(0, group);
    b.dim(1).set_bounds(0, panel).set_stride(group);
    b.dim(2).set_bounds(0, (k + group - 1) / group).set_stride(group * panel);
    b.dim(3).set_min(0);
}

/** acc += product(k) over k in [0, extent): over the multiple of `group` in it, then, where group is
 * not 1, over the rest in a second update with the loop "k_rest", of rest(k). A schedule that splits the
 * loop "k" by the group needs no guard, and can make the inner loop one instruction by atomic():vectorize(). */
template<typename Product, typename Rest>
void accumulate(Halide::FuncRef acc, int group, const Halide::Expr &extent, Product product, Rest rest) {
    using namespace Halide;
    const RDom r(0, extent / group * group, "k");
    acc += product(Expr(r));
    if (group > 1) {
        const RDom left(extent / group * group, extent % group, "k_rest");
        acc += rest(Expr(left));
    }
}

template<typename Product>
void accumulate(const Halide::FuncRef &acc, int group, const Halide::Expr &extent, const Product &product) {
    accumulate(acc, group, extent, product, product);
}

/** acc += product(k, part) over k in [0, extent) and the parts of each: as accumulate(), of loops "k_x" and "k_y", and
 * "k_rest_x" and "k_rest_y". */
template<typename Product>
void accumulate_parts(Halide::FuncRef acc, int group, const Halide::Expr &extent, int parts, const Product &product) {
    using namespace Halide;
    const RDom r({{0, extent / group * group}, {0, parts}}, "k");
    acc += product(Expr(r.x), Expr(r.y));
    if (group > 1) {
        const RDom left({{extent / group * group, extent % group}, {0, parts}}, "k_rest");
        acc += product(Expr(left.x), Expr(left.y));
    }
}

}  // namespace halyard

#endif
