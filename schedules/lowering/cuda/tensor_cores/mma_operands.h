#ifndef HALYARD_LOWERING_CUDA_MMA_OPERANDS_H
#define HALYARD_LOWERING_CUDA_MMA_OPERANDS_H

/** \file
 * How tiles of the operands of products come into shared memory for mma, as text: threads fetch them by cp.async, or element
 * by element.
 */

#include <functional>
#include <string>

#include "lowering/cuda/tensor_cores/mma_layout.h"
#include "lowering/cuda/print/print.h"

namespace halyard {

class MmaOperands {
public:
    /** `text`: of an expression of the kernel that `out` prints. */
    MmaOperands(const TileProgram &program, const MmaLayout &layout, bool by_elements, KernelPrinter &out,
                std::function<std::string(const Halide::Expr &)> text);

    /** Declares them as matrices or tensors in device memory. */
    void declare();
    /** Where the tile of b of a product begins in a stage, in elements. */
    std::string b_tile(const std::string &stage, int product) const;

    /** A whole stage, of which any part may lie outside. */
    void fetch(const std::string &slice, const std::string &stage);
    void commit();
    /** The stage after the current one has arrived, for all threads. */
    void arrive();
    /** Behind the last of them. */
    void finish();

    /** Whether threads fetch chunks, where tiles are whole, whose places they found once; these, and how many slices are whole;
     * and fetch_part(part), which fetches a part of slice `next` to stage `behind`. */
    bool has_chunks() const;
    void declare_chunks();
    void define_fetch_part();

private:
    const TileOfProduct &tile() const {
        return program_.tile();
    }
    void declare_tensor(const Operand &o);
    void fetch_tile(const Operand &o, int others, const std::string &to);
    int lines_of(size_t operand) const;
    int chunks_of_thread(size_t operand) const;

    const TileProgram &program_;
    const MmaLayout &layout_;
    const bool by_elements_;
    KernelPrinter &out_;
    const std::function<std::string(const Halide::Expr &)> e;
};

}  // namespace halyard

#endif
