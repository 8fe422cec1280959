#ifndef HALYARD_LOWERING_CUDA_KERNEL_SHAPE_H
#define HALYARD_LOWERING_CUDA_KERNEL_SHAPE_H

/** \file
 * Where the products of a kernel stand, and what they multiply, before anything is read closely.
 */

#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"

namespace halyard {

struct KernelShape {
    struct Product {
        const TensorCores *asked;
        std::vector<std::string> around;  // serial loops, the outer ones first
        Halide::Internal::Stmt store;     // of a sum
        bool conditional = false;         // in the loops of the tile
    };
    std::vector<Product> products;
    std::set<std::string> allocated;
    std::set<std::string>
        staged;  // arrays that products multiply, and what those are made of: computed of device memory by stages of their own

    /** Whether the products are neither one after the other, of tiles whose places in device memory are known at the launch, nor a pair of
     * which the second multiplies what was made of the first. */
    bool is_block_program() const;
};

KernelShape shape_of(const Kernel &kernel, const std::vector<TensorCores> &products);

/** Whether nothing but a product is in the loops, and all of them but the depth move over its sums. `store`: where not null, gets that of
 * a sum, or nothing, and `conditional` whether it stands under a condition, or leaves out rows or columns of the tile. */
bool is_tile_of_product(const Halide::Internal::For *loop, Halide::Internal::Stmt *store = nullptr, bool *conditional = nullptr);

}  // namespace halyard

#endif
