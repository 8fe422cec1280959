#ifndef MINILM_BUFFER_VIEW_H
#define MINILM_BUFFER_VIEW_H

/** \file
 * A halide_buffer_t and its dimensions on the stack. Halide::Runtime::Buffer
 * does the same with a reference count and, past four dimensions, a malloc; at
 * one sentence of 16 tokens some 40 kernel calls share 1.5 ms.
 */

#include <HalideRuntime.h>

namespace minilm {

template<int Dimensions>
class BufferView {
public:
    /** Dimensions from the innermost outwards: {min, extent, stride}. */
    template<typename... Dims>
    explicit BufferView(const float *host, Dims... dims)
        : dims_{dims...}, buffer_{} {
        static_assert(sizeof...(Dims) == Dimensions, "one {min, extent, stride} a dimension");
        // Halide's C interface has no const; kernels write their output only.
        buffer_.host = reinterpret_cast<uint8_t *>(const_cast<float *>(host));
        buffer_.type = halide_type_t(halide_type_float, 32);
        buffer_.dimensions = Dimensions;
        buffer_.dim = dims_;
    }
    BufferView(const BufferView &) = delete;
    BufferView &operator=(const BufferView &) = delete;

    operator halide_buffer_t *() {
        return &buffer_;
    }

private:
    halide_dimension_t dims_[Dimensions];
    halide_buffer_t buffer_;
};

inline halide_dimension_t dense(int extent, int stride) {
    return halide_dimension_t(0, extent, stride);
}

/** Dense rows of `columns` floats. */
class MatrixView : public BufferView<2> {
public:
    MatrixView(const float *host, int columns, int rows)
        : BufferView<2>(host, dense(columns, 1), dense(rows, columns)) {
    }
};

class VectorView : public BufferView<1> {
public:
    VectorView(const float *host, int count)
        : BufferView<1>(host, dense(count, 1)) {
    }
};

/** Panels of a packed weight: row in its group (of one, in f32), column in the panel, k, panel. */
class PanelView : public BufferView<4> {
public:
    PanelView(const float *host, int panel, int k, int panels)
        : BufferView<4>(host, dense(1, 1), dense(panel, 1), dense(k, panel), dense(panels, panel * k)) {
    }
};

}  // namespace minilm

#endif
