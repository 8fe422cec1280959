#ifndef HALYARD_COMMAND_DEVICE_COPIES_H
#define HALYARD_COMMAND_DEVICE_COPIES_H

/** \file
 * Arguments of a CUDA kernel on the device, as a program has them that allocates device memory itself: all of a buffer's memory
 * goes there and comes back, with what lies around and between the elements, so that their place in memory and what a kernel
 * writes beside them are the same as on the host.
 */

#include <vector>

#include "kernel/kernel.h"

namespace halyard {

class DeviceCopies {
public:
    DeviceCopies(const CompiledKernel &kernel, std::vector<HostBuffer *> buffers);
    ~DeviceCopies();
    DeviceCopies(const DeviceCopies &) = delete;
    DeviceCopies &operator=(const DeviceCopies &) = delete;

    /** 0, or the runtime's error code. */
    int to_device();
    int to_host();

private:
    struct Copy {
        HostBuffer *own;
        halide_dimension_t dimension;
        halide_buffer_t whole;  // its memory, in 8-byte integers: an extent has 31 bits
    };

    std::vector<Copy> copies_;
    const halide_device_interface_t *device_ = nullptr;
    int (*copy_to_device_)(void *, halide_buffer_t *, const halide_device_interface_t *) = nullptr;
    int (*copy_to_host_)(void *, halide_buffer_t *) = nullptr;
    int (*free_)(void *, halide_buffer_t *) = nullptr;
    int (*wrap_)(halide_buffer_t *, const void *) = nullptr;
    int (*unwrap_)(halide_buffer_t *) = nullptr;
};

}  // namespace halyard

#endif
