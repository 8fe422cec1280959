#ifndef HALYARD_ARRAY_H
#define HALYARD_ARRAY_H

/** \file
 * Arrays of a C program as libraries take them. (In C++ there is Halide::Runtime::Buffer of HalideBuffer.h besides.)
 */

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As many dimensions as an argument of a library has at most. */
#define HALYARD_MAX_DIMENSIONS 8

/** An array over memory of the caller. `buffer` points at `dim`: who copies the struct calls halyard_array_init() again. */
struct halyard_array {
    struct halide_buffer_t buffer;
    struct halide_dimension_t dim[HALYARD_MAX_DIMENSIONS];
};

/** A type by its name: float32, float16, bfloat16, float64, int8 to int64, uint8 to uint64; of no bits where there is none of that name. */
struct halide_type_t halyard_type(const char *name);

/** Makes an array of memory that stays the caller's. Extents and strides stand in the order of the library's header, innermost dimension
 * first, so a matrix of C, float y[rows][cols], is {cols, rows}. Strides count elements; NULL means dense. Returns
 * &array->buffer, or NULL with a text in halyard_last_error(): the type is none, there are too many dimensions, or a number
 * does not fit in 31 bits. */
struct halide_buffer_t *halyard_array_init(struct halyard_array *array, const void *data, const char *type, int dimensions,
                                           const int64_t *extents, const int64_t *strides);

#ifdef __cplusplus
}
#endif

#endif
