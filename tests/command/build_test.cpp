// halyard build: what it writes, and that equal inputs give equal bytes.

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "support.h"

namespace {

namespace fs = std::filesystem;

const std::string kAvx2 = "--target=avx2";

void build(Arguments arguments) {
    arguments.insert(arguments.begin(), {"build", "--no-lint"});
    const ProcessResult r = run(arguments);
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    CHECK(r.err == "");
}

// Inode and time: a rename over the file changes the first, a write the second.
std::pair<ino_t, int64_t> identity(const std::string &path) {
    struct stat s = {};
    REQUIRE(stat(path.c_str(), &s) == 0);
    return {s.st_ino, int64_t(s.st_mtim.tv_sec) * 1000000000 + s.st_mtim.tv_nsec};
}

}  // namespace

TEST_CASE("A library and a header, and their names on standard output", "[build]") {
    const Folder folder;
    const ProcessResult r = run({"build", "rms_norm", kAvx2, "-o", folder / "new/out", "--name", "my_norm"});
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    CHECK(r.out == folder / "new/out/my_norm.a\n" + (folder / "new/out/my_norm.h\n"));
    CHECK(r.err == "");
    // Nothing else: neither the plugin's report nor a temporary folder.
    CHECK(names_in(folder / "new/out") == Arguments{"my_norm.a", "my_norm.h"});
    CHECK(contains(run_shell(HALYARD_NM " -g --defined-only " + (folder / "new/out/my_norm.a")).out, " T my_norm\n"));

    const ProcessResult quiet = run({"build", "rms_norm", kAvx2, "-o", folder / "new/out", "--quiet"});
    CHECK(quiet.exit_code == 0);
    CHECK(quiet.out == "");
}

TEST_CASE("The header is one for C and for C++", "[build]") {
    const Folder folder;
    build({"softmax", kAvx2, "-o", folder.path(), "--emit", "c_header"});
    CHECK(names_in(folder.path()) == Arguments{"softmax.h"});
    // In its own right, twice in one file.
    write_file(folder / "use.c", "#include \"softmax.h\"\n#include \"softmax.h\"\n"
                                 "int (*use)(void **) = softmax_argv;\n");
    const std::string flags = " -Wall -Wextra -Werror -pedantic -fsyntax-only ";
    for (const std::string &compiler :
         {HALYARD_C_COMPILER + flags + "-std=c99 -x c ", HALYARD_CXX_COMPILER + flags + "-std=c++11 -x c++ "}) {
        const ProcessResult r = run_shell(compiler + (folder / "use.c"));
        INFO(r.err);
        CHECK(r.exit_code == 0);
    }
}

TEST_CASE("Equal inputs give equal bytes, wherever they lie", "[build]") {
    const Folder folder;
    fs::create_directory(folder / "a");
    fs::create_directories(folder / "longer/name of a folder");
    const std::string here = write_schedule(folder / "a/s.lua");
    const std::string there = write_schedule(folder / "longer/name of a folder/s.lua");
    build({"rms_norm", "--schedule", here, "-o", folder / "a/out", "--emit", "static_library,c_header,stmt"});
    build({"rms_norm", "--schedule", there, "-o", folder / "longer/out", "--emit", "static_library,c_header"});
    build({"rms_norm", "--schedule", here, "-o", folder / "b", "--set", "rows=4"});  // the default
    build({"rms_norm", "--schedule", here, "-o", folder / "c", "--set", "rows=16"});
    const std::string library = read_file(folder / "a/out/rms_norm.a"), header = read_file(folder / "a/out/rms_norm.h");
    CHECK(library.size() > 1000);
    CHECK((library == read_file(folder / "longer/out/rms_norm.a")));
    CHECK(header == read_file(folder / "longer/out/rms_norm.h"));
    CHECK((library == read_file(folder / "b/rms_norm.a")));
    CHECK((library != read_file(folder / "c/rms_norm.a")));
    CHECK_FALSE(contains(library + header, ".halyard-"));  // the temporary folder's name
}

TEST_CASE("An unchanged header stays as it is", "[build]") {
    const Folder folder;
    const std::string header = folder / "rms_norm.h", library = folder / "rms_norm.a";
    build({"rms_norm", kAvx2, "-o", folder.path()});
    const auto header_before = identity(header), library_before = identity(library);
    build({"rms_norm", kAvx2, "-o", folder.path(), "--set", "rows=1"});
    CHECK(identity(header) == header_before);
    CHECK(identity(library) != library_before);  // newer than what it was built from, for make and ninja
    write_file(header, "// somebody else's\n");
    build({"rms_norm", kAvx2, "-o", folder.path()});
    CHECK(contains(read_file(header), "int rms_norm("));
}

// Whoever has the old file open goes on reading the old file, and nobody ever sees half of the new one.
TEST_CASE("A file is replaced and never written into", "[build]") {
    const Folder folder;
    build({"rms_norm", kAvx2, "-o", folder.path()});
    write_file(folder / "rms_norm.h", "// somebody else's\n");
    fs::create_hard_link(folder / "rms_norm.a", folder / "old.a");
    fs::create_hard_link(folder / "rms_norm.h", folder / "old.h");
    const std::string before = read_file(folder / "old.a");
    build({"rms_norm", kAvx2, "-o", folder.path(), "--set", "rows=1"});
    CHECK((read_file(folder / "rms_norm.a") != before));
    CHECK((read_file(folder / "old.a") == before));
    CHECK((read_file(folder / "old.h") == "// somebody else's\n"));
}

TEST_CASE("The make rule has the script and what it requires", "[build]") {
    const Folder folder;
    const std::string script = folder / "with $ and blank.lua";
    write_file(folder / "helper.lua", "return { rows = 4 }\n");
    write_file(script, "local helper = require \"helper\"\n"
                       "local reduce = require \"lib.reduce\"\n"
                       "return schedule \"rms_norm\" { target = \"cpu\", apply = function(k)\n"
                       "  k.y:parallel(\"row\", helper.rows, \"guard\")\n"
                       "end }\n");
    build({"rms_norm", kAvx2, "--schedule", script, "-o", folder / "out", "--depfile", folder / "rms_norm.d"});
    const std::string rule = read_file(folder / "rms_norm.d");
    const std::string outputs = rule.substr(0, rule.find(": "));
    CHECK(contains(outputs, folder / "out/rms_norm.a"));
    CHECK(contains(outputs, folder / "out/rms_norm.h"));
    CHECK(contains(rule, folder / "helper.lua"));
    CHECK(contains(rule, folder / "with\\ $$\\ and\\ blank.lua"));
    CHECK(contains(rule, HALYARD_SOURCE "/schedules/lib/reduce.lua"));
    CHECK(contains(rule, "/halyard-generators"));
    CHECK(contains(rule, "/libhalyard.so"));
    CHECK_FALSE(contains(rule, folder / "out/."));  // the temporary folder
}

TEST_CASE("The other outputs", "[build]") {
    const Folder folder;
    build({"rms_norm", kAvx2, "-o", folder.path(), "--emit", "stmt,assembly"});
    CHECK(names_in(folder.path()) == Arguments{"rms_norm.s", "rms_norm.stmt"});
    CHECK(contains(read_file(folder / "rms_norm.stmt"), "rms_norm_par_for_y"));
    CHECK(contains(read_file(folder / "rms_norm.s"), "ymm"));
    CHECK_FALSE(contains(read_file(folder / "rms_norm.s"), "zmm"));
}

TEST_CASE("--set changes the loops and --param the algorithm", "[build]") {
    const Folder folder;
    const std::string script = write_schedule(folder / "s.lua");
    const Arguments common = {"rms_norm", kAvx2, "--schedule", script, "--emit", "stmt,c_header"};
    const auto stmt = [&](const std::string &name, const Arguments &more) {
        Arguments arguments = common;
        arguments.insert(arguments.end(), {"-o", folder / name});
        arguments.insert(arguments.end(), more.begin(), more.end());
        build(arguments);
        return read_file(folder / (name + "/rms_norm.stmt"));
    };
    const std::string four = stmt("four", {}), sixteen = stmt("sixteen", {"--set", "rows=16"});
    CHECK(four != sixteen);
    CHECK(contains(sixteen, "16)"));
    const std::string half = stmt("half", {"--param", "type=float16"});
    CHECK(contains(half, "float16"));
    CHECK_FALSE(contains(four, "float16"));
}

TEST_CASE("A tile of a schedule may be narrower than a vector of the target", "[build]") {
    const Folder folder;
    for (const char *activations : {"activations=exact", "activations=int8"}) {
        build({"gemm_q", "--schedule", "interleaved", "--set", "columns=8", "--param", activations, "--target", "avx512", "-o",
               folder / "out"});
    }
}

TEST_CASE("A parameter that contradicts the schedule", "[build]") {
    const Folder folder;
    const ProcessResult r = run({"build", "gemm", "--schedule", "kn", "--param", "weights=nk", "-o", folder / "out"});
    CHECK(r.exit_code == 1);
    CHECK(r.out == "");
    CHECK(contains(r.err, "gemm.kn.lua: error: --param weights=nk contradicts the schedule, which declares "
                          "weights=\"kn\""));
    CHECK_FALSE(fs::exists(folder / "out"));
    // The same value is no contradiction.
    CHECK(
        run({"build", "gemm", kAvx2, "--schedule", "kn", "--param", "weights=kn", "--emit", "c_header", "-o", folder / "out"}).exit_code ==
        0);
}

TEST_CASE("A library for several targets has every variant and chooses among them", "[build]") {
    const Folder folder;
    build({"rms_norm", "--target", "avx2,avx512", "-o", folder / "both"});
    build({"rms_norm", "--target", "avx2", "-o", folder / "one"});
    const auto variants = [&](const std::string &name) {
        const std::string symbols = run_shell(HALYARD_NM " --defined-only " + (folder / name) + "/rms_norm.a").out;
        const auto lines = halyard::split(symbols, '\n');
        return std::count_if(lines.begin(), lines.end(), [](const std::string &line) {
            return contains(line, " T rms_norm-x86-64-linux-") && halyard::ends_with(line, "-no_runtime");
        });
    };
    CHECK(variants("both") == 2);
    CHECK(variants("one") == 0);  // the function itself
    CHECK(contains(run_shell(HALYARD_NM " -u " + (folder / "both/rms_norm.a")).out, "halide_can_use_target_features"));
}

TEST_CASE("The unfused schedule and none at all are built too", "[build]") {
    const Folder folder;
    for (const std::string schedule : {"rms_norm", "unfused"}) {
        build({"rms_norm", kAvx2, "--schedule", schedule, "-o", folder / schedule});
    }
    CHECK(run({"build", "rms_norm", kAvx2, "--schedule", "none", "-o", folder / "none"}).exit_code == 0);  // with a note
    CHECK((read_file(folder / "rms_norm/rms_norm.a") != read_file(folder / "unfused/rms_norm.a")));
    CHECK((read_file(folder / "none/rms_norm.a") != read_file(folder / "unfused/rms_norm.a")));
}

TEST_CASE("The epilogue of a product on tensor cores is printed with what its terms share once", "[build]") {
    const Folder folder;
    build({"gemm", "--target=cuda", "--devices", "emulator", "--emit", "cuda", "--quiet", "--param", "activation=gelu_erf", "-o",
           folder.path()});
    // Each mention of the sum in a GELU spelled out makes lines of 8000.
    CHECK(std::stoi(run_shell("wc -L < " + (folder / "gemm.cu")).out) < 2000);
}

TEST_CASE("Four products of bytes are printed as one instruction", "[build]") {
    const Folder folder;
    for (const std::string type : {"uint8", "int8"}) {
        build({"gemm_int8", "--target=cuda", "--schedule", "dp4a", "--devices", "emulator", "--emit", "cuda", "--quiet", "--param",
               "a_type=" + type, "-o", folder.path()});
        const std::string kernels = read_file(folder / "gemm_int8.cu");
        CHECK(contains(kernels, " = add_products(acc_0["));
        CHECK_FALSE(contains(kernels, "reduce_lanes<4>(add(), "));
    }
}
