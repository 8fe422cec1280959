#ifndef HALYARD_CUDA_FACTS_H
#define HALYARD_CUDA_FACTS_H

/** \file
 * What messages about a device say.
 */

#include "cuda_api.h"

namespace halyard_cuda {

/** What the caller of a failing launch wants to know about the device of the current context; numbers that it does not say are 0. */
struct DeviceFacts {
    char name[128] = "the CUDA device";
    int major = 0, minor = 0, max_shared = 0, max_threads = 0, max_block[3] = {}, max_grid[3] = {};

    DeviceFacts() {
        const Driver &d = driver();
        Device device = 0;
        if (d.context_device(&device)) {
            return;
        }
        d.device_name(name, sizeof(name), device);
        d.device_attribute(&major, kCapabilityMajor, device);
        d.device_attribute(&minor, kCapabilityMinor, device);
        d.device_attribute(&max_shared, kMaxSharedPerBlock, device);
        d.device_attribute(&max_threads, kMaxThreadsPerBlock, device);
        const DeviceAttribute blocks[] = {kMaxBlockX, kMaxBlockY, kMaxBlockZ}, grids[] = {kMaxGridX, kMaxGridY, kMaxGridZ};
        for (int i = 0; i < 3; i++) {
            d.device_attribute(&max_block[i], blocks[i], device);
            d.device_attribute(&max_grid[i], grids[i], device);
        }
    }
};

}  // namespace halyard_cuda

#endif
