// Finds the driver's functions, for Halide's CUDA runtime and for ours. The runtime neither links nor
// needs libcuda: where there is none, every function is one that returns an error.

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_api.h"

namespace halyard_cuda {

namespace {

pthread_once_t once = PTHREAD_ONCE_INIT;
void *library = nullptr;
char missing[512];  // what dlopen said
Driver functions;

Result no_device() {
    return kNoDevice;
}

Result not_supported() {
    return kNotSupported;
}

const char *no_words() {
    return nullptr;
}

// The stand-ins take any arguments: in this ABI the caller clears them away.
void *find(const char *name) {
    void *function = library ? dlsym(library, name) : nullptr;
    return function ? function : reinterpret_cast<void *>(library ? not_supported : no_device);
}

void load() {
    const char *path = getenv("HALYARD_CUDA_DRIVER");
    library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(missing, sizeof(missing), "%s", why ? why : "");
    }
#define F(name, symbol, parameters) functions.name = reinterpret_cast<Result(*) parameters>(find(symbol));
    HALYARD_CUDA_FUNCTIONS(F)
#undef F
    void *last_error = library ? dlsym(library, "halyard_emulator_last_error") : nullptr;
    functions.emulator_last_error = last_error ? reinterpret_cast<const char *(*)()>(last_error) : no_words;
    void *arguments = library ? dlsym(library, "halyard_emulator_arguments") : nullptr;
    functions.emulator_arguments = reinterpret_cast<void (*)(int, const halide_buffer_t *const *)>(arguments);
}

}  // namespace

const Driver &driver() {
    pthread_once(&once, load);
    return functions;
}

int start_driver(void *user_context) {
    const Driver &d = driver();
    if (!library) {
        return report(user_context, halide_error_code_gpu_device_error,
                      "no NVIDIA driver: libcuda.so.1 was not found, so this machine cannot run CUDA code (%s)", missing);
    }
    if (const Result r = d.init(0)) {
        return report(user_context, halide_error_code_gpu_device_error, r, "no CUDA device can be used");
    }
    int count = 0;
    if (const Result r = d.device_count(&count)) {
        return report(user_context, halide_error_code_gpu_device_error, r, "the CUDA devices cannot be counted");
    }
    if (count == 0) {
        return report(user_context, halide_error_code_gpu_device_error,
                      "no CUDA device: there is an NVIDIA driver, but no device that it lets this process use "
                      "(CUDA_VISIBLE_DEVICES is %s)",
                      getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "not set");
    }
    return 0;
}

int report(void *user_context, int code, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    halide_error(user_context, text);
    return code;
}

int report(void *user_context, int code, Result result, const char *what) {
    const char *name = nullptr, *words = nullptr;
    driver().get_error_name(result, &name);
    driver().get_error_string(result, &words);
    if (!name) {
        return report(user_context, code, "%s: CUDA error %d", what, int(result));
    }
    return report(user_context, code, "%s: %s (%s)", what, words ? words : "?", name);
}

}  // namespace halyard_cuda

extern "C" {

// Halide's own takes a missing function for an error once and then calls it.
void *halide_cuda_get_symbol(void *, const char *name) {
    halyard_cuda::driver();
    return halyard_cuda::find(name);
}

// 0.0 where there is no driver is an answer, not an error.
int halide_cuda_compute_capability(void *user_context, int *major, int *minor) {
    *major = *minor = 0;
    const halyard_cuda::Driver &d = halyard_cuda::driver();
    if (!halyard_cuda::library) {
        return 0;
    }
    const halyard_cuda::Scope scope(user_context);
    if (scope.error) {
        return scope.error;
    }
    halyard_cuda::Device device = 0;
    halyard_cuda::Result r = d.context_device(&device);
    r = r ? r : d.device_attribute(major, halyard_cuda::kCapabilityMajor, device);
    r = r ? r : d.device_attribute(minor, halyard_cuda::kCapabilityMinor, device);
    return r ? report(user_context, halide_error_code_gpu_device_error, r, "the CUDA device cannot be asked for its capability") : 0;
}

}  // extern "C"
