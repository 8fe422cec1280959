#ifndef HALYARD_LOWERING_CUDA_SKINNY_LAYOUT_H
#define HALYARD_LOWERING_CUDA_SKINNY_LAYOUT_H

/** \file
 * How a block of a kernel of few rows is divided: each warp multiplies a slice of 32 bytes of the depth of a step, with sums of the whole tile, and
 * shared memory has stages of a, stages of b, and barriers, or the warps' sums in place of stages.
 */

#include <algorithm>

#include "lowering/cuda/tensor_cores/tile_program.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

/** Who fetches tiles: TMA, the threads by cp.async, or the threads element by element. */
enum class FetchedBy { kEngine, kCopies, kElements };

/** Of a multiprocessor, which has so many blocks at most. */
constexpr int kMaxSkinnyBlocks = 4;

class SkinnyLayout {
public:
    /** Of the kernel for calls whose operands are tensors; it has as many stages as the program asks for, or as fit where they are copied. Fails where the
     * tile has another form, or does not fit. `program` lives longer. */
    SkinnyLayout(const TileProgram &program, FetchedBy form);

    int sums_of_warp() const {  // of each of its threads
        return tile().rows * tile().columns / kWarp;
    }
    int warps() const;
    int threads() const {
        return warps() * kWarp;
    }
    int lines() const {  // of a step
        return tile().depth / elements_of_line(tile().a.type);
    }
    int line_of_b() const {  // bytes
        return is_across(tile().b) ? std::min(tile().columns * tile().b.type.bytes(), kSwizzledBytes) : kSwizzledBytes;
    }
    /** On a multiprocessor, as many as fit: what one reads at its beginning covers the end of another. */
    int blocks() const;

    int stages() const {
        return stages_;
    }
    int stages(FetchedBy form) const {
        return form == FetchedBy::kElements ? 1 : stages_;
    }
    int elements_a() const {
        return tile().rows * tile().depth;
    }
    int elements_b() const {  // of one product
        return tile().columns * tile().depth;
    }
    int offset_b(FetchedBy form) const {  // bytes, as all offsets
        return stages(form) * elements_a() * tile().a.type.bytes();
    }
    int sums_of_slices() const {                              // of one product
        return warps() * tile().rows * (tile().columns + 8);  // as pitch_of_slice has it
    }
    int offset_barriers(FetchedBy form) const;
    int shared_bytes(FetchedBy form) const;

private:
    const TileOfProduct &tile() const {
        return program_.tile();
    }
    void check_tile(const TensorCores &product) const;

    const TileProgram &program_;
    const FetchedBy form_;
    int stages_ = 0;
};

}  // namespace halyard

#endif
