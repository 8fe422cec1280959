#ifndef HALYARD_LLM_PEAKS_H
#define HALYARD_LLM_PEAKS_H

/** \file
 * What this machine does at best, for the floors of explain(): each is the best of some short runs.
 */

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace halyard_llm {

/** Bytes a second at which these arrays are read, by so many threads at once. */
double read_rate(const std::vector<std::pair<const uint8_t *, size_t>> &arrays, int threads);

/** Multiplications and additions a second of a thread: of f32, and of bytes. */
double float_peak();
double byte_peak();

}  // namespace halyard_llm

#endif
