#ifndef HALYARD_SHARED_MEMORY_H
#define HALYARD_SHARED_MEMORY_H

#include "HalideRuntime.h"

namespace halyard {

constexpr int kMostArrays = 63;

bool has_elements(const halide_buffer_t *array);

/** The first of the outputs (bits of their numbers) of which a byte of an element is one of another array, on the host or on a device, and
 * that one. Views that lie between each other's rows share nothing. Where it takes too long to tell, as views whose rows lie across each
 * other may, they count as apart. */
bool find_shared(int64_t outputs, int count, const halide_buffer_t *const *arrays, int *output, int *other);

/** The same of two arrays. */
bool share_memory(const halide_buffer_t *a, const halide_buffer_t *b);

/** Whether two elements of an array may be one: there are two dimensions of which neither steps over all of the other. What is written
 * has none, as libraries ask of their outputs. */
bool elements_may_share(const halide_buffer_t *array);

}  // namespace halyard

#endif
