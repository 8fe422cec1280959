#ifndef HALYARD_LOWERING_CUDA_PASS_RUN_H
#define HALYARD_LOWERING_CUDA_PASS_RUN_H

/** \file
 * What is told of a pass that has been over a kernel.
 */

#include <string>

#include <Halide.h>

namespace halyard {

struct PassRun {
    std::string kernel, form, pass;  // "rms_norm_y", "vectors", "fetch_ahead"
    double seconds = 0;
    Halide::Internal::Stmt after;
};

}  // namespace halyard

#endif
