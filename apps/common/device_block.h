#ifndef HALYARD_APPS_DEVICE_BLOCK_H
#define HALYARD_APPS_DEVICE_BLOCK_H

/** \file
 * A grow-only block of the GPU's memory, and views of parts of it as the arguments of kernels.
 */

#include <HalideRuntimeCuda.h>

#include <cstddef>
#include <cstdint>

#include "buffer_view.h"

namespace halyard_apps {

/** Throws std::runtime_error with the runtime's message if code is not 0. */
void check_cuda(int code, const char *what);

class DeviceBlock {
public:
    DeviceBlock() = default;
    ~DeviceBlock();
    DeviceBlock(const DeviceBlock &) = delete;
    DeviceBlock &operator=(const DeviceBlock &) = delete;

    /** Make room for so many bytes. The contents are lost when the block grows. */
    void reserve(size_t bytes);

    /** Copies to the beginning of the block, for which it makes room. */
    void upload(const void *from, size_t bytes);

    /** Waits for all that was queued, and copies from the beginning of the block. */
    void download(void *to, size_t bytes) const;

    uint64_t address() const {
        return block_.device;
    }

private:
    /** Calls `copy` with buffers that have the first bytes of the block, and of `host`. */
    template<typename Copy>
    void for_parts(const void *host, size_t bytes, const Copy &copy) const;

    size_t capacity_ = 0;
    halide_dimension_t dim_;
    halide_buffer_t block_ = {};
};

/** Memory of the GPU as the argument of a kernel; dimensions from the innermost outwards. */
template<int Dimensions>
class DeviceView : public BufferView<Dimensions> {
public:
    template<typename... Dims>
    DeviceView(halide_type_t type, uint64_t address, Dims... dims) : BufferView<Dimensions>(type, nullptr, dims...) {
        this->buffer_.device = address;
        this->buffer_.device_interface = halide_cuda_device_interface();
    }
};

}  // namespace halyard_apps

#endif
