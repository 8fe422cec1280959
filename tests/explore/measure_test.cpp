// What a candidate does costs that candidate: each way to fail comes back as what it was.

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "kernel/failure.h"
#include "fake_generator.h"
#include "explore/measure/measurer.h"

using namespace halyard::explore;

TEST_CASE("A right candidate is timed", "[measure]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    const Measured m = measure(generator.task(), generator.candidate("right"));
    INFO(m.message);
    REQUIRE(m.status == Status::kOk);
    CHECK(m.least >= 2e-4);
    CHECK(m.least < 2e-3);
    CHECK(m.lower <= m.median);
    CHECK(m.median <= m.upper);
    CHECK(m.least <= m.lower);
    CHECK(m.whole);
    CHECK(m.error == 0);
    CHECK(m.reference == "every Func at the root");
    CHECK(m.library_bytes > 100);
}

TEST_CASE("Right candidates are timed in turns", "[measure]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Measurer measurer(generator.task());
    const InTurns turns =
        measurer.in_turns({generator.candidate("right"), generator.candidate("no_sense"), generator.candidate("slow")}, 0.1);
    const auto &times = turns.measured;
    REQUIRE(times.size() == 3);
    CHECK(times[0].ok());
    CHECK(times[0].least >= 2e-4);
    CHECK(times[0].samples >= 5);
    CHECK(times[1].status == Status::kBuildError);
    CHECK(times[2].ok());
    CHECK(times[2].least > times[0].least);
    // Round by round, and beside itself.
    CHECK(turns.contest.noise > 0);
    CHECK(turns.contest.ratio(0, 2).times > 1);
    CHECK_FALSE(turns.contest.tie(0, 2));
    CHECK(turns.contest.all[1].rounds.empty());
    const auto dead = measurer.in_turns({generator.candidate("right"), generator.candidate("crash")}, 0.1).measured;
    CHECK(dead[0].status == Status::kCrash);
    CHECK_FALSE(dead[1].ok());
}

TEST_CASE("What there is no time for is given up, and nothing is said of it", "[measure]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Measurer measurer(generator.task());
    measurer.end_at(std::chrono::steady_clock::now() + std::chrono::milliseconds(1500));
    CHECK(measurer.measure(generator.candidate("hang")).status == Status::kPending);
}

TEST_CASE("What candidates are checked against is made where the time is up, too", "[measure]") {
    Task task;
    task.op = "softmax";
    task.shape = {{"rows", 8}, {"cols", 64}};
    Measurer measurer(task);
    measurer.end_at(std::chrono::steady_clock::now());
    CHECK_NOTHROW(measurer.prepare());
}

TEST_CASE("What a script does not say of its generator, its reference does not say otherwise", "[measure]") {
    Task task;
    task.op = "gemm";  // whose unfused schedule has packed weights, while its generator has them as they are
    task.shape = {{"m", 8}, {"n", 50}, {"k", 37}};
    Candidate c;
    c.lua = "return schedule \"gemm\" { target = \"cpu\", apply = function(k) k.acc:compute_root() end }\n";
    const Measured m = measure(task, c);
    INFO(m.message);
    CHECK(m.ok());
    task.params = {{"weights", "packed"}};
    const Measured packed = measure(task, c);
    INFO(packed.message);
    CHECK(packed.ok());
    CHECK(packed.reference == "gemm.unfused");
}

TEST_CASE("Candidates that fail, in every way", "[measure]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Task task = generator.task();
    task.limits.build_seconds = 2;
    task.limits.run_seconds = 1;
    task.limits.memory_bytes = int64_t(1) << 29;
    Measurer measurer(task);
    const struct {
        const char *mode;
        Status status;
        const char *message;
    } all[] = {
        {"crash", Status::kCrash, "was ended by signal 11 (Segmentation fault) in its first call"},
        {"hang", Status::kTimeout, "ran longer than 1 s in its first call"},
        {"wrong", Status::kWrongResult, "1000 of 1000 elements are wrong"},
        {"race", Status::kWrongResult, "1000 of 1000 elements are wrong"},
        {"outside", Status::kWrongResult, "y: it was stored to where none of its elements is"},
        {"unstored", Status::kWrongResult, "1000 of 1000 elements are wrong"},
        {"memory", Status::kOutOfMemory, "the kernel answered with error -11"},
        {"no_sense", Status::kBuildError, "it makes no sense"},
        {"no_memory", Status::kOutOfMemory, "memory exhausted"},
        {"no_life", Status::kCrash, "was ended by signal 11"},
        {"no_end", Status::kTimeout, "ran longer than 2 s"},
    };
    for (const auto &expected : all) {
        const Measured m = measurer.measure(generator.candidate(expected.mode));
        INFO(expected.mode << ": " << status_name(m.status) << ": " << m.message);
        CHECK(m.status == expected.status);
        CHECK(contains(m.message, expected.message));
        CHECK_FALSE(contains(m.message, "/tmp/"));
    }
    // Nothing of the one that never ended is left, and the next one is measured as if nothing had been.
    const int pid = std::stoi(read_file(generator.pid()));
    CHECK(kill(pid, 0) != 0);
    CHECK(measurer.measure(generator.candidate("right")).ok());
}

TEST_CASE("Who measures is killed, and the generator goes with it", "[measure]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    const pid_t pid = fork();
    if (pid == 0) {
        measure(generator.task(), generator.candidate("no_end"));
        _exit(0);
    }
    const auto wait_for = [](const std::function<bool()> &done) {
        for (int i = 0; i < 1000 && !done(); i++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return done();
    };
    REQUIRE(wait_for([&] { return std::filesystem::exists(generator.pid()) && !read_file(generator.pid()).empty(); }));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    const int generators = std::stoi(read_file(generator.pid()));
    CHECK(wait_for([&] { return kill(generators, 0) != 0; }));
}

TEST_CASE("What is clearly slower is given up soon", "[measure]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Measurer measurer(generator.task());
    std::vector<double> told;
    const auto all =
        measurer.measure({generator.candidate("right"), generator.candidate("slow")}, 0, 2, [&](size_t number, const Measured &m) {
            CHECK(number == told.size());
            told.push_back(m.least);
        });
    REQUIRE(all.size() == 2);
    CHECK(told == std::vector<double>{all[0].least, all[1].least});
    CHECK(all[0].ok());
    CHECK(all[0].whole);
    CHECK(all[1].ok());
    CHECK_FALSE(all[1].whole);
    CHECK(all[1].least > 2e-2);
    CHECK(all[1].samples < 10);
}

TEST_CASE("A schedule of the registry is held against the unfused one", "[measure]") {
    Task task;
    task.op = "rms_norm";
    task.shape = {{"rows", 8}, {"cols", 100}};
    Measurer measurer(task);
    const Folder folder;
    Candidate right, wrong;
    right.lua = read_file(write_schedule(folder / "right.lua"));
    right.set = {{"rows", "1"}};
    wrong.lua = read_file(write_wrong_schedule(folder / "wrong.lua"));
    CHECK(right.id() != wrong.id());
    const auto all = measurer.measure({right, wrong});
    INFO(all[0].message);
    CHECK(all[0].ok());
    CHECK(all[0].reference == "rms_norm.unfused");
    CHECK(all[0].error <= 1);
    CHECK(all[1].status == Status::kBuildError);
    CHECK(contains(all[1].message, "rms_norm.lua:8: error"));
    CHECK(contains(all[1].message, "did you mean \"inv_rms\""));
    // The same in words that travel.
    const Measured again = measured_from_json(to_json(all[0]));
    CHECK(to_json(again) == to_json(all[0]));
}

TEST_CASE("A task that cannot be done says so", "[measure]") {
    Task task;
    task.op = "rms_nrm";
    CHECK_THROWS_AS(Measurer(task), halyard::UsageError);
    task.op = "rms_norm";
    CHECK_THROWS_WITH(Measurer(task), Catch::Contains("lacks"));
    task.shape = {{"rows", 8}, {"cols", 100}};
    task.threads = 0;
    CHECK_THROWS_WITH(Measurer(task), Catch::Contains("number of threads"));
}
