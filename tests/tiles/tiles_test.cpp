// Pipelines with products that no op has (pipelines.cpp), by their schedules for the tensor cores on an emulated device, against their
// naive schedules on the host. Operands are small integers, and scales powers of two, so that results are equal to the bit.
//
//   HALYARD_TILES=weights_8 tiles_test        those whose schedule begins so

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "draw.h"
#include "kernel/kernel.h"
#include "tests/language/support.h"

namespace {

using namespace halyard;
using tiles_test::set_capability;

/** Sizes: rows, columns, depth; n1 of two products one after the other. */
struct Sizes {
    int m, n, k, n1;
};

struct Pipeline {
    const char *schedule;  // a file of this folder, without its ending
    std::vector<Assignments> params;
    std::vector<Sizes> sizes;
    bool only_hopper = false;  // for sm_90a alone, as others have too little shared memory
};

std::string op_of(const Pipeline &p) {
    return std::string(p.schedule).substr(0, std::string(p.schedule).find('.'));
}

// The extents of an argument, by its name in each pipeline.
std::vector<int> extents_of(const std::string &op, const std::string &name, const Sizes &s, bool across) {
    if (op == "gathered_gates") {  // m tiles of n1 rows, out of 640, by one of 3 matrices
        return name == "y"                            ? std::vector<int>{s.n, s.n1, s.m}
               : name == "index"                      ? std::vector<int>{s.n1 * s.m}
               : name == "member" || name == "length" ? std::vector<int>{s.m}
               : name == "a"                          ? std::vector<int>{s.k, 640}
                                                      : std::vector<int>{s.k, s.n, 3};
    }
    if (name == "y") {
        return {s.n, s.m};
    }
    if (op == "back_to_back" || op == "gated_block") {
        return name == "a" ? std::vector<int>{s.k, s.m} : name == "c" ? std::vector<int>{s.n, s.n1} : std::vector<int>{s.k, s.n1};
    }
    if (op == "block_scaled" && name == "s") {
        return {s.k / 64, s.m};
    }
    if (op == "weights_4" && name != "a") {
        return {name == "b" ? s.k / 2 : s.k / 32, s.n};
    }
    if (name == "s" || name == "w" || name == "r") {
        return {name == "s" ? s.n : name == "w" ? s.k : s.m};
    }
    if (name == "a2" || name == "b2") {
        return {s.n1, name == "a2" ? s.m : s.n};
    }
    return name == "a" ? std::vector<int>{s.k, s.m} : across ? std::vector<int>{s.n, s.k} : std::vector<int>{s.k, s.n};
}

void fill(HostBuffer &b, const std::string &name, uint32_t seed) {
    std::mt19937 random{seed};
    std::vector<double> values(b.size());
    const bool scale = name == "s" || name == "w" || name == "r", byte = b.type().code == halide_type_uint;
    const int numbers = name == "index" ? 37 : name == "member" ? 3 : name == "length" ? 90 : 0;
    for (auto &v : values) {
        const int drawn = int(random() >> 8);
        v = numbers > 0 ? std::max(drawn % numbers - (name == "length" ? 20 : 0), 0)
            : scale     ? std::vector<double>{0.5, 1, 2}[size_t(drawn % 3)]
            : byte      ? drawn % (name == "z" ? 16 : 256)
                        : drawn % 3 - 1;
    }
    b.assign(values);
}

std::vector<double> result_of(const CompiledKernel &kernel, const std::string &op, const Sizes &s, bool across, int pitch,
                              std::string &error) {
    KernelArguments arguments(kernel);
    for (const auto &a : kernel.arguments()) {
        Layout layout(extents_of(op, a.name, s, across));
        if (pitch != 0 && layout.extents.size() == 2) {
            layout.strides = {1, layout.extents[0] + pitch};
        }
        HostBuffer &b = arguments.buffer(a.name, layout);
        if (!a.is_output) {
            fill(b, a.name, uint32_t(a.name[0]) + uint32_t(a.name.size()));
        }
    }
    const CallResult result = kernel.call(arguments);
    error = result.ok() ? arguments.buffer("y").surroundings_intact() ? "" : "writes where no element of the result is" : result.message;
    return arguments.buffer("y").values();
}

GenerateRequest request_of(const Pipeline &p, const Assignments &params) {
    GenerateRequest request;
    request.op = op_of(p);
    request.generator = HALYARD_TILE_PIPELINES;
    request.params = params;
    return request;
}

void check(const Pipeline &p) {
    const char *only = std::getenv("HALYARD_TILES");
    if (only && std::strncmp(p.schedule, only, std::strlen(only)) != 0) {
        return;
    }
    for (size_t n = 0; n < p.params.size(); n++) {
        const TempDir folder;
        GenerateRequest request = request_of(p, {});
        bool across = false;
        for (const auto &[name, value] : p.params[n]) {
            const bool of_generator = name == "across" || name == "block" || name == "doubled" || name == "twice" || name == "within";
            (of_generator ? request.params : request.set)[name] = value;
            across = across || (name == "across" && value == "true");
        }
        GenerateRequest naive = request_of(p, request.params);
        std::string text;
        for (const auto &[name, value] : p.params[n]) {
            text += " " + name + "=" + value;
        }
        INFO(p.schedule << text);
        naive.target = "host";
        build_shared_object(make_plan(naive), folder.path() + "/naive.so");
        const auto reference = CompiledKernel::load(folder.path() + "/naive.so", op_of(p));
        request.schedule = fmt::format("{}/{}.lua", HALYARD_TILE_SCHEDULES, p.schedule);
        request.target = "cuda";
        request.devices = p.only_hopper ? "emulator,sm_90a" : "emulator";
        const std::string library = folder.path() + "/90.so";
        build_shared_object(make_plan(request), library);
        for (const int capability : p.only_hopper ? std::vector<int>{90} : std::vector<int>{90, 80}) {
            const std::string own = fmt::format("{}/of_{}.so", folder.path(), capability);
            std::filesystem::copy_file(library, own);  // each has a runtime of its own, which knows one device
            set_capability(capability);
            const auto kernel = CompiledKernel::load(own, op_of(p));
            for (const Sizes &s : p.sizes) {
                // Rows that begin at multiples of 16 bytes and others.
                for (const int pitch : {0, 8, 3}) {
                    INFO("capability " << capability << ", m=" << s.m << " n=" << s.n << " k=" << s.k << " n1=" << s.n1 << ", pitch "
                                       << pitch);
                    std::string error;
                    const auto should = result_of(reference, op_of(p), s, across, 0, error);
                    REQUIRE(error == "");
                    const auto is = result_of(kernel, op_of(p), s, across, pitch, error);
                    REQUIRE(error == "");
                    tiles_test::check_equal(should, is, s.n);
                }
            }
        }
    }
}

const Assignments kSmall = {{"rows", "64"}, {"columns", "64"}}, kWide = {{"rows", "128"}, {"columns", "128"}, {"stages", "2"}},
                  kFew = {{"rows", "16"}, {"columns", "64"}};
const std::vector<Sizes> kSizes = {{70, 72, 192, 96}, {1, 8, 64, 64}, {130, 136, 96, 32}};

}  // namespace

TEST_CASE("operands of 8 bits, converted on the way in", "[weights_8]") {
    check({"weights_8", {kSmall, kWide, kFew, {{"rows", "64"}, {"columns", "64"}, {"across", "true"}}}, kSizes});
}

TEST_CASE("steps of a tile that groups of warps and blocks of a cluster share", "[shared_steps]") {
    const auto few = [](const char *columns, const char *stages, const char *warps, const char *cluster) {
        return Assignments{{"rows", "16"}, {"columns", columns}, {"stages", stages}, {"warps", warps}, {"cluster", cluster}};
    };
    const std::vector<Sizes> sizes = {{17, 200, 1000, 0}, {16, 64, 128, 0}, {1, 8, 64, 0}};
    check({"weights_8", {few("64", "6", "3", "1"), few("64", "3", "1", "4"), few("64", "4", "2", "2"), few("32", "8", "8", "1")}, sizes});
    check({"weights_8", {{{"rows", "64"}, {"columns", "64"}, {"stages", "2"}, {"warps", "2"}, {"across", "true"}}}, sizes});
    check({"weights_8", {{{"rows", "16"}, {"columns", "32"}, {"stages", "8"}, {"warps", "4"}, {"resident", "2"}}}, {{17, 200, 1000, 0}}});
    check({"two_sums", {{{"rows", "64"}, {"columns", "64"}, {"stages", "3"}, {"warps", "3"}}}, {{70, 72, 700, 96}, {1, 8, 64, 64}}});
}

TEST_CASE("operands of 4 bits, with scales and zero points of groups", "[weights_4]") {
    check({"weights_4", {kSmall, kWide}, {{70, 72, 192, 0}, {1, 8, 64, 0}, {130, 136, 96, 0}}});
}

TEST_CASE("operands that are scaled on the way in: inline, and as a stage in registers or in shared memory", "[scaled_rows]") {
    for (const char *schedule : {"scaled_rows", "scaled_rows.registers", "scaled_rows.shared"}) {
        check({schedule, {kSmall, kWide}, {{70, 72, 192, 0}, {1, 8, 64, 0}, {130, 136, 128, 0}}});
    }
}

TEST_CASE("a result that ends before its array does", "[half_of_rows]") {
    const auto rows = [](const char *rows, const char *doubled, const char *within) {
        check({"half_of_rows",
               {{{"rows", rows}, {"columns", "64"}, {"doubled", doubled}, {"within", within}}},
               {{70, 72, 192, 0}, {260, 64, 64, 0}, {3, 8, 8, 0}}});
    };
    // Each pair of what there is.
    rows("64", "false", "false");
    rows("64", "true", "true");
    rows("16", "false", "true");
    rows("16", "true", "false");
}

TEST_CASE("results of one row or column, of which there is no loop", "[bounded]") {
    const auto bounded = [](const char *rows, const char *columns, const char *tile, const Sizes &s) {
        check({"weights_8.bounded", {{{"most_rows", rows}, {"most_columns", columns}, {"rows", tile}}}, {s}});
    };
    bounded("1", "0", "64", {1, 70, 64, 0});
    bounded("0", "1", "64", {70, 1, 72, 0});
    bounded("1", "0", "16", {1, 70, 64, 0});
    bounded("0", "1", "16", {70, 1, 72, 0});
    bounded("2", "0", "64", {2, 70, 64, 0});
    bounded("0", "2", "64", {70, 2, 72, 0});
    bounded("3", "3", "64", {3, 3, 64, 0});
}

TEST_CASE("rows that an index says, by a matrix of their tile; rows that do not count", "[gathered_gates]") {
    const auto tiles = [](const char *rows, const char *columns, int n1, int m, const char *across, const char *doubled,
                          const char *twice) {
        check({"gathered_gates",
               {{{"block", rows}, {"columns", columns}, {"stages", "2"}, {"across", across}, {"doubled", doubled}, {"twice", twice}}},
               {{m, 72, 192, n1}, {m + 1, 40, 136, n1}, {2, 1, 8, n1}}});
    };
    tiles("64", "64", 64, 5, "false", "false", "false");
    tiles("128", "32", 128, 3, "true", "false", "false");
    tiles("16", "64", 16, 9, "false", "true", "false");
    tiles("64", "64", 64, 5, "true", "true", "false");
    tiles("64", "64", 64, 4, "true", "true", "true");
    tiles("16", "64", 16, 9, "true", "false", "true");
}

TEST_CASE("steps of which shared memory holds one", "[one_slot]") {
    check({"scaled_rows.deep", {{{"rows", "128"}, {"columns", "128"}}}, {{130, 136, 600, 0}, {3, 8, 256, 0}}, true});
}

TEST_CASE("two products in one sum", "[two_sums]") {
    check({"two_sums", {kSmall, kWide, kFew, {{"rows", "64"}, {"columns", "64"}, {"doubled", "true"}}}, kSizes});
    // Rows of another depth for each product.
    check({"two_sums", {{{"rows", "32"}, {"columns", "64"}, {"doubled", "true"}}}, {{17, 72, 300, 96}}});
    // Warps that fetch are a dozen steps ahead of those that multiply.
    check({"two_sums", {{{"rows", "64"}, {"columns", "32"}, {"stages", "16"}}}, {{70, 72, 1000, 96}}, true});
}

TEST_CASE("sums that are scaled in each step", "[block_scaled]") {
    check({"block_scaled", {kSmall, kWide}, {{70, 72, 192, 0}, {130, 136, 64, 0}}});
}

TEST_CASE("a product of what was made of another, of which the depth has steps", "[back_to_back]") {
    check({"back_to_back.deep", {{{"rows", "64"}, {"n2", "64"}}}, {{70, 64, 192, 100}, {1, 64, 64, 64}}});
    check({"back_to_back.deep", {{{"rows", "128"}, {"n2", "128"}}}, {{130, 128, 96, 64}}});
}

TEST_CASE("three products in a step", "[gated_block]") {
    check({"gated_block", {{{"rows", "64"}, {"k1", "64"}, {"n2", "64"}}}, {{70, 64, 64, 100}, {3, 64, 64, 64}}});
    check({"gated_block.deep", {{{"rows", "128"}, {"n2", "64"}}}, {{130, 64, 96, 100}}});
}

TEST_CASE("what a block program cannot have is an error at its line", "[refused]") {
    const TempDir folder;
    GenerateRequest request = request_of({"weights_8", {}, {}}, {});
    request.target = "cuda";
    request.devices = "emulator";
    const auto error_with = [&](const std::string &tiles, const std::string &line) {
        request.schedule =
            folder.write("own.lua", "local gemm = require \"lib.gpu_gemm\"\nreturn schedule \"weights_8\" { target = \"cuda\", "
                                    "apply = function(k)\n  gemm.tensor_tiles(k.y, k.acc, { " +
                                        tiles + ", raster = 8 })\n" + line + "\nend }\n");
        const Generated result = generate(make_plan(request), folder.path());
        return result.ok ? "" : result.error;
    };
    CHECK_THAT(error_with("rows = 64, columns = 64, stages = 2", "  k.acc:update(0):pipeline(2, 8, true)"),
               Catch::Contains("own.lua:") && Catch::Contains("leave ping_pong out"));
    CHECK_THAT(error_with("rows = 16, columns = 64, stages = 2", "  k.acc:update(0):split_k_warps(16)"),
               Catch::Contains("own.lua:") && Catch::Contains("threads, and a block may have 1024; take fewer split_k_warps"));
    CHECK_THAT(error_with("rows = 64, columns = 40, stages = 2", ""),
               Catch::Contains("own.lua:3") && Catch::Contains("take multiples of 16"));
    CHECK_THAT(error_with("rows = 320, columns = 64, stages = 2", ""), Catch::Contains("own.lua:3") && Catch::Contains("64, 128 or 192"));
    CHECK(error_with("rows = 64, columns = 64, stages = 16", "") == "");  // as many stages as there is room for

    GenerateRequest scaled = request_of({"block_scaled", {}, {}}, {});
    scaled.target = request.target;
    scaled.devices = request.devices;
    std::string script = read_file(HALYARD_TILE_SCHEDULES "/block_scaled.lua");
    script.replace(script.find(":mma()"), 6, ":mma():split_k_warps(2)");
    scaled.schedule = folder.write("scaled.lua", script);
    CHECK_THAT(generate(make_plan(scaled), folder.path()).error,
               Catch::Contains("scaled.lua:") && Catch::Contains("something else in its loops of products"));
}
