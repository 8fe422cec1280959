#ifndef HALYARD_LOWERING_CUDA_TILE_PROGRAM_H
#define HALYARD_LOWERING_CUDA_TILE_PROGRAM_H

/** \file
 * What a kernel with products on the tensor cores computes, apart from the instructions that it is printed with:
 *
 *   blocks tile:
 *     acc = 0
 *     for step: for row: for col: for d: acc[row][col] += f32(a[..]) * f32(b[..])          -- or int32, of bytes
 *     for row: for col: y[..] = f(acc[row][col], ...)
 *     rows of it reduced, and stored, as tile_rows.h has them
 *
 * Several products of one a, such as the gate and up of SwiGLU, share its tiles and the loop over steps.
 */

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/simt/alignment.h"
#include "lowering/cuda/tensor_cores/coordinates.h"
#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/tensor_cores/product.h"
#include "lowering/cuda/tensor_cores/tile_pairs.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"
#include "lowering/cuda/tensor_cores/tile_rows.h"

namespace halyard {

/** float16 or bfloat16. */
inline bool is_half(const Halide::Type &t) {
    return t.is_float() && t.bits() == 16;
}

/** Where elements of tensors lie. */
struct Strides {
    /** Of buffers that the pipeline allocates, and of those whose strides the generator says; of others they are variables. */
    std::map<std::string, std::vector<Halide::Expr>> known;
    std::set<std::string> allocated;
    /** Of those that the pipeline allocates; and of buffers of the caller, undefined where the generator says nothing. */
    std::map<std::string, std::vector<Halide::Expr>> extents;
    /** Of those that the pipeline allocates: what others of their elements are stays as it was when this kernel stores some. */
    std::set<std::string> partly_stored;
    const Lets *lets = nullptr;  // all those around the kernel, of fields of buffers as well

    Halide::Expr expanded(const Halide::Expr &e) const;
};

struct TileProgram {
    Kernel base;
    TensorCores asked;  // of the first product
    Strides strides;
    std::shared_ptr<Lets> host = std::make_shared<Lets>();  // around the kernel
    Parts parts;
    std::vector<TileOfProduct> tiles;  // a product each; they have rows, columns and the operand a in common
    std::set<std::string> accumulators;
    std::vector<Pair> before, after;              // the nests that give sums their first value, and those that use them
    std::vector<FusedNest> rows;                  // those that reduce rows, after them
    std::map<std::string, Halide::Type> numbers;  // of rows

    const TileOfProduct &tile() const {
        return tiles.front();
    }
    int products() const {
        return int(tiles.size());
    }
    const ProductPart &first() const {
        return parts.products.front();
    }
    std::vector<Operand> operands() const;
    /** What is known of a pair, for mark_aligned_vectors(). */
    AlignmentFacts facts() const;
};

/** `host` has the lets around the kernel, but those of fields of buffers. Says of products what keeps them from the tensor
 * cores. */
TileProgram read_tile_program(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides);

/** The coordinates of an element of a tensor, by an index with its lets expanded; `strides` as of read_tile_program(). */
std::optional<std::vector<Halide::Expr>> tensor_coordinates(const Halide::Expr &index, const std::string &buffer, const Strides &strides,
                                                            const IndexVariables &variables);

/** Of a kernel: its blocks, and a loop over steps; the names of blocks as of Parts. */
std::map<std::string, Halide::Expr> extents_of_launch(const Kernel &kernel, const std::array<std::string, 3> &block_names,
                                                      const Strides &strides);

/** Finds out where the sum over an operand's depth ends (Operand::end), as the host knows it at a launch: false, where that is another
 * place in each block or step. One operand that ends there is enough, since it is 0 behind. */
bool find_end(Operand &o, const std::vector<std::string> &steps, const std::array<std::string, 3> &block_names, const Lets &host);

/** The loops of a nest. */
std::vector<std::string> loops_of(const Halide::Internal::Stmt &nest);

/** The extent of an operand, by its name in a kernel: of its depth as far as the sum goes. */
Halide::Expr extent_of(const Operand &o, int dimension);

/** A field of a buffer, by its name in a kernel. */
Halide::Expr field(const std::string &buffer, const char *what, int dimension);

}  // namespace halyard

#endif
