#ifndef HALYARD_LOWERING_CUDA_WGMMA_OPERANDS_H
#define HALYARD_LOWERING_CUDA_WGMMA_OPERANDS_H

/** \file
 * How tiles of the operands of products come into shared memory for wgmma, as text: TMA fetches them, or each
 * thread elements, which it puts where TMA would have.
 */

#include <functional>
#include <string>

#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/wgmma_layout.h"

namespace halyard {

class WgmmaOperands {
public:
    /** `text`: of an expression of the kernel that `out` prints. */
    WgmmaOperands(const TileProgram &program, const WgmmaLayout &layout, KernelPrinter &out,
                  std::function<std::string(const Halide::Expr &)> text);

    /** The tiles of a step, into `stage`. */
    void fetch();
    /** By all threads, into the only stage; all of them have arrived behind it. */
    void fetch_elements();

private:
    const TileOfProduct &tile() const {
        return program_.tile();
    }
    std::string b_tile(const std::string &stage, int product) const;
    void fetch_b(const Operand &b, const std::string &to);
    std::string others(const Operand &o);
    void fetch_elements(const Operand &o, const std::string &array, int others);
    void coordinates_of_element_of(const Operand &o, int line);

    const TileProgram &program_;
    const WgmmaLayout &layout_;
    KernelPrinter &out_;
    const std::function<std::string(const Halide::Expr &)> e;
};

}  // namespace halyard

#endif
