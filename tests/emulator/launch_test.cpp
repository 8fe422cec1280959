// The launcher of the runtime on the emulated driver.
#include <catch2/catch.hpp>

#include <chrono>
#include <set>
#include <thread>

#include "support.h"

using Catch::Contains;

extern "C" void *halide_cuda_get_symbol(void *user_context, const char *name);

namespace {

const Image &kernels() {
    static const Image image("launched");
    return image;
}

// y = 2 x on the device
bool scales() {
    constexpr int n = 1000;
    Array<float> x(n), y(n, -1.0f);
    for (int i = 0; i < n; i++) {
        x[i] = float(i);
    }
    struct {
        halide_buffer_t *y, *x;
        float a;
        int n;
    } arguments = {y.to_device(), x.to_device(), 2.0f, n};
    if (!arguments.y || !arguments.x || launch(kernels(), "scale", {4, 256}, "bbii", arguments) || y.to_host()) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (y[i] != 2.0f * float(i)) {
            return false;
        }
    }
    return true;
}

int scale_nothing(const Shape &shape, std::string *message) {
    Array<float> x(1), y(1);
    struct {
        halide_buffer_t *y, *x;
        float a;
        int n;
    } arguments = {y.to_device(), x.to_device(), 2.0f, 0};
    const int error = launch(kernels(), "scale", shape, "bbii", arguments);
    *message = last_error();  // before freeing the arrays may fail too
    return error;
}

int fill_shared(int bytes, int *found) {
    Array<int> out(1);
    struct {
        halide_buffer_t *out;
        int bytes;
    } arguments = {out.to_device(), bytes};
    const int error = launch(kernels(), "fill_shared", {1, 1, bytes}, "bi", arguments);
    if (!error) {
        out.to_host();
        *found = out[0];
    }
    return error;
}

}  // namespace

TEST_CASE("a launch: the right answer, and the module loaded once") {
    REQUIRE(scales());
    const int modules = count("modules"), launches = count("launches");
    REQUIRE(scales());
    CHECK(count("modules") == modules);
    CHECK(count("launches") == launches + 1);
    CHECK(count("allocations") == 0);
    CHECK(count("pushed") == 0);
}

TEST_CASE("parameters of every size, each at its alignment") {
    Array<double> out(7);
    struct {
        halide_buffer_t *out;
        bool c;
        int16_t s;
        uint8_t c2;
        int i;
        int64_t l;
        float f;
        double d;
    } arguments = {out.to_device(), true, -2, 3, -4, int64_t(5) << 40, 6.5f, 7.25};
    REQUIRE(launch(kernels(), "take_all", {}, "bcscilil", arguments) == 0);
    REQUIRE(out.to_host() == 0);
    const double right[] = {1, -2, 3, -4, double(int64_t(5) << 40), 6.5, 7.25};
    for (int i = 0; i < 7; i++) {
        CHECK(out[i] == right[i]);
    }
}

TEST_CASE("a counter on the device, which begins at 0 for each launch and is gone after it") {
    for (const int counted : {1, 1, 0}) {
        Array<int> out(5);
        struct {
            halide_buffer_t *out;
            int64_t counter;
            int counted;
        } arguments = {out.to_device(), counted, counted};
        const int allocations = count("allocations");
        REQUIRE(launch(kernels(), "take_numbers", {5, 1}, "bni", arguments) == 0);
        CHECK(count("allocations") == allocations);
        REQUIRE(out.to_host() == 0);
        std::multiset<int> taken;
        for (int i = 0; i < 5; i++) {
            taken.insert(out[i]);
        }
        CHECK(taken == (counted ? std::multiset<int>{0, 1, 2, 3, 4} : std::multiset<int>{-1, -1, -1, -1, -1}));
    }
}

TEST_CASE("a kernel that waits by itself may begin early, whatever comes before it") {
    const auto after = [] { return halyard_cuda_launch_after(nullptr, kernels(), "nothing", 1, 1, 1, 1, 1, 1, 0, "", nullptr); };
    const int before = count("beside");
    TestStream stream;
    halyard_cuda_set_stream(stream);
    REQUIRE(after() == 0);
    REQUIRE(after() == 0);
    halyard_cuda_set_stream(nullptr);
    CHECK(count("beside") == before + 2);
}

TEST_CASE("a kernel beside the last one: only where that was just launched, on the same stream") {
    const auto beside = [] { return halyard_cuda_launch_beside(nullptr, kernels(), "nothing", 1, 1, 1, 1, 1, 1, 0, "", nullptr); };
    const auto other = [] { return halyard_cuda_launch(nullptr, kernels(), "nothing", 1, 1, 1, 1, 1, 1, 0, "", nullptr); };
    REQUIRE(other() == 0);
    const int before = count("beside");
    REQUIRE(beside() == 0);
    REQUIRE(beside() == 0);
    CHECK(count("beside") == before + 2);

    TestStream stream;
    halyard_cuda_set_stream(stream);
    REQUIRE(beside() == 0);
    CHECK(count("beside") == before + 2);
    halyard_cuda_set_stream(nullptr);

    // A launch that failed was none.
    int found = 0;
    REQUIRE(other() == 0);
    REQUIRE(fill_shared(228 * 1024, &found) != 0);
    REQUIRE(beside() == 0);
    CHECK(count("beside") == before + 2);
}

TEST_CASE("a grid without blocks launches nothing") {
    const int launches = count("launches");
    CHECK(halyard_cuda_launch(nullptr, kernels(), "scale", 1, 0, 1, 32, 1, 1, 0, "", nullptr) == 0);
    CHECK(count("launches") == launches);
}

TEST_CASE("shared memory over 48 KiB, up to what the device has") {
    for (const int bytes : {1, 48 * 1024, 48 * 1024 + 16, 227 * 1024, 100 * 1024}) {
        int found = 0;
        CHECK(fill_shared(bytes, &found) == 0);
        CHECK(found == 42);
    }
    CHECK(fill_shared(227 * 1024 + 1, nullptr) == halide_error_code_device_run_failed);
    CHECK_THAT(last_error(), Contains("fill_shared wants 232449 bytes of shared memory a block, and the emulated device 0 has 232448"));
}

TEST_CASE("launches that the device refuses say why") {
    std::string message;
    CHECK(scale_nothing({1, 1025}, &message) == halide_error_code_device_run_failed);
    CHECK_THAT(message, Contains("scale: a block of 1025 x 1 x 1 threads is too large: this kernel may have 1024"));
    CHECK(halyard_cuda_launch(nullptr, kernels(), "nothing", 1, 70000, 1, 1, 1, 1, 0, "", nullptr) == halide_error_code_device_run_failed);
    CHECK_THAT(last_error(), Contains("nothing: 70000 blocks along y are too many: the emulated device 0 takes 65535"));
    CHECK(halyard_cuda_launch(nullptr, kernels(), "missing", 1, 1, 1, 1, 1, 1, 0, "", nullptr) == halide_error_code_device_run_failed);
    CHECK_THAT(last_error(), Contains("missing: named symbol not found (CUDA_ERROR_NOT_FOUND)"));
    struct {
        halide_buffer_t *out;
        int bytes;
    } arguments = {nullptr, 1};
    Array<int> on_host(1);
    for (halide_buffer_t *buffer : {static_cast<halide_buffer_t *>(nullptr), on_host.raw()}) {
        arguments.out = buffer;
        CHECK(launch(kernels(), "fill_shared", {1, 1, 1}, "bi", arguments) == halide_error_code_device_run_failed);
        CHECK_THAT(last_error(), Contains("fill_shared: argument 0 is a buffer without device memory"));
    }
    CHECK(scales());
}

TEST_CASE("an image for other devices names this one") {
    const Image fatbin(std::vector<uint8_t>{0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    for (int i = 0; i < 2; i++) {
        CHECK(halyard_cuda_launch(nullptr, fatbin, "k", 1, 1, 1, 1, 1, 1, 0, "", nullptr) == halide_error_code_device_run_failed);
        CHECK_THAT(last_error(), Contains("k: this library has no code for the emulated device 0 (compute capability 9.0)"));
        CHECK_THAT(last_error(), Contains("sm_90"));
    }
    set("capability", 86);
    CHECK(halyard_cuda_launch(nullptr, fatbin, "k", 1, 1, 1, 1, 1, 1, 0, "", nullptr) != 0);
    CHECK_THAT(last_error(), Contains("sm_86"));
    set("capability", 90);
    const Image damaged(std::vector<uint8_t>(64, 7));
    CHECK(halyard_cuda_launch(nullptr, damaged, "k", 1, 1, 1, 1, 1, 1, 0, "", nullptr) == halide_error_code_device_run_failed);
    CHECK_THAT(last_error(), Contains("k: the library's device code is damaged"));
    const Image fresh("launched");
    set("fail_load", 2);
    CHECK(halyard_cuda_launch(nullptr, fresh, "nothing", 1, 1, 1, 1, 1, 1, 0, "", nullptr) == halide_error_code_out_of_memory);
    CHECK_THAT(last_error(), Contains("nothing: out of device memory while its code was loaded"));
    CHECK(halyard_cuda_launch(nullptr, fresh, "nothing", 1, 1, 1, 1, 1, 1, 0, "", nullptr) == 0);
    halyard_cuda_release();
}

TEST_CASE("a failure on the device is an error, and stays one until the context is new") {
    set("fail_launch", 1);
    std::string message;
    CHECK(scale_nothing({}, &message) == halide_error_code_device_run_failed);
    CHECK_THAT(message, Contains("scale or a kernel before it failed on the emulated device 0: an illegal memory access was "
                                 "encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"));
    CHECK(halyard_cuda_synchronize() == halide_error_code_device_sync_failed);
    CHECK_THAT(last_error(), Contains("CUDA work failed: an illegal memory access"));
    halyard_cuda_release();
    CHECK(scales());
}

TEST_CASE("what the emulator finds in a kernel reaches the program") {
    Array<float> y(8);
    struct {
        halide_buffer_t *y;
        int n;
    } arguments = {y.to_device(), 8};
    CHECK(launch(kernels(), "past_the_end", {}, "bi", arguments) == halide_error_code_device_run_failed);
    CHECK_THAT(last_error(), Contains("kernel past_the_end, block (0, 0, 0), thread (0, 0, 0): "));
    CHECK_THAT(last_error(), Contains("parameter 0, element 8"));
    y.buffer().device_free();
    halyard_cuda_release();
}

TEST_CASE("release gives everything back, and the next call starts anew") {
    REQUIRE(scales());
    CHECK(count("modules") > 0);
    halyard_cuda_release();
    CHECK(count("modules") == 0);
    CHECK(count("contexts") == 0);
    CHECK(count("pools") == 0);
    CHECK(count("allocations") == 0);
    REQUIRE(scales());
    // Halide's own way of saying it.
    halide_device_release(nullptr, halide_cuda_device_interface());
    CHECK(count("modules") == 0);
    CHECK(count("contexts") == 0);
    CHECK(count("pools") == 0);
    CHECK(count("pushed") == 0);
}

TEST_CASE("several threads, and many images at a time") {
    constexpr int kThreads = 4, kImages = 40;
    std::vector<Image> images;
    for (int i = 0; i < kImages; i++) {
        images.emplace_back("launched");
    }
    std::vector<int> errors(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 3 * kImages; i++) {
                errors[t] += halyard_cuda_launch(nullptr, images[i % kImages], "nothing", 1, 1, 1, 1, 1, 1, 0, "", nullptr) != 0;
            }
            errors[t] += !scales();
        });
    }
    for (auto &t : threads) {
        t.join();
    }
    CHECK(errors == std::vector<int>(kThreads));
    CHECK(count("modules") >= kImages);
    halyard_cuda_release();
    CHECK(count("modules") == 0);
}

TEST_CASE("two devices: by thread, by program, by what is current") {
    REQUIRE(scales());
    CHECK(count("contexts") == 1);
    std::thread([] {
        halyard_cuda_set_device(1);
        CHECK(scales());
    }).join();
    CHECK(count("contexts") == 2);
    halyard_cuda_release();
    halide_set_gpu_device(1);
    CHECK(fill_shared(227 * 1024 + 1, nullptr) != 0);
    CHECK_THAT(last_error(), Contains("the emulated device 1"));
    halide_set_gpu_device(-1);

    CUctx_st *own = nullptr, *popped = nullptr;
    REQUIRE(driver_call("cuCtxCreate_v2", &own, 0u, 1) == 0);
    CHECK(fill_shared(227 * 1024 + 1, nullptr) != 0);
    CHECK_THAT(last_error(), Contains("the emulated device 1"));
    driver_call("cuCtxPopCurrent_v2", &popped);
    CHECK(fill_shared(227 * 1024 + 1, nullptr) != 0);
    CHECK_THAT(last_error(), Contains("the emulated device 0"));
    halyard_cuda_set_context(own);
    CHECK(scales());
    CHECK(count("pushed") == 0);
    halyard_cuda_set_context(nullptr);
    const int modules = count("modules");
    halyard_cuda_release_context(own);
    CHECK(count("modules") == modules - 1);
    CHECK(driver_call("cuCtxDestroy_v2", own) == 0);
    CHECK(scales());

    halyard_cuda_set_device(5);
    CHECK_FALSE(scales());
    CHECK_THAT(last_error(), Contains("there is no CUDA device 5: devices are 0 to 1"));
    halyard_cuda_set_device(-1);
    CHECK(halyard_cuda_device_count() == 2);
    halyard_cuda_release();
}

TEST_CASE("host time of a launch", "[.time]") {
    // On a stream that is captured the emulated driver does next to nothing.
    TestStream stream;
    REQUIRE(scales());
    Array<float> x(1), y(1);
    struct {
        halide_buffer_t *y, *x;
        float a;
        int n;
    } arguments = {y.to_device(), x.to_device(), 2.0f, 0};
    halyard_cuda_set_stream(stream);
    stream.begin_capture();
    const auto time = [](auto f) {
        double best = 1e9;
        for (int i = 0; i < 20; i++) {
            const auto start = std::chrono::steady_clock::now();
            for (int j = 0; j < 10000; j++) {
                f();
            }
            best = std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 10000);
        }
        return best;
    };
    const double ours = time([&] { launch(kernels(), "scale", {1, 1}, "bbii", arguments); });
    CUctx_st *context = nullptr, *popped = nullptr;
    void *module = nullptr, *function = nullptr, *pointers[4] = {};
    driver_call("cuDevicePrimaryCtxRetain", &context, 0);
    driver_call("cuCtxPushCurrent_v2", context);
    stream.end_capture();
    const halide_buffer_t *image = kernels();
    driver_call("cuModuleLoadData", &module, static_cast<const void *>(image->host));
    driver_call("cuModuleGetFunction", &function, module, "scale");
    stream.begin_capture();
    auto *raw =
        reinterpret_cast<int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)>(
            halide_cuda_get_symbol(nullptr, "cuLaunchKernel"));
    CUstream_st *s = stream;
    const double theirs = time([&] { raw(function, 1, 1, 1, 1, 1, 1, 0, s, pointers, nullptr); });
    const double with_context = time([&] { launch(kernels(), "scale", {1, 1}, "bbii", arguments); });
    WARN("a launch takes " << ours << " ns, " << with_context << " ns where the context is current, of which the driver " << theirs);
    driver_call("cuCtxPopCurrent_v2", &popped);
    stream.end_capture();
    halyard_cuda_set_stream(nullptr);
    driver_call("cuDevicePrimaryCtxRelease_v2", 0);
}
