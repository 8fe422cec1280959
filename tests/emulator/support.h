#ifndef HALYARD_TESTS_EMULATOR_SUPPORT_H
#define HALYARD_TESTS_EMULATOR_SUPPORT_H

/** \file
 * Launches as the code of a pipeline makes them, and the calls that a program makes to the driver. */

#include <HalideBuffer.h>
#include <HalideRuntimeCuda.h>
#include <dlfcn.h>
#include <halyard/cuda.h>
#include <halyard/runtime.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int halyard_cuda_launch(void *user_context, const halide_buffer_t *image, const char *kernel, int grid_x, int grid_y, int grid_z,
                                   int block_x, int block_y, int block_z, int shared_bytes, const char *kinds, const void *arguments);

extern "C" int halyard_cuda_launch_after(void *user_context, const halide_buffer_t *image, const char *kernel, int grid_x, int grid_y,
                                         int grid_z, int block_x, int block_y, int block_z, int shared_bytes, const char *kinds,
                                         const void *arguments);
extern "C" int halyard_cuda_launch_beside(void *user_context, const halide_buffer_t *image, const char *kernel, int grid_x, int grid_y,
                                          int grid_z, int block_x, int block_y, int block_z, int shared_bytes, const char *kinds,
                                          const void *arguments);

extern "C" int halyard_cuda_malloc_together(void *user_context, halide_buffer_t *const *buffers, int count);

/** The image of NAME_kernels.cpp, or bytes. */
class Image {
    std::vector<uint8_t> bytes_;
    Halide::Runtime::Buffer<uint8_t> buffer_;

public:
    explicit Image(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)), buffer_(bytes_.data(), int(bytes_.size())) {}
    explicit Image(const std::string &name) : Image(read(std::string(IMAGES) + "/libemulated_" + name + ".so")) {}
    operator const halide_buffer_t *() const {
        return buffer_.raw_buffer();
    }

private:
    static std::vector<uint8_t> read(const std::string &file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
};

/** Data on the host and on the device. */
template<typename T>
class Array {
    Halide::Runtime::Buffer<T> buffer_;

public:
    explicit Array(int size, T value = T()) : buffer_(size) {
        buffer_.fill(value);
        buffer_.set_host_dirty();
    }
    ~Array() {
        buffer_.device_free();
    }
    T &operator[](int i) {
        return buffer_(i);
    }
    int size() {
        return buffer_.width();
    }
    halide_buffer_t *to_device() {
        return buffer_.copy_to_device(halide_cuda_device_interface()) ? nullptr : buffer_.raw_buffer();
    }
    int to_host() {
        buffer_.set_device_dirty();
        return buffer_.copy_to_host();
    }
    halide_buffer_t *raw() {
        return buffer_.raw_buffer();
    }
    Halide::Runtime::Buffer<T> &buffer() {
        return buffer_;
    }
};

struct Shape {
    int grid = 1, block = 1, shared_bytes = 0;
};

/** Arguments as a pipeline passes them: a struct of members with natural alignment. */
template<typename Arguments>
int launch(const Image &image, const char *kernel, const Shape &s, const char *kinds, const Arguments &arguments) {
    return halyard_cuda_launch(nullptr, image, kernel, s.grid, 1, 1, s.block, 1, 1, s.shared_bytes, kinds, &arguments);
}

inline std::string last_error() {
    return halyard_last_error();
}

/** A function of the driver, as a program calls it beside the runtime. */
template<typename... Parameters>
int driver_call(const char *name, Parameters... parameters) {
    static void *const library = dlopen(getenv("HALYARD_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    auto *f = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
    return f(parameters...);
}

inline int count(const char *what) {
    return driver_call<const char *>("halyard_emulator_count", what);
}

inline void set(const char *name, int value) {
    driver_call<const char *, int>("halyard_emulator_set", name, value);
}

/** A stream of device 0's primary context. */
class TestStream {
    CUstream_st *stream_ = nullptr;

public:
    TestStream() {
        CUctx_st *context = nullptr, *popped = nullptr;
        driver_call("cuInit", 0u);
        driver_call("cuDevicePrimaryCtxRetain", &context, 0);
        driver_call("cuCtxPushCurrent_v2", context);
        driver_call("cuStreamCreate", &stream_, 1u);
        driver_call("cuCtxPopCurrent_v2", &popped);
    }
    ~TestStream() {
        driver_call("cuStreamDestroy_v2", stream_);
        driver_call("cuDevicePrimaryCtxRelease_v2", 0);
    }
    operator CUstream_st *() const {
        return stream_;
    }
    void begin_capture() {
        driver_call("cuStreamBeginCapture_v2", stream_, 0);
    }
    int end_capture() {
        void *graph = nullptr;
        return driver_call("cuStreamEndCapture", stream_, &graph);
    }
};

#endif
