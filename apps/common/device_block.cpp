#include "device_block.h"

#include <fmt/format.h>
#include <halyard/runtime.h>

#include <algorithm>
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
    const size_t words = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    if (words > size_t(INT32_MAX)) {
        throw std::runtime_error("an array of 16 GiB or more is too large for the GPU's kernels");
    }
    capacity_ = 0;
    check_cuda(halide_device_free(nullptr, &block_), "memory of the GPU");
    dim_ = halide_dimension_t(0, int32_t(words), 1);
    block_.type = halide_type_t(halide_type_uint, 64);
    block_.dimensions = 1;
    block_.dim = &dim_;
    check_cuda(halide_device_malloc(nullptr, &block_, halide_cuda_device_interface()), "memory of the GPU");
    capacity_ = bytes;
}

template<typename Copy>
void DeviceBlock::for_parts(const void *host, size_t bytes, const Copy &copy) const {
    constexpr size_t kMost = size_t(1) << 30;  // as a dimension has 32 bits
    for (size_t at = 0; at < bytes; at += kMost) {
        halide_dimension_t dim(0, int32_t(std::min(bytes - at, kMost)), 1);
        halide_buffer_t buffer = block_;
        buffer.type = halide_type_t(halide_type_uint, 8);
        buffer.dim = &dim;
        buffer.device += at;
        buffer.host = static_cast<uint8_t *>(const_cast<void *>(host)) + at;
        copy(&buffer);
    }
}

void DeviceBlock::upload(const void *from, size_t bytes) {
    reserve(bytes);
    for_parts(from, bytes, [](halide_buffer_t *part) {
        part->set_host_dirty();
        check_cuda(halide_copy_to_device(nullptr, part, halide_cuda_device_interface()), "copying to the GPU");
    });
}

void DeviceBlock::download(void *to, size_t bytes) const {
    for_parts(to, bytes, [](halide_buffer_t *part) {
        part->set_device_dirty();
        check_cuda(halide_copy_to_host(nullptr, part), "computing on the GPU");
    });
}

}  // namespace halyard_apps
