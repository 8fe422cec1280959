// Starts the kernels of compiled pipelines.

#include <stdio.h>

#include "cuda_facts.h"
#include "cuda_kernels.h"
#include "cuda_parameters.h"

using namespace halyard_cuda;

namespace {

struct Shape {
    int grid[3], block[3], shared_bytes;
};

int report_launch(void *user_context, Result r, const Kernel *k, const Shape &s) {
    const DeviceFacts f;
    const Driver &d = driver();
    const char *const words = d.emulator_last_error();
    if (words && *words) {
        return report(user_context, halide_error_code_device_run_failed, "%s", words);
    }
    const int threads = s.block[0] * s.block[1] * s.block[2];
    int max_threads = f.max_threads;
    d.function_get(&max_threads, kFunctionMaxThreads, k->function);
    if (threads > max_threads) {
        return report(user_context, halide_error_code_device_run_failed,
                      "%s: a block of %d x %d x %d threads is too large: this kernel may have %d on %s", k->name, s.block[0], s.block[1],
                      s.block[2], max_threads, f.name);
    }
    for (int i = 0; i < 3; i++) {
        if (f.max_block[i] && s.block[i] > f.max_block[i]) {
            return report(user_context, halide_error_code_device_run_failed, "%s: %d threads of a block along %c are too many: %s takes %d",
                          k->name, s.block[i], "xyz"[i], f.name, f.max_block[i]);
        }
        if (f.max_grid[i] && s.grid[i] > f.max_grid[i]) {
            return report(user_context, halide_error_code_device_run_failed, "%s: %d blocks along %c are too many: %s takes %d", k->name,
                          s.grid[i], "xyz"[i], f.name, f.max_grid[i]);
        }
    }
    if (r == kOutOfMemory) {
        return report(user_context, halide_error_code_out_of_memory, "%s: out of device memory at the launch", k->name);
    }
    char what[512];
    snprintf(what, sizeof(what), "%s or a kernel before it failed on %s", k->name, f.name);
    return report(user_context, halide_error_code_device_run_failed, r, what);
}

// What this thread launched last, if that was just now: a kernel of the image on the stream.
struct Last {
    const void *image = nullptr;
    Stream stream = nullptr;
};
thread_local Last last;

// No blocks, or blocks of no threads, have nothing to do.
bool is_empty(const int size[3]) {
    return size[0] <= 0 || size[1] <= 0 || size[2] <= 0;
}

// The pipeline computes a number that does not fit as INT32_MIN.
bool has_overflown(const Shape &s) {
    bool any = s.shared_bytes == INT32_MIN;
    for (int i = 0; i < 3; i++) {
        any = any || s.grid[i] == INT32_MIN || s.block[i] == INT32_MIN;
    }
    return any;
}

// When a kernel may begin: when all before it in the stream has ended; before that, as it waits for it first; or beside the last one.
enum class Begins { kThen, kEarly, kBeside };

int launch(void *user_context, const halide_buffer_t *image, const char *name, const Shape &shape, const char *kinds, const void *arguments,
           Begins begins) {
    const Last before = last;
    last = Last();
    const int *const grid = shape.grid, *const block = shape.block;
    if (__builtin_expect(has_overflown(shape), 0)) {
        return report(user_context, halide_error_code_device_run_failed,
                      "%s: for arrays of these sizes its schedule wants 2^31 blocks, threads or bytes of shared memory or more: make fewer "
                      "and smaller blocks",
                      name);
    }
    if (is_empty(grid) || is_empty(block)) {
        return 0;
    }
    const Scope scope(user_context);
    if (scope.error) {
        return scope.error;
    }
    Kernel *k = find_kernel(image->host, name, scope.context);
    if (__builtin_expect(!k, 0)) {
        if (const int error = load_kernel(user_context, image->host, name, scope.context, &k)) {
            return error;
        }
    }
    const int shared_bytes = shape.shared_bytes;
    if (__builtin_expect(shared_bytes > k->shared_limit.load(std::memory_order_relaxed), 0)) {
        if (const int error = raise_shared(user_context, k, shared_bytes)) {
            return error;
        }
    }
    Parameters parameters;
    int bad = 0;
    Result encoded = kSuccess;
    if (__builtin_expect(!parameters.fill(kinds, arguments, &bad, &encoded), 0)) {
        if (encoded) {
            return report(user_context, halide_error_code_device_run_failed, encoded, name);
        }
        return report(user_context, halide_error_code_device_run_failed,
                      bad == Parameters::kMax ? "%s: more than %d arguments" : "%s: argument %d is a buffer without device memory", name,
                      bad);
    }
    Counter counter(user_context);
    if (parameters.counter) {
        if (const int error = counter.begin(scope.stream, name)) {
            return error;
        }
        *parameters.counter = counter.address();
    }
    if (__builtin_expect(driver().emulator_arguments != nullptr, 0)) {
        driver().emulator_arguments(parameters.count, parameters.buffers);
    }
    Result r = kNotSupported;
    const bool beside = begins == Begins::kBeside && k->runs_beside && before.image == image->host && before.stream == scope.stream;
    if (!parameters.counter && (beside || (begins == Begins::kEarly && k->waits))) {
        const LaunchAttribute attribute;
        const LaunchConfig config = {{unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])},
                                     {unsigned(block[0]), unsigned(block[1]), unsigned(block[2])},
                                     unsigned(shared_bytes),
                                     scope.stream,
                                     &attribute,
                                     1};
        r = driver().launch_with(&config, k->function, parameters.pointers, nullptr);
    }
    if (r == kNotSupported) {
        r = driver().launch(k->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes, scope.stream,
                            parameters.pointers, nullptr);
    }
    if (__builtin_expect(r != kSuccess, 0)) {
        return report_launch(user_context, r, k, shape);
    }
    last = {image->host, scope.stream};
    return 0;
}

}  // namespace

/** The call that stands in a compiled pipeline where its kernel was. `image->host` is what
 * cuModuleLoadData() takes. `arguments` points to a struct of the kernel's parameters in order, each
 * aligned to its size, and `kinds` has a letter for each: b a halide_buffer_t * whose device address the
 * kernel gets, c 1 byte, s 2, i 4, l 8, t a pointer to a Tensor (cuda_tensor.h), n 8 bytes, 0 or else the kernel gets the
 * address of an int on the device that begins at 0. Strings and image are constants of the pipeline: their addresses
 * name the kernel. */
extern "C" int halyard_cuda_launch(void *user_context, const halide_buffer_t *image, const char *name, int grid_x, int grid_y, int grid_z,
                                   int block_x, int block_y, int block_z, int shared_bytes, const char *kinds, const void *arguments) {
    return launch(user_context, image, name, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, kinds, arguments,
                  Begins::kThen);
}

/** The same, of a kernel that first waits until all that comes before it in the stream has ended, if its code is of sm_90 or later
 * (griddepcontrol.wait). It may be brought onto the device before that. */
extern "C" int halyard_cuda_launch_after(void *user_context, const halide_buffer_t *image, const char *name, int grid_x, int grid_y,
                                         int grid_z, int block_x, int block_y, int block_z, int shared_bytes, const char *kinds,
                                         const void *arguments) {
    return launch(user_context, image, name, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, kinds, arguments,
                  Begins::kEarly);
}

/** The same, of a kernel that needs nothing of the last one of the call, nor of those beside which that was launched, and that
 * waits for it before it ends: it may begin when all blocks of the last one have said so. Where there was none just before it,
 * or the device or the driver cannot do that, it is launched like any other. */
extern "C" int halyard_cuda_launch_beside(void *user_context, const halide_buffer_t *image, const char *name, int grid_x, int grid_y,
                                          int grid_z, int block_x, int block_y, int block_z, int shared_bytes, const char *kinds,
                                          const void *arguments) {
    return launch(user_context, image, name, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, kinds, arguments,
                  Begins::kBeside);
}
