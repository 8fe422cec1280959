#ifndef HALYARD_LLM_CUDA_DRIVER_H
#define HALYARD_LLM_CUDA_DRIVER_H

/** \file
 * NVIDIA's driver by the names of its functions, as its headers need not be there.
 */

#include <fmt/format.h>
#include <halyard/cuda.h>

#include <stdexcept>

#include "common/device_block.h"

extern "C" void *halide_cuda_get_symbol(void *user_context, const char *name);

namespace halyard_llm {

/** Calls one, which has to have parameters of just these types; its CUresult, that of what is not supported where the driver has none. */
template<typename... Arguments>
int call_driver(const char *name, Arguments... arguments) {
    constexpr int kNotSupported = 801;
    auto *const function = reinterpret_cast<int (*)(Arguments...)>(halide_cuda_get_symbol(nullptr, name));
    return function ? function(arguments...) : kNotSupported;
}

inline void check_driver(int code, const char *what) {
    if (code != 0) {
        throw std::runtime_error(fmt::format("{}: CUDA error {}", what, code));
    }
}

/** Has the context of the thread's calls be current. */
class InContext {
public:
    InContext() {
        halyard_apps::check_cuda(halyard_cuda_enter(&pushed_), "the GPU");
    }
    ~InContext() {
        halyard_cuda_leave(pushed_);
    }
    InContext(const InContext &) = delete;
    InContext &operator=(const InContext &) = delete;

private:
    int pushed_ = 0;
};

}  // namespace halyard_llm

#endif
