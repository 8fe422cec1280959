#ifndef HALYARD_LOWERING_CUDA_STRIDED_READS_H
#define HALYARD_LOWERING_CUDA_STRIDED_READS_H

/** \file
 * Buffers of which nobody reads all elements. The values of a tuple have one size: a maximum that goes with a row of sums is
 * there for each of them, and read at the first.
 */

#include <map>
#include <string>

#include <Halide.h>

namespace halyard {

/** Of buffers that the pipeline allocates for itself: that all their loads have indices which are multiples of so many, where
 * that is more than 1. */
std::map<std::string, int> find_strided_reads(const Halide::Internal::Stmt &s);

}  // namespace halyard

#endif
