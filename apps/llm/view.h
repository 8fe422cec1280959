#ifndef HALYARD_LLM_VIEW_H
#define HALYARD_LLM_VIEW_H

/** \file
 * A halide_buffer_t and its dimensions on the stack, over memory of others.
 */

#include <HalideRuntime.h>

#include <cstdint>

namespace halyard_llm {

struct Extent {
    int64_t extent, stride;
};

template<int Dimensions>
class View {
public:
    /** Dimensions from the innermost outwards. */
    template<typename... Extents>
    View(halide_type_t type, const void *host, Extents... extents) : dims_{dim(extents)...}, buffer_{} {
        static_assert(sizeof...(Extents) == Dimensions, "an extent a dimension");
        // Halide's C interface has no const; kernels write their output only.
        buffer_.host = static_cast<uint8_t *>(const_cast<void *>(host));
        buffer_.type = type;
        buffer_.dimensions = Dimensions;
        buffer_.dim = dims_;
    }
    View(const View &) = delete;
    View &operator=(const View &) = delete;

    operator halide_buffer_t *() {
        return &buffer_;
    }

private:
    static halide_dimension_t dim(Extent e) {
        return halide_dimension_t(0, int32_t(e.extent), int32_t(e.stride));
    }

    halide_dimension_t dims_[Dimensions];
    halide_buffer_t buffer_;
};

constexpr halide_type_t kFloatType{halide_type_float, 32}, kByteType{halide_type_uint, 8}, kIntType{halide_type_int, 32};

/** Dense rows of f32. */
class Rows : public View<2> {
public:
    Rows(const void *host, int64_t columns, int64_t rows) : View<2>(kFloatType, host, Extent{columns, 1}, Extent{rows, columns}) {}
};

}  // namespace halyard_llm

#endif
