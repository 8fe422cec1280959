// What a library's header says of its arguments.

#include <catch2/catch.hpp>

#include "kernel/header_text.h"
#include "kernel/text.h"
#include "support.h"

using namespace halyard;
using nlohmann::json;

namespace {

const std::string kHeader = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nHALIDE_FUNCTION_ATTRS\n"
                            "int f(struct halide_buffer_t *_x_buffer, float _eps, struct halide_buffer_t *_y__1_buffer);\n\n"
                            "HALIDE_FUNCTION_ATTRS\nint f_argv(void **args);\n";

std::string header_of(const std::string &op, const std::vector<std::string> &options) {
    Folder folder;
    Arguments arguments = {"build", op, "--target", "avx2", "-q", "-o", folder.path()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProcessResult r = run(arguments);
    CAPTURE(r.err);
    REQUIRE(r.ok());
    return read_file(folder / (op + ".h"));
}

}  // namespace

TEST_CASE("a header says what each argument is", "[header]") {
    const json arguments = {{"x", {{"type", "float32"}, {"extents", {nullptr, 4}}, {"output", false}}},
                            {"y", {{"type", "int8"}, {"extents", {nullptr, nullptr}}, {"output", true}}}};
    const std::string text = described_header(kHeader, "f", "of_a_user", {{"radius", "2"}}, arguments);
    CHECK(text.find("/** of_a_user\n"
                    " * Built with radius=2.\n"
                    " *\n"
                    " * Arguments, extents of the innermost dimension first:\n"
                    " *   x                float32   in  [any, 4]\n"
                    " *   eps              float\n"
                    " *   y                int8      out [any, any]\n") != std::string::npos);
    CHECK(text.find("halyard_last_error() gives (halyard/runtime.h).\n * f_metadata()") != std::string::npos);
    CHECK(text.find("at run time. */\nHALIDE_FUNCTION_ATTRS\nint f(struct") != std::string::npos);
    // Nothing but the comment is new.
    const size_t begin = text.find("/**"), end = text.find("*/\n") + 3;
    CHECK(text.substr(0, begin) + text.substr(end) == kHeader);
}

TEST_CASE("a header of something else stays as it is", "[header]") {
    CHECK(described_header(kHeader, "g", "f", {}, json::object()) == kHeader);
    CHECK(described_header(kHeader, "f", "f", {}, json()) == kHeader);
    CHECK(described_header("", "f", "f", {}, json::object()).empty());
}

TEST_CASE("extents have the numbers that a library fixes", "[header]") {
    const std::string gemm = header_of("gemm", {"--param", "type=bfloat16"});
    CHECK_THAT(gemm, Catch::Contains("b_packed         bfloat16  in  [2, 64, ceil(k / 2), ceil(n / 64)], made by halyard_pack()"));
    CHECK_THAT(gemm, Catch::Contains("weights are packed by halyard/pack.h"));
    const std::string conv = header_of("conv2d", {});
    CHECK_THAT(conv, Catch::Contains("[1, 32, c, 3, 3, ceil(o / 32), groups], made by halyard_pack()"));
    CHECK_THAT(conv, Catch::Contains("(h+2*1-1*(3-1)-1)//1+1"));
    CHECK(header_of("rms_norm", {}).find("pack") == std::string::npos);
}
