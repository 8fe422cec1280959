// What HALYARD_VERBOSE tells of calls: a line each, with the version that the sizes took.

#include <unistd.h>

#include <catch2/catch.hpp>

#include "harness.h"
#include "kernel/workload.h"

namespace {

using namespace ops_test;
using namespace halyard;

/** What comes on standard error meanwhile. */
template<typename F>
std::string said_on_standard_error(F run) {
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    run();
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    std::string text(4096, '\0');
    text.resize(fread(text.data(), 1, text.size(), file));
    fclose(file);
    return text;
}

std::string told(const CompiledKernel &kernel, int rows, int cols) {
    const Op &op = find_op("softmax");
    KernelArguments arguments = make_arguments(op, kernel, with_params(op, {{"rows", rows}, {"cols", cols}}, kernel.params()), 1);
    const auto set_verbose = reinterpret_cast<void (*)(int)>(kernel.library_function("halyard_set_verbose"));
    return said_on_standard_error([&] {
        set_verbose(1);
        const CallResult r = kernel.call(arguments);
        set_verbose(0);
        CHECK(r.ok());
        CHECK(kernel.call(arguments).ok());
    });
}

}  // namespace

TEST_CASE("a call tells what it is on the host", "[verbose]") {
    const CompiledKernel kernel = build("softmax", {{"target", "avx2"}, {"type", "float32"}});
    CHECK_THAT(told(kernel, 3, 20), Catch::Matches("halyard: [a-z_0-9]+\\[avx2\\] x=float32\\[20,3\\] y=float32\\[20,3\\] [0-9.]+ us\n"));
}

TEST_CASE("a call tells which version of a CUDA schedule it takes", "[verbose][cuda]") {
    const CompiledKernel kernel = build("softmax", {{"target", kCudaTarget}, {"type", "float16"}});
    const std::string few = told(kernel, 3, 20), many = told(kernel, 2, 5000);
    const auto line = [](const std::string &extents) {
        return Catch::Matches("halyard: [a-z_0-9]+\\[cuda\\] x=float16\\[" + extents + "\\] y=float16\\[" + extents +
                              "\\] version\\{[a-z_0-9=,]+\\} [0-9.]+ us\n");
    };
    CHECK_THAT(few, line("20,3"));
    CHECK_THAT(many, line("5000,2"));
    const auto version = [](const std::string &text) { return text.substr(text.find('{'), text.find('}') - text.find('{')); };
    CHECK(version(few) != version(many));
}
