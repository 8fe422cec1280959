// Which context and stream a call uses. Halide's own creates a context, whose memory and streams no
// other library in the process can use; here it is the primary one, or whatever the caller says.

#include "halyard/cuda.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include <atomic>

#include "HalideRuntimeCuda.h"
#include "cuda_api.h"
#include "cuda_choice.h"

namespace Halide::Runtime::Internal::Cuda {
int ensure_libcuda_init(void *user_context);
}

namespace halyard_cuda {

namespace {

using halyard::CudaChoice;

constexpr int kMaxDevices = 64;

// Primary contexts that we hold. The driver counts the holders.
std::atomic<Context> primaries[kMaxDevices];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

thread_local CudaChoice thread;
thread_local bool releasing = false;

int retain_primary(void *user_context, int ordinal, Context *context) {
    if (const int error = start_driver(user_context)) {
        return error;
    }
    const Driver &d = driver();
    int count = 0;
    d.device_count(&count);
    Device device = 0;
    if (ordinal < 0 || ordinal >= count || ordinal >= kMaxDevices || d.device_get(&device, ordinal)) {
        return report(user_context, halide_error_code_gpu_device_error, "there is no CUDA device %d: devices are 0 to %d", ordinal,
                      count - 1);
    }
    will_hold(user_context);
    const OutsideCapture capture;
    pthread_mutex_lock(&mutex);
    Result r = kSuccess;
    *context = primaries[ordinal].load(std::memory_order_acquire);
    if (!*context) {
        r = d.primary_retain(context, device);
        if (!r) {
            primaries[ordinal].store(*context, std::memory_order_release);
        }
    }
    pthread_mutex_unlock(&mutex);
    if (r) {
        const int code = r == kOutOfMemory ? halide_error_code_out_of_memory : halide_error_code_gpu_device_error;
        return report(user_context, code, r, "the CUDA device gave no context");
    }
    return 0;
}

void release_primaries() {
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < kMaxDevices; i++) {
        Device device = 0;
        if (primaries[i].exchange(nullptr) && !driver().device_get(&device, i)) {
            driver().primary_release(device);
        }
    }
    pthread_mutex_unlock(&mutex);
}

// What the thread's calls use, if it is there already; else of which device.
Context thread_context(void *user_context, int *device) {
    *device = 0;
    if (thread.context) {
        return thread.context;
    }
    *device = thread.device_and_one ? thread.device_and_one - 1 : halide_get_gpu_device(user_context);
    if (*device < 0) {
        *device = 0;
        Context current = nullptr;
        if (driver().context_get(&current) == kSuccess && current) {
            return current;
        }
    }
    return *device < kMaxDevices ? primaries[*device].load(std::memory_order_acquire) : nullptr;
}

int make_current(void *user_context, Context context, Context *current, bool *pushed) {
    const Driver &d = driver();
    Result r = d.context_get(current);
    if (r == kNotInitialized) {  // the program brought the context itself
        r = d.init(0);
        *current = nullptr;
    }
    if (!r && *current != context) {
        r = d.context_push(context);
        *pushed = !r;
    }
    return r ? report(user_context, halide_error_code_gpu_device_error, r, "the CUDA context cannot be used") : 0;
}

// Set by halide_set_gpu_device(); before that, by the environment.
std::atomic<int> wanted_device{INT_MIN};

}  // namespace

void will_hold(void *user_context) {
    Halide::Runtime::Internal::Cuda::ensure_libcuda_init(user_context);
}

Scope::Scope(void *user_context) : user_context(user_context) {
    error = halide_cuda_acquire_context(user_context, &context, true);
    if (!error) {
        error = halide_cuda_get_stream(user_context, context, &stream);
    }
    if (error) {
        return;
    }
    error = make_current(user_context, context, &current, &pushed);
}

Scope::~Scope() {
    if (pushed) {
        driver().context_pop(&current);
    }
    halide_cuda_release_context(user_context);
}

}  // namespace halyard_cuda

namespace halyard {

const CudaChoice &cuda_choice() {
    return halyard_cuda::thread;
}

void choose_cuda(const CudaChoice &choice) {
    halyard_cuda::thread = choice;
}

}  // namespace halyard

using namespace halyard_cuda;

extern "C" {

// A program may define halide_cuda_acquire_context() and its likes, or install handlers: these are
// the defaults behind them.
int halide_default_cuda_acquire_context(void *user_context, Context *context, bool create) {
    int device = 0;
    releasing = !create;
    *context = thread_context(user_context, &device);
    if (*context || !create) {
        return 0;
    }
    return retain_primary(user_context, device, context);
}

// Halide asks for a context without creating one only in halide_device_release(), whose last step is
// this: the place to let go of what is ours, after Halide has let go of what is Halide's.
int halide_default_cuda_release_context(void *) {
    if (releasing) {
        releasing = false;
        release_modules(nullptr);
        release_pools();
        release_primaries();
    }
    return 0;
}

int halide_default_cuda_get_stream(void *, Context, Stream *stream) {
    *stream = thread.stream;
    return 0;
}

// As Halide's, without its lock.
__attribute__((weak)) void halide_set_gpu_device(int device) {
    wanted_device.store(device, std::memory_order_relaxed);
}

__attribute__((weak)) int halide_get_gpu_device(void *) {
    int device = wanted_device.load(std::memory_order_relaxed);
    if (device == INT_MIN) {
        const char *text = getenv("HL_GPU_DEVICE");
        const int found = text ? atoi(text) : -1;
        if (wanted_device.compare_exchange_strong(device, found)) {
            device = found;
        }
    }
    return device;
}

void halyard_cuda_set_stream(Stream stream) {
    thread.stream = stream;
}

Stream halyard_cuda_stream(void) {
    return thread.stream;
}

void halyard_cuda_set_context(Context context) {
    thread.context = context;
}

void halyard_cuda_set_device(int device) {
    thread.device_and_one = device < 0 ? 0 : device == INT_MAX ? device : device + 1;
}

int halyard_cuda_enter(int *pushed) {
    Context context = nullptr, current = nullptr;
    bool is_pushed = false;
    int error = halide_cuda_acquire_context(nullptr, &context, true);
    if (!error) {
        error = make_current(nullptr, context, &current, &is_pushed);
        halide_cuda_release_context(nullptr);
    }
    *pushed = is_pushed;
    return error;
}

void halyard_cuda_leave(int pushed) {
    Context popped = nullptr;
    if (pushed) {
        driver().context_pop(&popped);
    }
}

int halyard_cuda_device_count(void) {
    int count = 0;
    return driver().init(0) == kSuccess && driver().device_count(&count) == kSuccess ? count : 0;
}

int halyard_cuda_synchronize(void) {
    const Scope scope(nullptr);
    if (scope.error) {
        return scope.error;
    }
    const Result r = driver().stream_synchronize(scope.stream);
    return r ? report(nullptr, halide_error_code_device_sync_failed, r, "CUDA work failed") : 0;
}

int halyard_cuda_is_captured(void) {
    int status = 0;
    return driver().stream_is_capturing(thread.stream, &status) == kSuccess && status != 0;
}

void halyard_cuda_release_context(Context context) {
    if (context) {
        release_modules(context);
    }
}

void halyard_cuda_release(void) {
    halide_device_release(nullptr, halide_cuda_device_interface());
}

}  // extern "C"
