#ifndef HALYARD_LOWERING_CUDA_HOST_VALUES_H
#define HALYARD_LOWERING_CUDA_HOST_VALUES_H

/** \file
 * Divisions by sizes of a call, which all threads would do alike, are done by the host:
 *
 *   kernel(channels, groups): .. blockIdx / (channels / groups) ..
 *     ->
 *   kernel(of_group = channels / groups): .. blockIdx / of_group ..
 */

#include "kernel.h"

namespace halyard {

/** Makes arguments of what has such divisions in it, and of conditions over them. */
void divide_on_host(Kernel &kernel);

}  // namespace halyard

#endif
