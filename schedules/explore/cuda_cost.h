#ifndef HALYARD_EXPLORE_CUDA_COST_H
#define HALYARD_EXPLORE_CUDA_COST_H

/** \file
 * What a kernel takes of a multiprocessor, and how long it takes for that, coarsely: what is compared are predictions of one
 * task.
 */

#include "cuda_places.h"

namespace halyard::explore {

/** What there is, on all multiprocessors together or on one. */
struct CudaMachine {
    double multiprocessors = 132;
    double bytes_a_second = 4e12;   // of memory
    double tensor_flops = 7e14;     // products of 16 bits
    double instructions = 3e13;     // a second, counted an element
    int64_t registers = 65536, shared = 227 << 10, threads = 2048;  // of a multiprocessor
    int64_t registers_a_thread = 255;
};

/** The device here; an H200 where there is none. */
CudaMachine cuda_machine();

/** What one block takes, and what follows of that. */
struct CudaResources {
    int64_t threads = 0, registers = 0, shared = 0;  // of a block; registers of a thread that has most
    int64_t resident = 0;                            // blocks on a multiprocessor; 0 where not even one fits
};

CudaResources cuda_resources(const CudaKernel &kernel, const Description &description, const CudaPlaces &places,
                             const CudaMachine &machine);

/** Seconds. Throws Failure where no block fits on a multiprocessor. */
double predict(const CudaKernel &kernel, const Description &description, const CudaPlaces &places, const CudaMachine &machine);

}  // namespace halyard::explore

#endif
