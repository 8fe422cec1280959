// Arrays of a C program.

#include <limits.h>
#include <string.h>

#include "errors.h"
#include "halyard/array.h"

namespace {

struct NamedType {
    const char *name;
    halide_type_code_t code;
    uint8_t bits;
};

constexpr NamedType kTypes[] = {
    {"float32", halide_type_float, 32}, {"float16", halide_type_float, 16}, {"bfloat16", halide_type_bfloat, 16},
    {"float64", halide_type_float, 64}, {"int8", halide_type_int, 8},       {"uint8", halide_type_uint, 8},
    {"int16", halide_type_int, 16},     {"uint16", halide_type_uint, 16},   {"int32", halide_type_int, 32},
    {"uint32", halide_type_uint, 32},   {"int64", halide_type_int, 64},     {"uint64", halide_type_uint, 64},
};

bool fits(int64_t n) {
    return n >= -INT32_MAX && n <= INT32_MAX;
}

halide_buffer_t *fail(const char *message) {
    halyard::set_last_error(message);
    return nullptr;
}

}  // namespace

extern "C" {

halide_type_t halyard_type(const char *name) {
    for (const NamedType &t : kTypes) {
        if (name && strcmp(name, t.name) == 0) {
            return halide_type_t(t.code, t.bits);
        }
    }
    return halide_type_t(halide_type_int, 0);
}

halide_buffer_t *halyard_array_init(halyard_array *array, const void *data, const char *type, int dimensions, const int64_t *extents,
                                    const int64_t *strides) {
    if (!array || (dimensions > 0 && !extents)) {
        return fail("halyard_array_init: there is no array, or there are no extents");
    }
    *array = halyard_array();
    if (dimensions < 0 || dimensions > HALYARD_MAX_DIMENSIONS) {
        return fail("halyard_array_init: an array has from 0 to 8 dimensions");
    }
    array->buffer.type = halyard_type(type);
    if (array->buffer.type.bits == 0) {
        return fail("halyard_array_init: the type is none of float32, float16, bfloat16, float64, int8 to int64 and uint8 to uint64");
    }
    array->buffer.host = static_cast<uint8_t *>(const_cast<void *>(data));
    array->buffer.dimensions = dimensions;
    array->buffer.dim = array->dim;
    int64_t dense = 1;
    for (int d = 0; d < dimensions; d++) {
        const int64_t stride = strides ? strides[d] : dense;
        if (extents[d] < 0 || !fits(extents[d]) || !fits(stride)) {
            return fail("halyard_array_init: an extent is negative, or an extent or a stride does not fit in 31 bits");
        }
        array->dim[d] = halide_dimension_t(0, int32_t(extents[d]), int32_t(stride));
        dense = extents[d] > 0 ? dense * extents[d] : dense;
    }
    return &array->buffer;
}

}  // extern "C"
