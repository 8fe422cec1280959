#ifndef HALYARD_EXPLORE_CUDA_PLACES_H
#define HALYARD_EXPLORE_CUDA_PLACES_H

/** \file
 * Which Funcs are kernels, and which are computed in the blocks or threads of one.
 */

#include <memory>

#include "explore/space/choices.h"
#include "explore/space/cuda_product.h"

namespace halyard::explore {

struct CudaPlaces {
    std::set<std::string> inlined;
    std::unique_ptr<Graph> graph;  // without those
    std::map<std::string, CudaProduct> products;
    std::vector<CudaKernel> kernels;  // each after all that read what it stores; without numbers
    std::string fusion;               // "row_max in y", in words
};

CudaPlaces place_for_cuda(const Description &description, Choices &choices);

/** Dimensions in which an update stores elsewhere than at its own loop: those of a list that is sorted, of a scan. */
std::vector<std::string> list_dims(const Func &f);

}  // namespace halyard::explore

#endif
