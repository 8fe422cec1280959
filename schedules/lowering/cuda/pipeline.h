#ifndef HALYARD_LOWERING_CUDA_PIPELINE_H
#define HALYARD_LOWERING_CUDA_PIPELINE_H

/** \file
 * The passes over a kernel without tensor cores, in their order (pipeline.cpp).
 */

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/extract/pass_run.h"
#include "lowering/cuda/simt/fetch.h"
#include "lowering/cuda/simt/launch_wait.h"
#include "lowering/cuda/simt/linear.h"
#include "lowering/cuda/simt/register_tiles.h"

namespace halyard {

/** Told of a kernel as Halide's IR has it, before all passes. */
extern const char *const kExtracted;

/** What the passes are told beside the kernel. */
struct SimtOptions {
    const Fetched &fetched;  // Funcs copied ahead
    const BeforeWait &before_wait;
    const ThreadPlaces &places;
    const Lets &lets;  // around the kernel, on the host
    RegistersFail fail;
    std::function<void(const PassRun &)> observe;  // may be empty
};

/** A kernel in a form that is better than the plain one, and the condition, in the host's variables, of calls that may use it. */
struct SimtForm {
    Kernel kernel;
    Halide::Expr usable;
};

/** The forms of a kernel. A call takes the first that it may use. */
struct SimtForms {
    std::optional<SimtForm> dense;    // memory is dense, so that dimensions are one
    std::optional<SimtForm> vectors;  // vectors are aligned; not there where nothing is moved in vectors, nor is `dense` then
    Kernel elements;                  // any call
};

SimtForms make_simt_forms(Kernel kernel, const SimtOptions &options);

/** The passes in their order, and why each stands where it does. */
struct PassText {
    std::string name, why;
};
std::vector<PassText> simt_passes();

}  // namespace halyard

#endif
