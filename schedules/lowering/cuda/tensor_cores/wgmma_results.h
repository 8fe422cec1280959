#ifndef HALYARD_LOWERING_CUDA_WGMMA_RESULTS_H
#define HALYARD_LOWERING_CUDA_WGMMA_RESULTS_H

/** \file
 * How what is made of a tile's sums leaves the registers of a kernel for wgmma, as text: through shared memory by the copy
 * engine, or stored by the threads.
 */

#include <string>

#include "lowering/cuda/tensor_cores/wgmma_launch.h"

namespace halyard {

class WgmmaResults : public WgmmaLaunch {
protected:
    using WgmmaLaunch::WgmmaLaunch;

    /** Of all nests behind the products. */
    void store_results(WgmmaForm form);
    void coordinates_of_element() override;
    std::string row_of_thread() const;

private:
    void store_pairs(const Pair &p, const Halide::Internal::ModulusRemainder &alignment);
    void leave_by_engine(const Pair &p, int offset);
    void values(const Pair &p, const std::string &name, int part);
    void matrices(const Pair &p, const std::string &name, int begin);
    bool is_read_in_place(const Pair &p) const;
    void pairs(const Pair &p, const std::string &name, int begin);
};

}  // namespace halyard

#endif
