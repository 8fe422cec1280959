#ifndef HALYARD_EXPLORE_CUDA_COST_H
#define HALYARD_EXPLORE_CUDA_COST_H

/** \file
 * What a kernel takes of a multiprocessor, and how long it takes for that, coarsely: what is compared are predictions of one
 * task.
 */

#include "explore/space/cuda_places.h"
#include "explain/gpu_figures.h"

namespace halyard::explore {

/** The device here; an H200 where there is none. */
GpuFigures cuda_machine();

/** What one block takes, and what follows of that. */
struct CudaResources {
    int64_t threads = 0, registers = 0, shared = 0;  // of a block; registers of a thread that has most
    int64_t resident = 0;                            // blocks on a multiprocessor; 0 where not even one fits
};

CudaResources cuda_resources(const CudaKernel &kernel, const Description &description, const CudaPlaces &places, const GpuFigures &machine);

/** Seconds. Throws Failure where no block fits on a multiprocessor. */
double predict(const CudaKernel &kernel, const Description &description, const CudaPlaces &places, const GpuFigures &machine);

}  // namespace halyard::explore

#endif
