// The runtime on a real device: launch_check IMAGE, where IMAGE is launched_kernels.cpp as a fatbin. Prints
// what it finds, and fails where something is wrong. What the emulated driver only claims of a device is
// tried here: capture into a graph, pools, the default stream, the primary context.

#include <HalideBuffer.h>
#include <HalideRuntimeCuda.h>
#include <dlfcn.h>
#include <halyard/cuda.h>
#include <halyard/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

extern "C" int halyard_cuda_launch(void *user_context, const halide_buffer_t *image, const char *kernel, int grid_x, int grid_y, int grid_z,
                                   int block_x, int block_y, int block_z, int shared_bytes, const char *kinds, const void *arguments);

namespace {

using Floats = Halide::Runtime::Buffer<float>;

int failures = 0;

void check(bool right, const char *what) {
    printf("%s  %s%s%s\n", right ? "ok  " : "FAIL", what, right ? "" : ": ", right ? "" : halyard_last_error());
    failures += !right;
}

void check_error(int code, const char *part, const char *what) {
    const bool right = code != 0 && strstr(halyard_last_error(), part);
    printf("%s  %s: %s\n", right ? "ok  " : "FAIL", what, halyard_last_error());
    failures += !right;
}

template<typename... P>
int driver(const char *name, P... parameters) {
    static void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    auto *f = reinterpret_cast<int (*)(P...)>(dlsym(library, name));
    return f ? f(parameters...) : -1;
}

Halide::Runtime::Buffer<uint8_t> image;

struct ScaleArguments {
    halide_buffer_t *y, *x;
    float a;
    int n;
};

int scale(Floats &y, Floats &x, int block = 128) {
    const ScaleArguments arguments = {y.raw_buffer(), x.raw_buffer(), 2.0f, x.width()};
    return halyard_cuda_launch(nullptr, image, "scale", (x.width() + block - 1) / block, 1, 1, block, 1, 1, 0, "bbii", &arguments);
}

size_t free_memory() {
    size_t free = 0, total = 0;
    void *context = nullptr, *popped = nullptr;
    driver("cuDevicePrimaryCtxRetain", &context, 0);
    driver("cuCtxPushCurrent_v2", context);
    driver("cuMemGetInfo_v2", &free, &total);
    driver("cuCtxPopCurrent_v2", &popped);
    driver("cuDevicePrimaryCtxRelease_v2", 0);
    return free;
}

struct Graph {
    void *graph = nullptr, *runnable = nullptr;
};

// The first call of the process is captured: y = 4 x by way of a temporary buffer.
void capture(void *stream, Floats &y, Floats &x) {
    halyard_cuda_set_stream(static_cast<CUstream_st *>(stream));
    check(driver("cuStreamBeginCapture_v2", stream, 0) == 0, "capture begins");
    Floats t(nullptr, x.width());
    check(t.device_malloc(halide_cuda_device_interface()) == 0, "captured: memory");
    check(scale(t, x) == 0, "captured: the first launch of all");
    check(scale(y, t) == 0, "captured: another launch");
    struct {
        halide_buffer_t *y;
        int bytes;
    } arguments = {y.raw_buffer(), 200 * 1024};
    Floats flag(nullptr, 1);
    check(flag.device_malloc(halide_cuda_device_interface()) == 0, "captured: more memory");
    arguments.y = flag.raw_buffer();
    check(halyard_cuda_launch(nullptr, image, "fill_shared", 1, 1, 1, 1, 1, 1, 200 * 1024, "bi", &arguments) == 0,
          "captured: 200 KiB of shared memory");
    check(flag.device_free() == 0 && t.device_free() == 0, "captured: memory given back");
    Graph g;
    check(driver("cuStreamEndCapture", stream, &g.graph) == 0, "capture ends");
    void *context = nullptr, *popped = nullptr;
    driver("cuDevicePrimaryCtxRetain", &context, 0);
    driver("cuCtxPushCurrent_v2", context);
    check(driver("cuGraphInstantiateWithFlags", &g.runnable, g.graph, 0ull) == 0, "the graph can be run");
    for (int i = 0; i < 3; i++) {
        check(driver("cuGraphLaunch", g.runnable, stream) == 0, "the graph runs");
    }
    check(halyard_cuda_synchronize() == 0, "the graph has run");
    y.set_device_dirty();
    check(y.copy_to_host() == 0 && y.data()[x.width() - 1] == 4.0f * x.data()[x.width() - 1], "its result");
    driver("cuGraphExecDestroy", g.runnable);
    driver("cuGraphDestroy", g.graph);
    driver("cuCtxPopCurrent_v2", &popped);
    driver("cuDevicePrimaryCtxRelease_v2", 0);
}

template<typename F>
double least_ns(F f) {
    double best = 1e18;
    for (int i = 0; i < 30; i++) {
        halyard_cuda_synchronize();
        const auto start = std::chrono::steady_clock::now();
        for (int j = 0; j < 100; j++) {
            f();
        }
        best = std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 100);
    }
    return best;
}

void times(Floats &y, Floats &x) {
    const double ours = least_ns([&] { scale(y, x); });
    void *context = nullptr, *module = nullptr, *function = nullptr, *popped = nullptr;
    driver("cuDevicePrimaryCtxRetain", &context, 0);
    driver("cuCtxPushCurrent_v2", context);
    const double current = least_ns([&] { scale(y, x); });
    driver("cuModuleLoadData", &module, static_cast<const void *>(image.data()));
    driver("cuModuleGetFunction", &function, module, "scale");
    uint64_t yp = y.raw_buffer()->device, xp = x.raw_buffer()->device;
    float a = 2.0f;
    int n = x.width();
    void *parameters[] = {&yp, &xp, &a, &n};
    auto *launch =
        reinterpret_cast<int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)>(
            dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel"));
    void *stream = halyard_cuda_stream();
    const double theirs = least_ns([&] { launch(function, unsigned(n + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr); });
    const double memory = least_ns([&] {
        Floats t(nullptr, 1 << 20);
        t.device_malloc(halide_cuda_device_interface());
        t.device_free();
    });
    printf("      a launch takes %.0f ns, %.0f where the context is current; cuLaunchKernel alone %.0f; "
           "memory and back %.0f ns\n",
           ours, current, theirs, memory);
    driver("cuModuleUnload", module);
    driver("cuCtxPopCurrent_v2", &popped);
    driver("cuDevicePrimaryCtxRelease_v2", 0);
}

}  // namespace

int main(int argc, char **argv) {
    std::ifstream in(argc > 1 ? argv[1] : "", std::ios::binary);
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    image = Halide::Runtime::Buffer<uint8_t>(bytes.data(), int(bytes.size()));
    printf("%d devices\n", halyard_cuda_device_count());

    // The program's own context and stream, and its memory.
    void *context = nullptr, *stream = nullptr, *popped = nullptr;
    driver("cuInit", 0u);
    driver("cuDevicePrimaryCtxRetain", &context, 0);
    driver("cuCtxPushCurrent_v2", context);
    driver("cuStreamCreate", &stream, 1u);
    uint64_t own = 0;
    driver("cuMemAlloc_v2", &own, size_t(4000));
    driver("cuCtxPopCurrent_v2", &popped);
    const size_t free_before = free_memory();

    constexpr int n = 1000;
    Floats x(n), y(n);
    x.for_each_element([&](int i) { x(i) = float(i); });
    y.fill(0.0f);
    y.set_host_dirty(false);
    x.set_host_dirty();
    {
        Floats wrapped(nullptr, n);
        check(halyard_cuda_wrap(wrapped.raw_buffer(), reinterpret_cast<void *>(own)) == 0, "the caller's memory");
        check_error(halyard_cuda_wrap(y.raw_buffer(), y.data()), "is not device memory", "the host's memory");
        // Outside of the capture: what a captured call needs on the device.
        check(x.copy_to_device(halide_cuda_device_interface()) == 0 && y.device_malloc(halide_cuda_device_interface()) == 0, "buffers");
        capture(stream, y, x);
        check(scale(wrapped, x) == 0 && halyard_cuda_synchronize() == 0, "a kernel into the caller's memory");
        halyard_cuda_unwrap(wrapped.raw_buffer());
    }
    halyard_cuda_set_stream(nullptr);
    check(scale(y, x) == 0, "the default stream");
    y.set_device_dirty();
    check(y.copy_to_host() == 0 && y.data()[n - 1] == 2.0f * (n - 1), "its result");
    std::thread([&] {
        Floats other(nullptr, n);
        check(other.device_malloc(halide_cuda_device_interface()) == 0 && scale(other, x) == 0 && other.device_free() == 0,
              "another thread");
    }).join();

    check_error(scale(y, x, 2048), "a block of 2048 x 1 x 1 threads is too large", "too many threads");
    const ScaleArguments arguments = {y.raw_buffer(), x.raw_buffer(), 2.0f, n};
    check_error(halyard_cuda_launch(nullptr, image, "scale", 1, 1, 1, 1, 1, 1, 1 << 20, "bbii", &arguments), "shared memory a block",
                "too much shared memory");
    check_error(halyard_cuda_launch(nullptr, image, "scale", 1, 70000, 1, 1, 1, 1, 0, "bbii", &arguments), "blocks along y",
                "too many blocks");
    check_error(halyard_cuda_launch(nullptr, image, "missing", 1, 1, 1, 1, 1, 1, 0, "", nullptr), "missing", "no such kernel");
    if (argc > 2) {
        std::ifstream other(argv[2], std::ios::binary);
        std::vector<uint8_t> old{std::istreambuf_iterator<char>(other), std::istreambuf_iterator<char>()};
        Halide::Runtime::Buffer<uint8_t> b(old.data(), int(old.size()));
        check_error(halyard_cuda_launch(nullptr, b, "scale", 1, 1, 1, 1, 1, 1, 0, "bbii", &arguments), "has no code for",
                    "another architecture");
    }
    halide_dimension_t dims[] = {{0, 1 << 30, 1, 0}, {0, 1000, 1 << 30, 0}};
    halide_buffer_t large = {};
    large.type = halide_type_of<float>();
    large.dimensions = 2;
    large.dim = dims;
    check_error(halide_device_malloc(nullptr, &large, halide_cuda_device_interface()), "out of device memory", "too much memory");
    check(scale(y, x) == 0 && halyard_cuda_synchronize() == 0, "and on it goes");
    times(y, x);

    // The driver keeps a little of its own, once.
    size_t free_after[3];
    for (size_t &f : free_after) {
        x.set_host_dirty();
        check(x.copy_to_device(halide_cuda_device_interface()) == 0 && y.device_malloc(halide_cuda_device_interface()) == 0 &&
                  scale(y, x) == 0,
              "used again");
        x.device_free();
        y.device_free();
        halyard_cuda_synchronize();
        halyard_cuda_release();
        f = free_memory();
    }
    printf("      free memory: %zu at the start, %zu, %zu, %zu bytes after releases\n", free_before, free_after[0], free_after[1],
           free_after[2]);
    check(free_after[2] >= free_after[0], "all given back");

    // Last, as it ends the context: a write to nowhere.
    Floats nowhere(nullptr, n);
    nowhere.raw_buffer()->device = 0x100;
    nowhere.raw_buffer()->device_interface = halide_cuda_device_interface();
    x.set_host_dirty();
    check(x.copy_to_device(halide_cuda_device_interface()) == 0 && scale(nowhere, x) == 0, "a wrong pointer is launched");
    check_error(halyard_cuda_synchronize(), "illegal memory access", "and found by the next wait");
    check_error(scale(nowhere, x), "or a kernel before it failed", "as by every call after it");
    nowhere.raw_buffer()->device = 0;
    printf("%s\n", failures ? "FAILED" : "all right");
    fflush(stdout);
    x.device_free();
    return failures != 0;
}
