#ifndef HALYARD_EXPLORE_CUDA_TEXT_H
#define HALYARD_EXPLORE_CUDA_TEXT_H

/** \file
 * The statements for a kernel, in the words of schedules/lib.
 */

#include "explore/space/cuda_places.h"

namespace halyard::explore {

/** Lines without an indentation. Adds the modules that they need to `modules`. */
std::vector<std::string> cuda_statements(const CudaKernel &kernel, const Description &description, const CudaPlaces &places,
                                         std::set<std::string> &modules);

}  // namespace halyard::explore

#endif
