#ifndef HALYARD_EXPLORE_CUDA_SPACE_H
#define HALYARD_EXPLORE_CUDA_SPACE_H

/** \file
 * Schedules for CUDA of a generator for which nobody wrote one: what is a kernel of its own, what a block computes for its
 * row or a thread for its element, what is inlined, on what units products run; then threads, vectors, tiles, stages. The
 * text calls the helpers of schedules/lib/gpu_*.lua.
 */

#include "explore/space/choices.h"
#include "explore/space/cuda_cost.h"
#include "explore/space/cuda_kernel.h"
#include "explore/space/description.h"
#include "explore/space/lua_writer.h"

namespace halyard::explore {

struct CudaPlan {
    std::vector<CudaKernel> kernels;  // each after all that read what it stores
    std::set<std::string> modules;    // of the library, which the body needs
    std::string body;                 // of `apply`
    std::string fusion;               // "row_max, row_sum in y", in words
    double predicted = 0;             // seconds
};

/** Asks `choices` for everything that could be otherwise. Throws Failure that says why for decisions that give no schedule:
 * a kernel that needs more registers or shared memory than there are. */
CudaPlan make_cuda_plan(const Description &description, Choices &choices, const GpuFigures &machine);

std::string write_cuda_lua(const CudaPlan &plan, const ScriptHead &head);

}  // namespace halyard::explore

#endif
