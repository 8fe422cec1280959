#ifndef HALYARD_APPS_BUFFER_VIEW_H
#define HALYARD_APPS_BUFFER_VIEW_H

/** \file
 * A halide_buffer_t and its dimensions on the stack, over memory of others. Halide::Runtime::Buffer does the same with a reference count
 * and, past four dimensions, a malloc, which a short sentence or a token would notice: its kernel calls are many and short.
 */

#include <HalideRuntime.h>

#include <cstdint>

namespace halyard_apps {

template<int Dimensions>
class BufferView {
public:
    /** Dimensions from the innermost outwards: {min, extent, stride}. */
    template<typename... Dims>
    BufferView(halide_type_t type, const void *host, Dims... dims) : dims_{dims...}, buffer_{} {
        static_assert(sizeof...(Dims) == Dimensions, "one {min, extent, stride} a dimension");
        // Halide's C interface has no const; kernels write their output only.
        buffer_.host = static_cast<uint8_t *>(const_cast<void *>(host));
        buffer_.type = type;
        buffer_.dimensions = Dimensions;
        buffer_.dim = dims_;
    }
    BufferView(const BufferView &) = delete;
    BufferView &operator=(const BufferView &) = delete;

    operator halide_buffer_t *() {
        return &buffer_;
    }

protected:
    halide_dimension_t dims_[Dimensions];
    halide_buffer_t buffer_;
};

/** From 0 on. */
inline halide_dimension_t dim(int64_t extent, int64_t stride) {
    return halide_dimension_t(0, int32_t(extent), int32_t(stride));
}

}  // namespace halyard_apps

#endif
