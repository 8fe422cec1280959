#ifndef HALYARD_COMMAND_GPU_H
#define HALYARD_COMMAND_GPU_H

/** \file
 * The CUDA device that this process would use, and its driver: HALYARD_CUDA_DRIVER, else libcuda.
 */

#include <cstdint>
#include <optional>
#include <string>

namespace halyard {

struct Gpu {
    std::string name;  // as the driver has it: "NVIDIA H200"
    int multiprocessors = 0;
    int capability = 0;  // 90
    int64_t l2 = 0;      // bytes

    /** Its architecture, with the instructions that it alone has: "sm_90a". */
    std::string architecture() const;
};

/** The first device; nothing where there is no driver, or it has none. Holds no context. */
const std::optional<Gpu> &gpu();

/** A function of the driver; null where there is no driver, or it lacks the function. */
void *cuda_function(const char *name);

}  // namespace halyard

#endif
