#ifndef HALYARD_LOWERING_CUDA_TENSOR_BOX_H
#define HALYARD_LOWERING_CUDA_TENSOR_BOX_H

/** \file
 * What a warpgroup has of a tile as a box of a tensor, which TMA moves: a result on its way out, or what the
 * epilogue reads of each element.
 */

#include <optional>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/tile_program.h"

namespace halyard {

/** Where a tile begins, and the loop over rows that goes along each dimension, -1 for none. */
struct TensorBox {
    std::vector<Halide::Expr> origin;
    std::vector<int> loop, box;  // of the rows of a warpgroup
};

/** Whether TMA has the type, and a tile whole lines of it. */
bool moves_by_tma(const Halide::Type &element, int columns);

/** Whether the copy engine stores along a dimension what a tile does: of `size` elements from `origin` on `stored`, which are all that there are
 * in the tensor. An array of the pipeline may have more, which nobody reads, but where it is stored in parts. Lets of `host` are expanded. */
bool is_stored_as_box(const Halide::Expr &stored, int size, const std::string &buffer, int dimension, const Halide::Expr &origin,
                      const Lets &host, const Strides &strides);

/** Of the elements at `index`, two columns at a time, as a pair with those rows has it. Nothing where the index is no tile of a
 * tensor, or the rows of a warpgroup are no box of it. */
std::optional<TensorBox> tensor_box(const TileProgram &program, const std::string &buffer, const Halide::Type &element,
                                    const Halide::Expr &index, const std::vector<PairRows> &rows);

}  // namespace halyard

#endif
