#ifndef HALYARD_EXPLORE_CUDA_SPACE_H
#define HALYARD_EXPLORE_CUDA_SPACE_H

/** \file
 * Schedules for CUDA of a generator for which nobody wrote one: what is a kernel of its own, what a block computes for its
 * row, what is inlined; then threads, vectors, stages. The text is made of the helpers of schedules/lib/gpu.lua.
 */

#include "choices.h"
#include "description.h"
#include "lua_writer.h"
#include "task.h"

namespace halyard::explore {

struct CudaPlan {
    std::string body;        // of `apply`
    std::string fusion;      // "row_max, row_sum in y", in words
    double predicted = 0;    // seconds
};

/** Asks `choices` for everything that could be otherwise. Throws Failure for what the rules do not know: windows, scans, and
 * products of other than two matrices over [col, row]. */
CudaPlan make_cuda_plan(const Description &description, Choices &choices);

std::string write_cuda_lua(const CudaPlan &plan, const ScriptHead &head);

}  // namespace halyard::explore

#endif
