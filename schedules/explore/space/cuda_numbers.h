#ifndef HALYARD_EXPLORE_CUDA_NUMBERS_H
#define HALYARD_EXPLORE_CUDA_NUMBERS_H

/** \file
 * Threads, vectors, tiles and stages of a kernel.
 */

#include "explore/space/cuda_places.h"

namespace halyard::explore {

void choose_numbers(CudaKernel &kernel, const Description &description, const CudaPlaces &places, Choices &choices);

}  // namespace halyard::explore

#endif
