#ifndef HALYARD_CUDA_PARAMETERS_H
#define HALYARD_CUDA_PARAMETERS_H

/** \file
 * What a launch passes to its kernel.
 */

#include <string.h>

#include "cuda_api.h"
#include "cuda_tensor.h"

extern "C" {
int halyard_cuda_malloc_together(void *user_context, halide_buffer_t *const *buffers, int count);
int halide_cuda_device_free(void *user_context, halide_buffer_t *buffer);
}

namespace halyard_cuda {

/** An int on the device that begins at 0, for one launch, in the order of its stream. */
class Counter {
    void *const user_context;
    halide_dimension_t dimension = {0, 1, 1, 0};
    halide_buffer_t buffer = {};

public:
    explicit Counter(void *user_context) : user_context(user_context) {
        buffer.type = halide_type_t(halide_type_int, 32, 1);
        buffer.dimensions = 1;
        buffer.dim = &dimension;
    }
    ~Counter() {
        if (buffer.device) {
            halide_cuda_device_free(user_context, &buffer);
        }
    }
    Counter(const Counter &) = delete;
    Counter &operator=(const Counter &) = delete;

    /** 0, or a code that has been reported. */
    int begin(Stream stream, const char *name) {
        halide_buffer_t *const buffers[] = {&buffer};
        if (const int error = halyard_cuda_malloc_together(user_context, buffers, 1)) {
            return error;
        }
        const Result r = driver().memory_set_async(buffer.device, 0, 1, stream);
        return r ? report(user_context, halide_error_code_device_run_failed, r, name) : 0;
    }

    uint64_t address() const {
        return buffer.device;
    }
};

/** Where the kernel's parameters are: buffers become their addresses, the rest stays in the struct. */
class Parameters {
    static constexpr int kMaxTensors = 8;
    uint64_t addresses[256];
    TensorMap maps[kMaxTensors];

public:
    static constexpr int kMax = 256;
    void *pointers[kMax];
    const halide_buffer_t *buffers[kMax];  // that parameters are of; null for others
    int count = 0;
    uint64_t *counter = nullptr;  // where the address of a counter belongs; null where none is needed

    /** Reads the struct `arguments`, of which `kinds` has a letter for each member (halyard_cuda_launch). False where number `bad` cannot be passed: no
     * room for it, a buffer without device memory, or a tensor that the driver refuses by `result`. */
    bool fill(const char *kinds, const void *arguments, int *bad, Result *result) {
        int tensors = 0;
        auto *at = static_cast<const uint8_t *>(arguments);
        size_t offset = 0;
        for (int i = 0; kinds[i]; i++) {
            *bad = i;
            if (i == kMax) {
                return false;
            }
            const char kind = kinds[i];
            const size_t size = kind == 'c' ? 1 : kind == 's' ? 2 : kind == 'i' ? 4 : 8;
            offset = (offset + size - 1) & ~(size - 1);
            pointers[i] = const_cast<uint8_t *>(at + offset);
            buffers[i] = nullptr;
            count = i + 1;
            if (kind == 'b') {
                const halide_buffer_t *buffer = nullptr;
                memcpy(&buffer, at + offset, sizeof(buffer));
                buffers[i] = buffer;
                addresses[i] = buffer ? buffer->device : 0;
                pointers[i] = &addresses[i];
                if (!addresses[i]) {
                    return false;
                }
            }
            if (kind == 'n') {
                memcpy(&addresses[i], at + offset, sizeof(addresses[i]));
                pointers[i] = &addresses[i];
                counter = addresses[i] ? &addresses[i] : nullptr;
            }
            if (kind == 't') {
                const Tensor *tensor = nullptr;
                memcpy(&tensor, at + offset, sizeof(tensor));
                if (tensors == kMaxTensors || !tensor->buffer->device) {
                    return false;
                }
                *result = encode(&maps[tensors], *tensor);
                if (*result) {
                    return false;
                }
                buffers[i] = tensor->buffer;
                pointers[i] = &maps[tensors++];
            }
            offset += size;
        }
        return true;
    }
};

}  // namespace halyard_cuda

#endif
