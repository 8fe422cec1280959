// Where there is no driver, no device, no memory pool; each in a process of its own.
#include <catch2/catch.hpp>

#include "support.h"

using Catch::Contains;

namespace {

// Everything that a program may call returns an error with that text.
void everything_fails_with(const std::string &text) {
    Halide::Runtime::Buffer<float> b(16);
    b.fill(1.0f);
    const Image image(std::vector<uint8_t>(64));
    for (int i = 0; i < 2; i++) {
        CHECK(halyard_cuda_launch(nullptr, image, "k", 1, 1, 1, 1, 1, 1, 0, "", nullptr) == halide_error_code_gpu_device_error);
        CHECK_THAT(last_error(), Contains(text));
        CHECK(b.device_malloc(halide_cuda_device_interface()) == halide_error_code_device_malloc_failed);
        CHECK_THAT(last_error(), Contains(text));
        b.set_host_dirty();
        CHECK(b.copy_to_device(halide_cuda_device_interface()) != 0);
        CHECK_THAT(last_error(), Contains(text));
        CHECK(halyard_cuda_wrap(b.raw_buffer(), b.data()) == halide_error_code_gpu_device_error);
        CHECK_THAT(last_error(), Contains(text));
        CHECK(halyard_cuda_synchronize() == halide_error_code_gpu_device_error);
        CHECK_THAT(last_error(), Contains(text));
        CHECK(b.device_free() == 0);
        CHECK(halyard_cuda_device_count() == 0);
        halyard_cuda_release();
    }
}

}  // namespace

TEST_CASE("no driver", "[no_driver][alone]") {
    everything_fails_with("no NVIDIA driver: libcuda.so.1 was not found");
    int major = 7, minor = 7;
    CHECK(halide_cuda_device_interface()->compute_capability(nullptr, &major, &minor) == 0);
    CHECK(major == 0);
    CHECK(minor == 0);
}

TEST_CASE("a driver, and no device", "[no_device][alone]") {
    everything_fails_with("no CUDA device can be used: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)");
}

TEST_CASE("a device without memory pools", "[no_pools][alone]") {
    Array<float> a(100, 2.0f);
    REQUIRE(a.to_device());
    CHECK(count("pools") == 0);
    CHECK(count("allocations") == 1);
    REQUIRE(a.to_host() == 0);
    CHECK(a.buffer().device_free() == 0);
    CHECK(count("allocations") == 0);
    int major = 0, minor = 0;
    CHECK(halide_cuda_device_interface()->compute_capability(nullptr, &major, &minor) == 0);
    CHECK(major * 10 + minor == 90);
}

TEST_CASE("the first call of all is captured", "[first_call_captured][alone]") {
    TestStream stream;
    halyard_cuda_set_stream(stream);
    stream.begin_capture();
    const Image image("launched");
    Halide::Runtime::Buffer<int> out(nullptr, 1);
    CHECK(out.device_malloc(halide_cuda_device_interface()) == 0);
    struct {
        halide_buffer_t *out;
        int bytes;
    } arguments = {out.raw_buffer(), 100 * 1024};
    CHECK(launch(image, "fill_shared", {1, 1, 100 * 1024}, "bi", arguments) == 0);
    CHECK(out.device_free() == 0);
    CHECK(count("captured") == 3);
    CHECK(stream.end_capture() == 0);
    halyard_cuda_set_stream(nullptr);
}
