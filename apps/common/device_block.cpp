#include "device_block.h"

#include <fmt/format.h>
#include <halyard/runtime.h>

#include <stdexcept>

namespace halyard_apps {

void check_cuda(int code, const char *what) {
    if (code != 0) {
        throw std::runtime_error(fmt::format("{}: {}", what, halyard_last_error()));
    }
}

DeviceBlock::~DeviceBlock() {
    halide_device_free(nullptr, &block_);
}

void DeviceBlock::reserve(size_t bytes) {
    if (bytes <= capacity_) {
        return;
    }
    if (bytes > size_t(INT32_MAX)) {
        throw std::runtime_error("an array of 2 GiB or more is too large for the GPU's kernels");
    }
    capacity_ = 0;
    check_cuda(halide_device_free(nullptr, &block_), "memory of the GPU");
    dim_ = halide_dimension_t(0, int32_t(bytes), 1);
    block_.type = halide_type_t(halide_type_uint, 8);
    block_.dimensions = 1;
    block_.dim = &dim_;
    check_cuda(halide_device_malloc(nullptr, &block_, halide_cuda_device_interface()), "memory of the GPU");
    capacity_ = bytes;
}

halide_buffer_t DeviceBlock::part(halide_dimension_t *dim, const void *host, size_t bytes) const {
    *dim = halide_dimension_t(0, int32_t(bytes), 1);
    halide_buffer_t buffer = block_;
    buffer.host = static_cast<uint8_t *>(const_cast<void *>(host));
    buffer.dim = dim;
    return buffer;
}

void DeviceBlock::upload(const void *from, size_t bytes) {
    reserve(bytes);
    halide_dimension_t dim;
    halide_buffer_t buffer = part(&dim, from, bytes);
    buffer.set_host_dirty();
    check_cuda(halide_copy_to_device(nullptr, &buffer, halide_cuda_device_interface()), "copying to the GPU");
}

void DeviceBlock::download(void *to, size_t bytes) const {
    halide_dimension_t dim;
    halide_buffer_t buffer = part(&dim, to, bytes);
    buffer.set_device_dirty();
    check_cuda(halide_copy_to_host(nullptr, &buffer), "computing on the GPU");
}

}  // namespace halyard_apps
