#ifndef HALYARD_CUDA_API_H
#define HALYARD_CUDA_API_H

/** \file
 * The part of NVIDIA's driver API that the runtime calls, loaded when it is first needed: nothing
 * that links the runtime needs libcuda, or cuda.h to build.
 */

#include <stddef.h>
#include <stdint.h>

#include "HalideRuntime.h"

struct CUctx_st;
struct CUstream_st;
struct CUmod_st;
struct CUfunc_st;
struct CUmemPoolHandle_st;

extern "C" {
// Halide's, declared in none of its headers.
int halide_cuda_acquire_context(void *user_context, CUctx_st **context, bool create);
int halide_cuda_release_context(void *user_context);
int halide_cuda_get_stream(void *user_context, CUctx_st *context, CUstream_st **stream);
}

namespace halyard_cuda {

using Context = CUctx_st *;
using Stream = CUstream_st *;
using Module = CUmod_st *;
using Function = CUfunc_st *;
using Pool = CUmemPoolHandle_st *;
using Device = int;
using DevicePointer = unsigned long long;

enum Result : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kNoBinaryForGpu = 209,
    kUnsupportedPtx = 222,
    kInvalidHandle = 400,
    kNotFound = 500,
    kOutOfResources = 701,
    kContextIsDestroyed = 709,
    kNotSupported = 801,
    kCaptureUnsupported = 900,
    kCaptureInvalidated = 901,
};

enum DeviceAttribute : int {
    kMaxThreadsPerBlock = 1,
    kMaxBlockX = 2,
    kMaxBlockY = 3,
    kMaxBlockZ = 4,
    kMaxGridX = 5,
    kMaxGridY = 6,
    kMaxGridZ = 7,
    kMultiprocessors = 16,
    kCapabilityMajor = 75,
    kCapabilityMinor = 76,
    kMaxSharedPerBlock = 97,
    kPoolsSupported = 115,
};

enum FunctionAttribute : int {
    kFunctionMaxThreads = 0,
    kFunctionSharedBytes = 1,
    kFunctionPtxVersion = 5,
    kFunctionMaxDynamicShared = 8,
};

enum : int { kPointerMemoryType = 2, kPointerIsManaged = 8, kMemoryTypeHost = 1, kPoolReleaseThreshold = 4, kCaptureRelaxed = 2 };

struct PoolProperties {
    int allocation_type = 1;  // pinned, the only one there is
    int handle_types = 0;
    int location_type = 1;  // device
    int location_id = 0;
    void *security = nullptr;
    size_t max_size = 0;
    unsigned short usage = 0;
    unsigned char reserved[54] = {};
};
static_assert(sizeof(PoolProperties) == 88, "CUmemPoolProps");

struct LaunchAttribute {
    int id = 6;  // programmatic stream serialization
    int padding = 0;
    int allowed = 1;
    unsigned char rest[60] = {};
};
static_assert(sizeof(LaunchAttribute) == 72, "CUlaunchAttribute");

struct LaunchConfig {
    unsigned grid[3], block[3], shared_bytes;
    Stream stream;
    const LaunchAttribute *attributes;
    unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56, "CUlaunchConfig");

// Our name, the driver's name, the parameters.
#define HALYARD_CUDA_FUNCTIONS(F)                                                                                                          \
    F(init, "cuInit", (unsigned flags))                                                                                                    \
    F(version, "cuDriverGetVersion", (int *version))                                                                                       \
    F(get_error_name, "cuGetErrorName", (Result result, const char **name))                                                                \
    F(get_error_string, "cuGetErrorString", (Result result, const char **text))                                                            \
    F(device_count, "cuDeviceGetCount", (int *count))                                                                                      \
    F(device_get, "cuDeviceGet", (Device * device, int ordinal))                                                                           \
    F(device_name, "cuDeviceGetName", (char *name, int size, Device device))                                                               \
    F(device_attribute, "cuDeviceGetAttribute", (int *value, DeviceAttribute attribute, Device device))                                    \
    F(primary_retain, "cuDevicePrimaryCtxRetain", (Context * context, Device device))                                                      \
    F(primary_release, "cuDevicePrimaryCtxRelease_v2", (Device device))                                                                    \
    F(context_get, "cuCtxGetCurrent", (Context * context))                                                                                 \
    F(context_push, "cuCtxPushCurrent_v2", (Context context))                                                                              \
    F(context_pop, "cuCtxPopCurrent_v2", (Context * context))                                                                              \
    F(context_device, "cuCtxGetDevice", (Device * device))                                                                                 \
    F(module_load, "cuModuleLoadData", (Module * module, const void *image))                                                               \
    F(module_unload, "cuModuleUnload", (Module module))                                                                                    \
    F(module_function, "cuModuleGetFunction", (Function * function, Module module, const char *name))                                      \
    F(function_get, "cuFuncGetAttribute", (int *value, FunctionAttribute attribute, Function function))                                    \
    F(function_set, "cuFuncSetAttribute", (Function function, FunctionAttribute attribute, int value))                                     \
    F(launch, "cuLaunchKernel",                                                                                                            \
      (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,         \
       unsigned shared_bytes, Stream stream, void **parameters, void **extra))                                                             \
    F(launch_with, "cuLaunchKernelEx", (const LaunchConfig *config, Function function, void **parameters, void **extra))                   \
    F(memory_alloc, "cuMemAlloc_v2", (DevicePointer * pointer, size_t bytes))                                                              \
    F(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                                                                     \
    F(memory_free, "cuMemFree_v2", (DevicePointer pointer))                                                                                \
    F(memory_free_async, "cuMemFreeAsync", (DevicePointer pointer, Stream stream))                                                         \
    F(memory_set_async, "cuMemsetD32Async", (DevicePointer pointer, unsigned value, size_t count, Stream stream))                          \
    F(pool_create, "cuMemPoolCreate", (Pool * pool, const PoolProperties *properties))                                                     \
    F(pool_destroy, "cuMemPoolDestroy", (Pool pool))                                                                                       \
    F(pool_set, "cuMemPoolSetAttribute", (Pool pool, int attribute, void *value))                                                          \
    F(pool_trim, "cuMemPoolTrimTo", (Pool pool, size_t bytes_to_keep))                                                                     \
    F(pool_alloc, "cuMemAllocFromPoolAsync", (DevicePointer * pointer, size_t bytes, Pool pool, Stream stream))                            \
    F(pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, DevicePointer pointer))                                     \
    F(tensor_encode, "cuTensorMapEncodeTiled",                                                                                             \
      (void *map, int type, unsigned rank, DevicePointer address, const uint64_t *extents, const uint64_t *strides, const uint32_t *box,   \
       const uint32_t *steps, int interleave, int swizzle, int promotion, int fill))                                                       \
    F(stream_synchronize, "cuStreamSynchronize", (Stream stream))                                                                          \
    F(stream_is_capturing, "cuStreamIsCapturing", (Stream stream, int *status))                                                            \
    F(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))

/** The driver's functions. Where it has none, or there is no driver, ours return an error. */
struct Driver {
#define F(name, symbol, parameters) Result(*name) parameters;
    HALYARD_CUDA_FUNCTIONS(F)
#undef F
    /** What went wrong inside a kernel, from the driver of tests/emulator; null from any other. */
    const char *(*emulator_last_error)();
    /** Tells that driver which buffers the next launch of this thread has as its parameters, null for one that is no buffer;
     * null from any other. */
    void (*emulator_arguments)(int count, const halide_buffer_t *const *buffers);
};

/** Loads the driver on the first call; never fails. */
const Driver &driver();

/** Whether libcuda was found. Reports an error if not, and if the driver finds no device: 0 or the code. */
int start_driver(void *user_context);

/** Reports "`what`: `the driver's words`", and returns `code`. */
int report(void *user_context, int code, Result result, const char *what);

/** Reports a text of our own. */
int report(void *user_context, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** The context that this thread's calls use, made current for as long as this lives. */
class Scope {
    void *const user_context;
    Context current = nullptr;
    bool pushed = false;

public:
    int error = 0;  // 0, or a code that has been reported
    Context context = nullptr;
    Stream stream = nullptr;

    explicit Scope(void *user_context);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
};

/** Lets this thread load modules and make pools while somebody captures a graph; what the driver
 * forbids then is only what could end up in the graph by mistake. */
class OutsideCapture {
    int mode = kCaptureRelaxed;

public:
    OutsideCapture() {
        driver().exchange_capture_mode(&mode);
    }
    ~OutsideCapture() {
        driver().exchange_capture_mode(&mode);
    }
    OutsideCapture(const OutsideCapture &) = delete;
    OutsideCapture &operator=(const OutsideCapture &) = delete;
};

/** Has Halide's CUDA runtime load its functions: only then does halide_device_release() do anything.
 * Called before something is made that it has to release. */
void will_hold(void *user_context);

/** Lets go of the modules of one context, or of every context where it is null. */
void release_modules(Context context);
/** Lets go of our memory pools. */
void release_pools();

}  // namespace halyard_cuda

#endif
