// What `halyard check` and `halyard build` say of schedules that are legal and slow. What each note is about, tests/language has.

#include <catch2/catch.hpp>

#include "support.h"

namespace {

std::string write_slow(const std::string &path) {
    write_file(path, "return schedule \"softmax\" { target = \"cpu\", apply = function(k)\n"
                     "  k.y:parallel(\"row\"):vectorize(\"col\", 8)\n"
                     "end }\n");
    return path;
}

std::string write_for_cuda(const std::string &path, const std::string &apply) {
    write_file(path, "return schedule \"bias_activation\" { target = \"cuda\", apply = function(k)\n" + apply + "\nend }\n");
    return path;
}

std::string notes_for_cuda(const std::string &apply) {
    const Folder folder;
    const ProcessResult r = run({"check", write_for_cuda(folder / "s.lua", apply), "--target", "cuda", "--devices", "emulator"});
    INFO(r.err);
    CHECK(r.exit_code == 0);
    return r.err;
}

}  // namespace

TEST_CASE("A check and a build say what is slow", "[lint]") {
    const Folder folder;
    const std::string slow = write_slow(folder / "slow.lua");
    const std::string note = slow + ":2: note: k.row_max is computed ", word = ": say k.row_max:compute_at(k.y, \"row\")\n";
    const ProcessResult check = run({"check", slow});
    CHECK(check.exit_code == 0);
    CHECK(contains(check.err, note));
    CHECK(contains(check.err, word));
    CHECK(contains(check.out, "slow.lua: ok\n"));

    const ProcessResult build = run({"build", "softmax", "--schedule", slow, "-o", folder / "out", "--target", "avx2"});
    CHECK(build.exit_code == 0);
    CHECK(contains(build.err, note));
    CHECK(contains(build.err, word));

    const nlohmann::json records = run_json({"check", slow});
    REQUIRE(records.at(0).at("notes").size() == 1);
    CHECK(contains(records[0]["notes"][0], note));
    CHECK(records[0].at("ok") == true);
}

TEST_CASE("--no-lint says nothing", "[lint]") {
    const Folder folder;
    const std::string slow = write_slow(folder / "slow.lua");
    CHECK(run({"check", slow, "--no-lint"}).err == "");
    CHECK(run_json({"check", slow, "--no-lint"}).at(0).at("notes").empty());
    const ProcessResult build =
        run({"build", "softmax", "--schedule", slow, "-o", folder / "out", "--target", "avx2", "--no-lint", "--emit", "c_header"});
    CHECK(build.exit_code == 0);
    CHECK(build.err == "");
}

TEST_CASE("A build for one size looks at that size", "[lint]") {
    const Folder folder;
    const std::string slow = write_slow(folder / "slow.lua");
    const ProcessResult r = run({"build", "softmax", "--schedule", slow, "-o", folder / "out", "--target", "avx2", "--emit", "c_header",
                                 "--shape", "rows=2,cols=8"});
    CHECK(r.exit_code == 0);
    CHECK(!contains(r.err, "note: k."));
}

TEST_CASE("The line of a note is the script's, where a library said it", "[lint]") {
    const Folder folder;
    write_file(folder / "s.lua", "local rows = require \"lib.rows\"\n"
                                 "return schedule \"softmax\" { target = \"cpu\", apply = function(k)\n"
                                 "  rows.materialise({ k.row_max, k.weight, k.row_sum }, { row = \"row\", task = 8 })\n"
                                 "end }\n");
    const ProcessResult r = run({"check", folder / "s.lua"});
    INFO(r.err);
    CHECK(contains(r.err, "s.lua:3: note: k."));
    CHECK(!contains(r.err, "lib/"));
}

TEST_CASE("Threads whose neighbours read elsewhere", "[lint]") {
    const std::string notes = notes_for_cuda("  k.y:gpu_tile({ \"row\", \"col\" }, { 32, 4 }, \"guard\")");
    CHECK(contains(notes, "s.lua:2: note: k.y "));
    CHECK(contains(notes, " bytes apart: say gpu_threads first of the loop along the innermost dimension of "));
    CHECK(notes_for_cuda("  k.y:gpu_tile({ \"col\", \"row\" }, { 32, 4 }, \"guard\")") == "");
}

TEST_CASE("Threads that a guard leaves alone have no neighbours, and what they go on to in L1 is not apart", "[lint]") {
    const Folder folder;
    const auto notes = [&](const std::string &kernel, const std::string &shape) {
        const ProcessResult r =
            run({"build", "conv2d", "--schedule", "grouped", "--param", "kernel=" + kernel, "--param", "type=float16", "--target", "cuda",
                 "--devices", "emulator", "--emit", "c_header", "-o", folder / "out", "--shape", shape});
        CHECK(r.exit_code == 0);
        return r.err;
    };
    // A thread has a group, and reads all of its weights.
    CHECK(notes("3", "c=64,o=64,w=56,h=56,groups=1,n=1") == "");
    CHECK(notes("3", "c=4,o=4,w=56,h=56,groups=32,n=1") == "");
    CHECK(contains(notes("3", "c=512,o=4,w=56,h=56,groups=32,n=1"), "with neighbouring threads "));
}

TEST_CASE("What is made again beside a product is weighed with the product", "[lint]") {
    const Folder folder;
    const auto notes = [&](const Arguments &schedule) {
        Arguments all = {"build",  "gemm",     "--param", "type=bfloat16", "--target", "avx2",
                         "--emit", "c_header", "-o",      folder / "out",  "--shape",  "m=1024,n=1024,k=1024"};
        all.insert(all.end(), schedule.begin(), schedule.end());
        const ProcessResult r = run(all);
        CHECK(r.exit_code == 0);
        return r.err;
    };
    // A panel of b is copied for each 256 rows.
    CHECK(notes({"--schedule", "kn", "--set", "tiles=always", "--set", "blocks=8", "--set", "panels=1"}) == "");
    // For each 32, which is as much as the product takes.
    write_file(folder / "often.lua", "local gemm = require 'lib.gemm'\n"
                                     "return schedule 'gemm' { target = 'cpu',\n"
                                     "  generator = { weights = 'kn', in_panels = true, panel = 64 },\n"
                                     "  apply = function(k, p, target)\n"
                                     "    gemm.register_tiles(k.y, k.acc, gemm.packed(target, k.a, nil, {\n"
                                     "      m = k.y:dim(1):extent(), panel = 64, tiles = 'always' }))\n"
                                     "    k.b_groups:compute_at(k.y, 'step'):bound_extent('col', 64)\n"
                                     "  end }\n");
    CHECK(contains(notes({"--schedule", folder / "often.lua"}), "often.lua:7: note: k.b_groups is computed 32 times over: say "));
}

TEST_CASE("Work of a GPU's schedule that the host does", "[lint]") {
    CHECK(contains(notes_for_cuda("  k.y:parallel(\"row\")"), "s.lua:2: note: k.y runs on the host, "));
}

TEST_CASE("Kernels that leave a device idle", "[lint]") {
    const Folder folder;
    const auto notes = [&](const std::string &rows) {
        const std::string script =
            write_for_cuda(folder / "s.lua", "  local block, thread = k.y:split(\"row\", " + rows +
                                                 ", \"guard\")\n"
                                                 "  k.y:reorder(\"col\", thread, block):gpu_blocks(block):gpu_threads(thread)");
        return run({"build", "bias_activation", "--schedule", script, "--target", "cuda", "--devices", "emulator", "--emit", "c_header",
                    "-o", folder / "out", "--shape", "rows=8192,cols=1024"})
            .err;
    };
    CHECK(contains(notes("1024"),
                   "s.lua:3: note: k.y runs in 8 blocks, and a device has a hundred multiprocessors and more: say gpu_blocks of"));
    CHECK(contains(notes("4"), "s.lua:3: note: k.y has blocks of 4 threads, and a warp is 32: say gpu_threads of a loop of 32"));
}
