#ifndef HALYARD_LOWERING_CUDA_MMA_LAYOUT_H
#define HALYARD_LOWERING_CUDA_MMA_LAYOUT_H

/** \file
 * How a block of a kernel for mma divides a tile among its warps, and its shared memory into stages. A stage has a slice of
 * the depth of a step.
 */

#include "lowering/cuda/tensor_cores/tile_program.h"
#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

constexpr int kBytesOfStage = 64;  // of the depth: stage_depth of ampere.h
constexpr int kChunk = 16;         // bytes that are copied at once

class MmaLayout {
public:
    /** Says of the product what keeps it from this division. */
    explicit MmaLayout(const TileProgram &program);

    int warps_down() const {
        return down_;
    }
    int warps_across() const {
        return across_;
    }
    int threads() const {
        return down_ * across_ * kWarp;
    }
    /** Of the tile, what a warp has. */
    int rows() const;
    int columns() const;
    /** Of each product a thread has so many. */
    int sums() const;
    /** Of 16 rows a warp has so many; and of all products. */
    int row_parts() const;
    int parts() const;

    int depth_of_stage() const;
    int slices_of_step() const;
    int elements_a() const;  // of a stage
    int elements_b() const;  // and one product
    int stages() const {
        return stages_;
    }
    int stage_bytes() const;
    /** On a multiprocessor. */
    int blocks() const {
        return blocks_;
    }

private:
    const TileOfProduct &tile() const {
        return program_.tile();
    }
    void divide_rows_and_columns();

    const TileProgram &program_;
    int down_ = 0, across_ = 0;  // warps
    int blocks_ = 1, stages_ = 0;
};

}  // namespace halyard

#endif
