// halyard explain and explore --compare for CUDA with a generator of one's own, whose sizes are those of its arrays; and a schedule that
// is for other sizes.

#include <catch2/catch.hpp>

#include "kernel/json_text.h"
#include "tests/command/support.h"

namespace {

const std::string kDriverOfNobody = "HALYARD_CUDA_DRIVER=/there/is/none.so";

enum class Kernels { kOne, kOneForOtherSizes };

// A block a row.
std::string written(const Folder &folder, const std::string &name, Kernels kernels) {
    write_file(folder / name,
               std::string("local reduce = require 'lib.gpu_reduce'\n"
                           "local rows = require 'lib.gpu_rows'\n"
                           "return schedule 'soft_cap' { target = 'cuda', params = rows.params, where = rows.params_fit,\n"
                           "  apply = function(k, p)\n"
                           "    p = { threads = 32, block_rows = 1, vector = 1, unroll = 1, held = 'registers', resident = 0 }\n") +
                   "    local o = rows.options(k.y, p)\n"
                   "    rows.blocks(k.y, o)\n"
                   "    rows.hold(k.x, o)\n"
                   "    reduce.in_block(k.row_max, 'r', o)\n"
                   "    reduce.in_block(k.row_sum, 'r', o)\n" +
                   (kernels == Kernels::kOneForOtherSizes ? "    k.y:dim(0):set_extent(64)\n" : "") + "  end }\n");
    return folder / name;
}

Arguments own(const std::string &command, const Arguments &more) {
    Arguments all = {command, "soft_cap", "--generator", HALYARD_SOFT_CAP};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

TEST_CASE("explain for CUDA takes one's own generator", "[device]") {
    const Folder folder;
    const std::string file = written(folder, "rows.lua", Kernels::kOne);
    const ProcessResult r = run(
        own("explain", {"--schedule", file, "--target", "cuda-sm_90a", "--shape", "y=4096x512", "--predict", "--json"}), {kDriverOfNobody});
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    const auto j = halyard::parse_json(r.out);
    const auto &s = j.at("schedules").at(0);
    CHECK(s.at("shape") == "cap=30,x=4096x512,y=4096x512");
    CHECK(s.at("argument_bytes") == Approx(2 * 4096.0 * 512 * 4));
    CHECK(s.at("kernels").size() == 1);
    CHECK(s.at("kernels")[0].at("memory").at("read") == Approx(4096.0 * 512 * 4));
    CHECK(s.at("predicted_seconds") >= s.at("floor_seconds"));

    const ProcessResult estimated = run(own("explain", {"--schedule", file, "--target", "cuda-sm_90a", "--predict"}), {kDriverOfNobody});
    INFO(estimated.err);
    CHECK(estimated.exit_code == 0);
    CHECK(contains(estimated.out, "cap=30,x=1024x128,y=1024x128"));

    const ProcessResult none = run(own("explain", {"--target", "cuda-sm_90a"}), {kDriverOfNobody});
    CHECK(none.exit_code == 2);
    CHECK(contains(none.err, "name a Lua file with --schedule"));
    const ProcessResult wrong_size =
        run(own("explain", {"--schedule", file, "--target", "cuda-sm_90a", "--shape", "z=4x4"}), {kDriverOfNobody});
    CHECK(wrong_size.exit_code == 2);
    CHECK(contains(wrong_size.err, "there is no argument \"z\""));
}

TEST_CASE("explore --compare for CUDA takes one's own generator", "[device]") {
    const Folder folder;
    const std::string file = written(folder, "rows.lua", Kernels::kOne), wrong = written(folder, "wrong.lua", Kernels::kOneForOtherSizes);
    const auto compare = [&](const std::string &target, const std::string &other) {
        return run(
            own("explore", {"--compare", file, "--compare", other, "--target", target, "--shape", "y=200x96", "--db", folder / "db"}),
            {target == "cuda-emulator" ? "HALYARD_CUDA_DRIVER=" HALYARD_EMULATED_DRIVER : kDriverOfNobody});
    };
    for (const char *target : {"cuda-sm_90a", "cuda-emulator"}) {
        const ProcessResult r = compare(target, file);
        INFO(r.out << r.err);
        CHECK(r.exit_code == 0);
        CHECK(contains(r.out, "soft_cap  cap=30,x=200x96,y=200x96"));
        CHECK(contains(r.out, "Why rows"));
    }
    const ProcessResult r = compare("cuda-sm_90a", wrong);
    CHECK(r.exit_code == 1);
    CHECK(contains(r.out + r.err, "the kernel answered with error"));
}

TEST_CASE("A schedule that is for other sizes says so, and is no crash", "[device]") {
    const ProcessResult r = run({"explore", "attention", "--target", "cuda-sm_90a", "--compare", "attention", "--shape",
                                 "d=32,queries=256,keys=256,heads=12,key_heads=12,batch=1", "--db", Folder() / "db"},
                                {"HALYARD_CUDA_DRIVER=/there/is/none.so"});
    const std::string said = r.out + r.err;
    INFO(said);
    CHECK(r.exit_code == 1);
    CHECK_FALSE(contains(said, "crash"));
    CHECK(contains(said, "the kernel answered with error"));
    CHECK(contains(said, "attention is built with head_dim=128, "));
    CHECK(contains(said, "with --set"));
}
