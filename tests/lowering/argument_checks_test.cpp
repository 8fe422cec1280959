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

TEST_CASE("a dimension of one element has any stride on a device too", "[arguments]") {
    check_any_stride("softmax", {{"rows", 6}, {"cols", 1}});
    check_any_stride("softmax", {{"rows", 1}, {"cols", 33}});
    check_any_stride("gemm", {{"m", 5}, {"n", 1}, {"k", 40}});
    check_any_stride("gemm", {{"m", 5}, {"n", 40}, {"k", 1}});
    check_any_stride("gemm", {{"m", 1}, {"n", 40}, {"k", 40}});
}
