// The same bytes, whoever builds and wherever: in two folders, by two users with other habits, every file that is written.

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

#include "support.h"

namespace {

namespace fs = std::filesystem;

struct Product {
    const char *op, *schedule, *options;
};

// What ships of these has the finishing step, several targets in one archive, machine code of GPUs (also of several versions of a
// kernel, and of tiles that TMA loads) and kernels for the emulator. Schedules that have fewer versions take NVIDIA's compiler less.
const std::vector<Product> kProducts = {
    {"softmax", "cpu/softmax.lua",
     "--target avx2 --set rows=8 --emit static_library,c_header,object,assembly,bitcode,llvm_assembly,stmt,stmt_html,"
     "conceptual_stmt,conceptual_stmt_html,schedule,registration,c_source,featurization,hlpipe,function_info_header"},
    {"softmax", "cpu/softmax.lua", "--target avx512,avx2"},
    {"gemm", "cpu/gemm.mma.lua", "--target avx512_sapphirerapids --param type=bfloat16"},
    {"transpose", "cuda/transpose.lua", "--target cuda --devices sm_80 --emit static_library,c_header,cuda,stmt,assembly,llvm_assembly"},
    {"gemm", "cuda/gemm.lua", "--target cuda --devices sm_90a --set rows=64 --set columns=64 --emit static_library,c_header,cuda,stmt"},
    {"softmax", "cuda/softmax.lua", "--target cuda --devices emulator --emit static_library,c_header,cuda"},
};

void build_all(const std::string &folder, const std::string &before) {
    int number = 0;
    for (const Product &p : kProducts) {
        CAPTURE(folder, p.schedule, p.options);
        const std::string here = std::to_string(number++);
        fs::create_directories(fs::path(folder) / here);
        const std::string script = fs::path(p.schedule).filename().string();
        fs::copy_file(fs::path(HALYARD_SOURCE "/schedules") / p.schedule, fs::path(folder) / here / script);
        const ProcessResult r = run_shell("cd '" + folder + "/" + here + "' && " + before + " $halyard build " + p.op +
                                          " --schedule \"$PWD\"/" + script + " " + p.options + " --quiet -o out");
        INFO(r.err);
        REQUIRE(r.exit_code == 0);
    }
}

std::vector<std::string> files_in(const std::string &folder) {
    std::vector<std::string> files;
    for (const auto &entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) {
            files.push_back(fs::relative(entry.path(), folder).string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

TEST_CASE("Two users in two folders build the same bytes", "[reproducible]") {
    const Folder folder;
    const std::string here = folder / "a", there = folder / "longer/name of a folder", scratch = folder / "scratch";
    fs::create_directory(scratch);
    build_all(here, "umask 022;");
    build_all(there, "umask 077; HOME=/nonexistent USER=somebody LOGNAME=somebody LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 "
                     "TZ=Asia/Tokyo TMPDIR='" +
                         scratch + "'");
    const std::vector<std::string> files = files_in(here);
    CHECK(files.size() > 30);
    CHECK(files == files_in(there));
    for (const auto &file : files) {
        CAPTURE(file);
        const std::string bytes = read_file(fs::path(here) / file);
        CHECK((bytes == read_file(fs::path(there) / file)));
        for (const std::string &name : {folder.path(), fs::path(folder.path()).filename().string(), std::string(HALYARD_SOURCE)}) {
            CHECK_FALSE(contains(bytes, name));
        }
    }
}

// Unconfined, Halide makes the machine code too that the finishing step makes anew (late_objects.c), and the table of its symbols.
TEST_CASE("A library of finished code is the same bytes where Halide made none before", "[reproducible]") {
    const Folder folder;
    for (const std::string confine : {"on", "off"}) {
        const ProcessResult r =
            run({"build", "softmax", "--target", "avx512,avx2", "--quiet", "-o", folder / confine}, {"HALYARD_CONFINE=" + confine});
        INFO(r.err);
        REQUIRE(r.exit_code == 0);
    }
    CHECK((read_file(folder / "on/softmax.a") == read_file(folder / "off/softmax.a")));
}
