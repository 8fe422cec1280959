// Searches for CUDA, with the emulated driver in place of a device: the kernels run on the host, so that what comes out is
// right but no time.

#include <catch2/catch.hpp>

#include "explore/store/database.h"
#include "fake_generator.h"
#include "kernel/gpu.h"
#include "kernel/json_text.h"
#include "explore/measure/measurer.h"
#include "explore/space/search.h"

using namespace halyard::explore;
using halyard::Assignments;
using halyard::Dims;

namespace {

const std::string kNoDriver = "HALYARD_CUDA_DRIVER=/there/is/none.so";
const std::string kDevice = "the emulated device 0, 132 multiprocessors";

Task bias_activation() {
    Task t;
    t.op = "bias_activation";
    t.shape = {{"rows", 3}, {"cols", 200}};
    t.target = "cuda-emulator";
    return t;
}

Arguments explore(const std::string &db, const Arguments &more) {
    Arguments all = {"explore",         "bias_activation", "--target", "cuda-emulator", "--shape",
                     "rows=3,cols=200", "--budget",        "300s",     "--db",          db};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::string said(const ProcessResult &r) {
    return r.out + r.err;
}

}  // namespace

TEST_CASE("What runs code for CUDA is its device", "[device]") {
    REQUIRE(halyard::gpu());
    CHECK(key_of(bias_activation()).machine == kDevice);
    CHECK(contains(key_of(bias_activation()).target, "for emulator"));
    Task elsewhere = bias_activation();
    elsewhere.machine = "NVIDIA H200, 132 multiprocessors";
    CHECK(key_of(elsewhere).machine == elsewhere.machine);
    elsewhere.target = "cuda-sm_80-sm_90a";
    CHECK(contains(key_of(elsewhere).target, "for sm_80,sm_90a"));
}

TEST_CASE("Candidates that fail on a device, in every way", "[device]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Task task = generator.task();
    task.target = "cuda-emulator";
    task.limits.run_seconds = 3;
    Measurer measurer(task);
    const struct {
        const char *mode;
        Status status;
    } all[] = {{"crash", Status::kCrash}, {"hang", Status::kTimeout}, {"wrong", Status::kWrongResult}, {"no_sense", Status::kBuildError}};
    for (const auto &expected : all) {
        Candidate c = generator.candidate(expected.mode);
        c.lua.replace(c.lua.find("cpu"), 3, "cuda");
        const Measured m = measurer.measure(c);
        INFO(expected.mode << ": " << status_name(m.status) << ": " << m.message);
        CHECK(m.status == expected.status);
    }
}

TEST_CASE("Schedules for CUDA are checked and timed, by themselves and in turns", "[device]") {
    Measurer measurer(bias_activation());
    Candidate right, none, wrong;
    right.lua = read_file(HALYARD_SOURCE "/schedules/cuda/bias_activation.lua");
    none.lua = "return schedule \"bias_activation\" { target = \"cuda\", apply = function(k) k.y:gpu_blocks \"nothing\" end }\n";
    // Threads that do not wait for what others put into shared memory would be a race; a block without threads is none.
    wrong.lua = "return schedule \"bias_activation\" { target = \"cuda\", apply = function(k) k.y:gpu_blocks \"row\" end }\n";
    const auto all = measurer.measure({right, none, wrong});
    INFO(all[0].message << "\n" << all[1].message << "\n" << all[2].message);
    REQUIRE(all[0].ok());
    CHECK(all[0].least > 0);
    CHECK(all[0].reference == "bias_activation.unfused");
    CHECK(all[1].status == Status::kBuildError);
    const auto turns = measurer.in_turns({right, right}, 0.05);
    REQUIRE(turns.measured.size() == 2);
    CHECK(turns.measured[0].ok());
    CHECK(turns.measured[1].ok());
    CHECK(turns.measured[1].samples >= 3);
    CHECK(turns.contest.all[0].rounds.size() == turns.contest.all[1].rounds.size());
    CHECK(turns.contest.noise > 0);
}

TEST_CASE("A search for CUDA takes the schedules that ship, keeps what it found, and a build takes that", "[device]") {
    const Folder folder;
    const std::string db = folder / "s.db", lua = folder / "best.lua";
    ProcessResult r = run(explore(db, {"--most", "4", "-o", lua}));
    INFO(said(r));
    REQUIRE(r.ok());
    CHECK(contains(read_file(lua), "Measured on " + kDevice));
    const auto known = Database(db).resume(bias_activation());
    REQUIRE(known.size() == 5);  // with what ships, as it ships
    bool unfused = false;
    for (const Entry &e : known) {
        unfused = unfused || e.candidate.decisions.value("schedule", "") == "bias_activation.unfused";
    }
    CHECK(unfused);
    r = run({"build", "bias_activation", "--target", "cuda-emulator", "--shape", "rows=3,cols=200", "--db", db, "-o", folder / "out"});
    INFO(said(r));
    REQUIRE(r.ok());
    CHECK(contains(r.err, "on " + kDevice));
    // What it wrote is a schedule.
    r = run({"build", "bias_activation", "--target", "cuda-emulator", "--schedule", lua, "-o", folder / "found"});
    INFO(said(r));
    CHECK(r.ok());
    // The same search again measures nothing.
    r = run(explore(db, {"--most", "4", "-o", lua}));
    CHECK(r.ok());
    CHECK(Database(db).resume(bias_activation()).size() == 5);
}

TEST_CASE("A comparison that is measured there names its schedules", "[device]") {
    const Folder folder;
    const std::string pack = folder / "pack";
    ProcessResult r = run({"explore", "bias_activation", "--target", "cuda-emulator", "--shape", "rows=3,cols=200", "--compare",
                           "bias_activation", "--compare", "unfused", "--export", pack, "--db", folder / "s.db"},
                          {kNoDriver});
    INFO(said(r));
    REQUIRE(r.ok());
    r = halyard::run_process({pack + "/measure"});
    INFO(said(r));
    REQUIRE(r.ok());
    CHECK(contains(r.out, "bias_activation cols=200,rows=3 bias_activation: "));
    CHECK(contains(r.out, "bias_activation cols=200,rows=3 unfused: "));
}

TEST_CASE("Built here, measured there", "[device]") {
    const Folder folder;
    const std::string db = folder / "s.db", pack = folder / "pack", next = folder / "next";
    ProcessResult r = run(explore(db, {"--most", "3"}), {kNoDriver});
    CHECK_FALSE(r.ok());
    CHECK(contains(r.err, "--export FOLDER"));
    r = run(explore(db, {"--export", pack, "--candidates", "3"}), {kNoDriver});
    INFO(said(r));
    REQUIRE(r.ok());
    CHECK(contains(r.out, "3 candidates in"));
    CHECK(Database(db).entries({}).empty());
    CHECK(run({"measure", pack}, {kNoDriver}).exit_code == 1);
    r = halyard::run_process({pack + "/measure"});
    INFO(said(r));
    REQUIRE(r.ok());
    CHECK(contains(r.out, "3 of them right on the emulated device 0"));
    // What is measured is not measured again.
    const std::string results = read_file(pack + "/results.jsonl");
    CHECK(halyard::run_process({pack + "/measure"}).ok());
    CHECK(read_file(pack + "/results.jsonl") == results);
    REQUIRE(run({"db", "import", pack + "/results.jsonl", "--db", db}).ok());
    CHECK(Database(db).resume(bias_activation()).size() == 3);
    // The next ones are others, and those near the best come along.
    r = run(explore(db, {"--export", next, "--candidates", "2", "-o", folder / "best.lua"}), {kNoDriver});
    INFO(said(r));
    REQUIRE(r.ok());
    CHECK(contains(r.out, "4 candidates in"));
    CHECK(contains(r.out, "on " + kDevice));
    CHECK(contains(read_file(folder / "best.lua"), "found by halyard explore"));
    const auto list = halyard::parse_json(read_file(next + "/pack.json"));
    size_t known = 0;
    for (const auto &e : list.at("tasks")[0].at("entries")) {
        known += results.find(e.at("entry").at("candidate").at("id").get<std::string>()) != std::string::npos;
    }
    CHECK(known == 2);
    // A build for such a device takes what was measured there.
    r = run({"build", "bias_activation", "--target", "cuda-emulator", "--shape", "rows=3,cols=200", "--db", db, "-o", folder / "out"},
            {kNoDriver});
    INFO(said(r));
    CHECK(contains(r.err, "on " + kDevice));
    CHECK(run({"build", "bias_activation", "--target", "cuda-emulator", "--shape", "rows=3,cols=200", "--db", db, "-o", folder / "out",
               "--gpu", "NVIDIA"},
              {kNoDriver})
              .err.find("knows none") != std::string::npos);
}
