// What a library says of its arguments before it reads them, and what it lets pass, also where it chooses kernels by their
// sizes first. (tests/ops/errors_test.cpp does the same with every op on the processor.)

#include <catch2/catch.hpp>

#include "kernel/kernel.h"
#include "kernel/registry.h"
#include "kernel/workload.h"

using namespace halyard;

namespace {

CompiledKernel emulated(const std::string &op) {
    GenerateRequest r;
    r.op = op;
    r.target = "cuda";
    r.devices = "emulator";
    return CompiledKernel::build(r);
}

CompiledKernel on_host(const std::string &op) {
    GenerateRequest r;
    r.op = op;
    r.target = "host";
    return CompiledKernel::build(r);
}

// An output that begins so many elements behind the first one of an input.
void check_shared(const CompiledKernel &kernel, const std::string &op, const std::string &input, const Dims &dims, int elements) {
    KernelArguments arguments = make_arguments(find_op(op), kernel, dims, 1);
    halide_buffer_t &y = *arguments.buffer("y").raw();
    halide_buffer_t &x = *arguments.buffer(input).raw();
    const std::vector<double> before = arguments.buffer(input).values();
    y.host = x.host + elements * x.type.bytes();
    const CallResult r = kernel.call(arguments.addresses().data());
    CAPTURE(op, input, elements, r.message);
    CHECK_FALSE(r.ok());
    CHECK_THAT(r.message, Catch::StartsWith(op + ": the output y shares memory with " + input));
    CHECK(arguments.buffer(input).values() == before);
}

// Strides of no use where there are no two elements along a dimension.
void make_strange(HostBuffer &buffer) {
    for (int d = 0; d < buffer.raw()->dimensions; d++) {
        if (buffer.raw()->dim[d].extent <= 1) {
            buffer.raw()->dim[d].stride = d % 2 ? 0 : 7 + d;
        }
    }
}

void check_any_stride(const std::string &name, const Dims &dims) {
    CAPTURE(name);
    const CompiledKernel kernel = emulated(name);
    std::vector<double> results[2];
    for (int strange = 0; strange < 2; strange++) {
        KernelArguments arguments = make_arguments(find_op(name), kernel, dims, 1);
        for (const auto &a : kernel.arguments()) {
            if (strange && a.is_buffer) {
                make_strange(arguments.buffer(a.name));
            }
        }
        const CallResult r = kernel.call(arguments);
        CAPTURE(strange, r.message);
        REQUIRE(r.ok());
        results[strange] = arguments.buffer("y").values();
        CHECK(arguments.buffer("y").surroundings_intact());
    }
    CHECK(results[0] == results[1]);
    CHECK(!results[0].empty());
}

}  // namespace

TEST_CASE("an argument that cannot be read is an error before a kernel is chosen by its sizes", "[arguments]") {
    const CompiledKernel kernel = emulated("softmax");
    for (const char *name : {"x", "y"}) {
        for (const char *what : {"null", "zeros", "no dimensions"}) {
            CAPTURE(name, what);
            KernelArguments arguments = make_arguments(find_op("softmax"), kernel, {{"rows", 3}, {"cols", 5}}, 1);
            halide_buffer_t &buffer = *arguments.buffer(name).raw();
            std::vector<void *> addresses = arguments.addresses();
            if (what == std::string("null")) {
                for (auto &a : addresses) {
                    a = a == &buffer ? nullptr : a;
                }
            } else if (what == std::string("zeros")) {
                buffer = {};
            } else {
                buffer.dim = nullptr;
            }
            const CallResult r = kernel.call(addresses.data());
            CHECK_FALSE(r.ok());
            CHECK_THAT(r.message, Catch::StartsWith("softmax: ") && Catch::Contains(name));
        }
    }
}

TEST_CASE("rows of an output that share elements are an error on a device too", "[arguments]") {
    const CompiledKernel kernel = emulated("softmax");
    for (int stride : {0, 1, 4, -4}) {
        KernelArguments arguments = make_arguments(find_op("softmax"), kernel, {{"rows", 3}, {"cols", 5}}, 1);
        arguments.buffer("y").raw()->dim[1].stride = stride;
        const CallResult r = kernel.call(arguments.addresses().data());
        CAPTURE(stride, r.message);
        CHECK_FALSE(r.ok());
        CHECK_THAT(r.message, Catch::StartsWith("softmax: ") && Catch::Contains("share an address"));
    }
}

TEST_CASE("an output over an input is an error, wherever it begins", "[arguments]") {
    for (const bool on_cuda : {false, true}) {
        const auto build = [&](const std::string &op) { return on_cuda ? emulated(op) : on_host(op); };
        const CompiledKernel norm = build("rms_norm"), product = build("gemm");
        for (const int elements : {0, 1, 16, 33, 46}) {
            check_shared(norm, "rms_norm", "x", {{"rows", 3}, {"cols", 16}}, elements);
        }
        check_shared(norm, "rms_norm", "weight", {{"rows", 3}, {"cols", 16}}, 15);
        check_shared(product, "gemm", "a", {{"m", 4}, {"n", 4}, {"k", 40}}, 0);
    }
}

TEST_CASE("views of one matrix that share no element are right", "[arguments]") {
    const int rows = 5, cols = 24, pitch = 64;
    for (const bool on_cuda : {false, true}) {
        const CompiledKernel kernel = on_cuda ? emulated("softmax") : on_host("softmax");
        std::vector<float> matrix(size_t(rows) * pitch, 1.0f);
        KernelArguments arguments = make_arguments(find_op("softmax"), kernel, {{"rows", rows}, {"cols", cols}}, 1);
        int at = 0;
        for (const char *name : {"x", "y"}) {
            halide_buffer_t &buffer = *arguments.buffer(name).raw();
            buffer.host = reinterpret_cast<uint8_t *>(matrix.data() + at);
            buffer.dim[1].stride = pitch;
            at += cols + 3;
        }
        const CallResult r = kernel.call(arguments.addresses().data());
        CAPTURE(on_cuda, r.message);
        REQUIRE(r.ok());
        if (!on_cuda) {
            CHECK(matrix[size_t(cols) + 3] == Approx(1.0 / cols));
            CHECK(matrix[size_t(cols) + 2] == 1);
            CHECK(matrix[size_t(pitch)] == 1);
        }
    }
}

TEST_CASE("a dimension of one element has any stride on a device too", "[arguments]") {
    check_any_stride("softmax", {{"rows", 6}, {"cols", 1}});
    check_any_stride("softmax", {{"rows", 1}, {"cols", 33}});
    check_any_stride("gemm", {{"m", 5}, {"n", 1}, {"k", 40}});
    check_any_stride("gemm", {{"m", 5}, {"n", 40}, {"k", 1}});
    check_any_stride("gemm", {{"m", 1}, {"n", 40}, {"k", 40}});
}
