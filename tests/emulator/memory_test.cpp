// Device memory, streams and graph capture, on the emulated driver.
#include <catch2/catch.hpp>

#include <climits>

#include "support.h"

using Catch::Contains;

namespace {

const Image &kernels() {
    static const Image image("launched");
    return image;
}

int scale(halide_buffer_t *y, halide_buffer_t *x, int n) {
    struct {
        halide_buffer_t *y, *x;
        float a;
        int n;
    } arguments = {y, x, 2.0f, n};
    return launch(kernels(), "scale", {(n + 127) / 128, 128}, "bbii", arguments);
}

// Memory that the program has from elsewhere.
class CallersMemory {
    uint64_t pointer_ = 0;
    CUctx_st *context_ = nullptr;

public:
    explicit CallersMemory(size_t bytes) {
        driver_call("cuInit", 0u);
        driver_call("cuDevicePrimaryCtxRetain", &context_, 0);
        in_context([&] { driver_call("cuMemAlloc_v2", &pointer_, bytes); });
    }
    ~CallersMemory() {
        in_context([&] { driver_call("cuMemFree_v2", pointer_); });
        driver_call("cuDevicePrimaryCtxRelease_v2", 0);
    }
    template<typename F>
    void in_context(F f) {
        CUctx_st *popped = nullptr;
        driver_call("cuCtxPushCurrent_v2", context_);
        f();
        driver_call("cuCtxPopCurrent_v2", &popped);
    }
    void *pointer() const {
        return reinterpret_cast<void *>(pointer_);
    }
    void write(std::vector<float> &v) {
        in_context([&] { driver_call("cuMemcpyHtoD_v2", pointer_, static_cast<const void *>(v.data()), v.size() * sizeof(float)); });
    }
    void read(std::vector<float> &v) {
        in_context([&] { driver_call("cuMemcpyDtoH_v2", static_cast<void *>(v.data()), pointer_, v.size() * sizeof(float)); });
    }
};

}  // namespace

TEST_CASE("the caller's device memory: wrapped, used, given back") {
    constexpr int n = 300;
    const int before = count("allocations");
    {
        CallersMemory x_memory(n * sizeof(float)), y_memory(n * sizeof(float));
        std::vector<float> values(n, 3.0f);
        x_memory.write(values);
        Halide::Runtime::Buffer<float> x(nullptr, n), y(nullptr, n);
        REQUIRE(halyard_cuda_wrap(x.raw_buffer(), x_memory.pointer()) == 0);
        REQUIRE(halyard_cuda_wrap(y.raw_buffer(), y_memory.pointer()) == 0);
        const int synchronisations = count("synchronisations");
        REQUIRE(scale(y.raw_buffer(), x.raw_buffer(), n) == 0);
        CHECK(count("synchronisations") == synchronisations);
        y_memory.read(values);
        CHECK(values == std::vector<float>(n, 6.0f));

        CHECK(halyard_cuda_wrap(x.raw_buffer(), x_memory.pointer()) == halide_error_code_device_wrap_native_failed);
        CHECK_THAT(last_error(), Contains("has device memory already"));
        CHECK(halyard_cuda_unwrap(x.raw_buffer()) == 0);
        CHECK(halyard_cuda_unwrap(y.raw_buffer()) == 0);
        CHECK(halyard_cuda_unwrap(y.raw_buffer()) == 0);
        CHECK(x.raw_buffer()->device == 0);
        for (const void *wrong : {static_cast<const void *>(values.data()), static_cast<const void *>(nullptr)}) {
            CHECK(halyard_cuda_wrap(x.raw_buffer(), wrong) == halide_error_code_device_wrap_native_failed);
            CHECK_THAT(last_error(), Contains("is not device memory"));
            CHECK(x.raw_buffer()->device == 0);
        }
    }
    CHECK(count("allocations") == before);
}

TEST_CASE("buffers that are none are errors, and so is a device that no machine has") {
    CallersMemory memory(256);
    halide_buffer_t zeroed = {}, without_dim = {}, negative = {};
    without_dim.dimensions = 2;
    negative.dimensions = -1;
    for (halide_buffer_t *b : {static_cast<halide_buffer_t *>(nullptr), &without_dim, &negative}) {
        CHECK(halyard_cuda_wrap(b, memory.pointer()) == halide_error_code_device_wrap_native_failed);
        CHECK_THAT(last_error(), Contains("halyard_cuda_wrap: the buffer is null, or has no dimensions"));
    }
    CHECK(halyard_cuda_wrap(&zeroed, memory.pointer()) == 0);  // one element
    CHECK(halyard_cuda_unwrap(&zeroed) == 0);
    CHECK(halyard_cuda_unwrap(nullptr) == halide_error_code_device_detach_native_failed);
    halyard_cuda_set_device(INT_MAX);
    CHECK(halyard_cuda_synchronize() == halide_error_code_gpu_device_error);
    halyard_cuda_set_device(-1);
}

TEST_CASE("a buffer without elements needs no memory of the caller") {
    Halide::Runtime::Buffer<float> x(nullptr, 0), y(nullptr, 0);
    REQUIRE(halyard_cuda_wrap(x.raw_buffer(), nullptr) == 0);
    REQUIRE(halyard_cuda_wrap(y.raw_buffer(), nullptr) == 0);
    CHECK(x.raw_buffer()->device != 0);  // or a call would allocate some
    CHECK(scale(y.raw_buffer(), x.raw_buffer(), 0) == 0);
    CHECK(halyard_cuda_unwrap(x.raw_buffer()) == 0);
    CHECK(halyard_cuda_unwrap(y.raw_buffer()) == 0);
    CHECK(x.raw_buffer()->device == 0);
}

TEST_CASE("out of device memory") {
    const int before = count("allocations");
    Halide::Runtime::Buffer<float> small(16), large(nullptr, 1 << 20);
    // Once: the pool gives back what it keeps, and it goes on.
    set("fail_allocation", 1);
    CHECK(small.device_malloc(halide_cuda_device_interface()) == 0);
    CHECK(small.device_free() == 0);
    set("memory", 1);
    CHECK(large.device_malloc(halide_cuda_device_interface()) == halide_error_code_device_malloc_failed);
    CHECK_THAT(last_error(), Contains("out of device memory: a buffer of 4194304 bytes does not fit, 1048576 of 1048576 bytes are free"));
    CHECK(large.raw_buffer()->device == 0);
    set("memory", 4096);
    CHECK(large.device_malloc(halide_cuda_device_interface()) == 0);
    CHECK(large.device_free() == 0);
    CHECK(count("allocations") == before);
}

TEST_CASE("buffers of no elements, and with a negative stride") {
    Halide::Runtime::Buffer<float> empty(nullptr, 0);
    CHECK(empty.device_malloc(halide_cuda_device_interface()) == 0);
    CHECK(empty.device_free() == 0);
    halide_dimension_t back = {0, 4, -1, 0};
    halide_buffer_t negative = {};
    negative.type = halide_type_of<float>();
    negative.dimensions = 1;
    negative.dim = &back;
    CHECK(halide_device_malloc(nullptr, &negative, halide_cuda_device_interface()) == halide_error_code_device_malloc_failed);
    CHECK_THAT(last_error(), Contains("the stride -1 in dimension 0"));
}

TEST_CASE("a stream: nothing waits but the copy to the host") {
    constexpr int n = 200;
    TestStream stream;
    halyard_cuda_set_stream(stream);
    CHECK(halyard_cuda_stream() == stream);
    {
        Array<float> x(n, 1.0f), y(n);
        const int before = count("synchronisations");
        REQUIRE(scale(y.to_device(), x.to_device(), n) == 0);
        Halide::Runtime::Buffer<float> temporary(nullptr, n);
        CHECK(temporary.device_malloc(halide_cuda_device_interface()) == 0);
        CHECK(temporary.device_free() == 0);
        CHECK(count("synchronisations") == before);
        REQUIRE(y.to_host() == 0);
        CHECK(count("synchronisations") == before + 1);
        CHECK(y[n - 1] == 2.0f);
        CHECK(halyard_cuda_synchronize() == 0);
        CHECK(count("synchronisations") == before + 2);
    }
    // A stream is the thread's own.
    halyard_cuda_set_stream(nullptr);
}

TEST_CASE("a captured call: launches and temporary memory become nodes of the graph") {
    constexpr int n = 200;
    TestStream stream;
    Array<float> x(n, 1.0f), y(n);
    REQUIRE(x.to_device());
    REQUIRE(y.to_device());
    halyard_cuda_set_stream(stream);
    stream.begin_capture();
    {
        const int before = count("captured");
        Halide::Runtime::Buffer<float> temporary(nullptr, n);
        CHECK(temporary.device_malloc(halide_cuda_device_interface()) == 0);
        CHECK(scale(temporary.raw_buffer(), x.raw(), n) == 0);
        CHECK(scale(y.raw(), temporary.raw_buffer(), n) == 0);
        CHECK(temporary.device_free() == 0);
        CHECK(count("captured") == before + 4);
    }
    CHECK(stream.end_capture() == 0);
    // What cannot be captured says so.
    stream.begin_capture();
    CHECK(y.to_host() != 0);
    CHECK_THAT(last_error(), Contains("a copy to the host failed: operation not permitted when stream is capturing"));
    CHECK(stream.end_capture() != 0);
    halyard_cuda_set_stream(nullptr);
    CHECK(y.to_host() == 0);
}

TEST_CASE("buffers of one allocation: it goes with the last of them") {
    constexpr int n = 200;
    const int before = count("allocations");
    TestStream stream;
    {
        Array<float> x(n, 1.0f), y(n);
        REQUIRE(x.to_device());
        REQUIRE(y.to_device());
        const int both = count("allocations");
        Halide::Runtime::Buffer<float> first(nullptr, n), second(nullptr, 0), third(nullptr, n);
        halide_buffer_t *const buffers[] = {first.raw_buffer(), second.raw_buffer(), third.raw_buffer()};
        CHECK(halyard_cuda_malloc_together(nullptr, buffers, 3) == 0);
        CHECK(halyard_cuda_malloc_together(nullptr, buffers, 3) == 0);  // they have it
        CHECK(count("allocations") == both + 1);
        CHECK(first.device_free() == 0);
        CHECK(second.device_free() == 0);
        CHECK(scale(third.raw_buffer(), x.raw(), n) == 0);
        CHECK(scale(y.raw(), third.raw_buffer(), n) == 0);
        CHECK(count("allocations") == both + 1);
        CHECK(third.device_free() == 0);
        CHECK(count("allocations") == both);
        CHECK(y.to_host() == 0);
        CHECK(y[n - 1] == 4.0f);
        halyard_cuda_set_stream(stream);
        stream.begin_capture();
        const int captured = count("captured");
        CHECK(halyard_cuda_malloc_together(nullptr, buffers, 3) == 0);
        for (auto *b : {&first, &second, &third}) {
            CHECK(b->device_free() == 0);
        }
        CHECK(count("captured") == captured + 2);
        CHECK(stream.end_capture() == 0);
        halyard_cuda_set_stream(nullptr);
    }
    CHECK(count("allocations") == before);
}

TEST_CASE("temporary arrays in the caller's memory, as far as there is room") {
    constexpr int n = 200;
    CallersMemory memory(4096);
    const auto inside = [&](const Halide::Runtime::Buffer<float> &b) {
        return const_cast<halide_buffer_t *>(b.raw_buffer())->device - uintptr_t(memory.pointer()) <= 4096 - n * sizeof(float);
    };
    halyard_cuda_set_scratch(memory.pointer(), 4096);
    const int before = count("allocated");
    for (int round = 0; round < 3; round++) {  // what was given back is there again
        Halide::Runtime::Buffer<float> first(nullptr, n), second(nullptr, n), third(nullptr, n);
        halide_buffer_t *const both[] = {first.raw_buffer(), second.raw_buffer()}, *const one[] = {third.raw_buffer()};
        REQUIRE(halyard_cuda_malloc_together(nullptr, both, 2) == 0);
        CHECK(inside(first));
        CHECK(inside(second));
        CHECK(first.raw_buffer()->device % 256 == 0);
        CHECK(second.raw_buffer()->device - first.raw_buffer()->device >= n * sizeof(float));
        CHECK(halyard_cuda_malloc_together(nullptr, one, 1) == 0);
        CHECK(inside(third));
        CHECK(scale(second.raw_buffer(), first.raw_buffer(), n) == 0);
        for (auto *b : {&second, &first, &third}) {
            CHECK(b->device_free() == 0);
            CHECK(b->raw_buffer()->device == 0);
        }
    }
    CHECK(count("allocated") == before);
    {
        Halide::Runtime::Buffer<float> large(nullptr, 2000), small(nullptr, n);
        halide_buffer_t *const one[] = {large.raw_buffer()}, *const other[] = {small.raw_buffer()};
        CHECK(halyard_cuda_malloc_together(nullptr, one, 1) == 0);
        CHECK(count("allocated") == before + 1);
        halyard_cuda_set_scratch(nullptr, 0);
        CHECK(halyard_cuda_malloc_together(nullptr, other, 1) == 0);
        CHECK(count("allocated") == before + 2);
        CHECK(large.device_free() == 0);
        CHECK(small.device_free() == 0);
    }
}

TEST_CASE("the caller's memory for temporary arrays, of any size: nothing lies outside of it") {
    constexpr size_t kBytes = 4096, kInside = 1024;
    CallersMemory memory(kBytes);
    uint32_t random = 1;
    for (size_t bytes = 0; bytes <= 2048; bytes += bytes < 600 ? 1 : 37) {
        const uintptr_t begin = uintptr_t(memory.pointer()) + kInside + bytes % 3;
        halyard_cuda_set_scratch(reinterpret_cast<void *>(begin), bytes);
        std::vector<Halide::Runtime::Buffer<uint8_t>> arrays;
        for (int i = 0; i < 6; i++) {
            random = random * 1664525 + 1013904223;
            arrays.emplace_back(nullptr, i == 0 ? int(bytes) : int(random >> 8) % 300);
            halide_buffer_t *const one[] = {arrays.back().raw_buffer()};
            REQUIRE(halyard_cuda_malloc_together(nullptr, one, 1) == 0);
            const uint64_t at = arrays.back().raw_buffer()->device, end = at + arrays.back().size_in_bytes();
            INFO(bytes << " bytes, array " << i << " of " << arrays.back().size_in_bytes());
            CHECK((end <= uintptr_t(memory.pointer()) || at >= uintptr_t(memory.pointer()) + kBytes ||
                   (at >= begin && end <= begin + bytes)));
        }
        for (auto &array : arrays) {
            CHECK(array.device_free() == 0);
        }
    }
    halyard_cuda_set_scratch(nullptr, 0);
}

TEST_CASE("an array of the caller is not in the memory of temporary ones, which ends before it") {
    constexpr int n = 200;
    CallersMemory memory(4096);
    halyard_cuda_set_scratch(memory.pointer(), 4096);
    Array<float> x(n, 1.0f), y(n);
    REQUIRE(x.to_device());
    REQUIRE(y.to_device());
    Halide::Runtime::Buffer<float> without_host(nullptr, n);
    REQUIRE(without_host.device_malloc(halide_cuda_device_interface()) == 0);
    for (const uint64_t device : {x.raw()->device, y.raw()->device, without_host.raw_buffer()->device}) {
        CHECK(device - uintptr_t(memory.pointer()) >= 4096);
    }
    halyard_cuda_set_scratch(nullptr, 0);
    CHECK(without_host.device_free() == 0);
}

TEST_CASE("a context that is entered is current until it is left") {
    const int before = count("pushed");
    int pushed = 0, again = 0;
    REQUIRE(halyard_cuda_enter(&pushed) == 0);
    CHECK(count("pushed") == before + 1);
    REQUIRE(halyard_cuda_enter(&again) == 0);
    CHECK(count("pushed") == before + 1);
    halyard_cuda_leave(again);
    CHECK(count("pushed") == before + 1);
    halyard_cuda_leave(pushed);
    CHECK(count("pushed") == before);
}

TEST_CASE("a parallel loop on the host: its workers use the caller's stream") {
    TestStream stream;
    halyard_cuda_set_stream(stream);
    halide_set_num_threads(4);
    struct Seen {
        CUstream_st *stream[64];
    } seen = {};
    const auto task = [](void *, int i, uint8_t *closure) {
        reinterpret_cast<Seen *>(closure)->stream[i] = halyard_cuda_stream();
        return 0;
    };
    for (int round = 0; round < 20; round++) {
        REQUIRE(halide_do_par_for(nullptr, task, 0, 64, reinterpret_cast<uint8_t *>(&seen)) == 0);
        for (const CUstream_st *s : seen.stream) {
            REQUIRE(s == stream);
        }
    }
    halyard_cuda_set_stream(nullptr);
    halide_set_num_threads(0);
}
