// What candidates do on the machines of a cluster, which candidates_test.py has brought up: HALYARD_TEST_CLUSTER is its address.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <catch2/catch.hpp>

#include "explore/measure/measurer.h"
#include "explore/workers/cluster.h"
#include "kernel/confine.h"
#include "kernel/failure.h"
#include "tests/explore/fake_generator.h"

using namespace halyard::explore;

namespace {

namespace fs = std::filesystem;

std::string address() {
    const char *given = std::getenv("HALYARD_TEST_CLUSTER");
    REQUIRE(given);
    return given;
}

std::string of_process(const std::string &pid, const std::string &file) {
    std::ifstream in("/proc/" + pid + "/" + file);
    std::string text(4096, ' ');
    in.read(text.data(), std::streamsize(text.size()));
    text.resize(size_t(in.gcount()));
    return text;
}

std::string parent_of(const std::string &pid) {
    const std::string stat = of_process(pid, "stat");  // "7 (name) S 3 ..."
    const size_t behind = stat.rfind(')');
    return behind == std::string::npos ? "" : halyard::split(stat.substr(behind + 2), ' ').at(1);
}

// The process of Ray's in which a worker of this cluster, and not of another test's, measures a candidate now; "" where none does.
std::string busy_actor() {
    const std::string folder = std::getenv("TMPDIR");
    for (const auto &entry : fs::directory_iterator("/proc")) {
        std::string pid = entry.path().filename().string();
        const std::string command = of_process(pid, "cmdline");
        if (!contains(command, "/run.json") || !contains(command, "/jobs/") || !contains(command, folder + "/")) {
            continue;
        }
        for (int level = 0; level < 6 && pid.size() > 1; level++, pid = parent_of(pid)) {
            if (contains(of_process(pid, "cmdline"), "ray::Slot")) {
                return pid;
            }
        }
    }
    return "";
}

}  // namespace

TEST_CASE("A candidate does on a cluster what it does here", "[cluster]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Task task = generator.task();
    task.limits.run_seconds = 1;
    Cluster cluster(address(), {});
    CHECK(cluster.offers().size() == 2);
    CHECK(cluster.refusals().empty());
    const std::vector<std::string> modes = {"right", "crash", "wrong", "no_sense", "hang", "slow"};
    std::vector<Candidate> candidates;
    for (const auto &mode : modes) {
        candidates.push_back(generator.candidate(mode));
    }
    Measurer there(task, &cluster), here(task);
    std::vector<size_t> told;
    const auto far = there.measure(candidates, 0, 0, [&](size_t n, const Measured &) { told.push_back(n); });
    const auto near = here.measure(candidates);
    REQUIRE(far.size() == modes.size());
    CHECK(told.size() == modes.size());
    for (size_t i = 0; i < modes.size(); i++) {
        INFO(modes[i] << ": " << far[i].message);
        CHECK(far[i].status == near[i].status);
        CHECK(far[i].message == near[i].message);
        CHECK(far[i].reference == near[i].reference);
        CHECK(far[i].library_bytes == near[i].library_bytes);
        CHECK((far[i].build_seconds > 0) == (near[i].build_seconds > 0));
    }
    CHECK(far[0].least >= 2e-4);
    CHECK(far[0].least < 1e-2);
    const InTurns turns = there.in_turns({candidates[0], candidates[3], candidates[5]}, 0.1);
    REQUIRE(turns.measured.size() == 3);
    CHECK(turns.measured[0].ok());
    CHECK(turns.measured[1].status == Status::kBuildError);
    CHECK(turns.measured[2].ok());
    CHECK(turns.contest.ratio(0, 2).times > 1);
    CHECK_FALSE(turns.contest.tie(0, 2));
}

TEST_CASE("Devices measure for themselves", "[cluster]") {
    Wish wish;
    wish.cuda = true;
    Cluster cluster(address(), wish);
    REQUIRE(cluster.offers().size() == 2);
    Task task;
    task.op = "softmax";
    task.shape = {{"rows", 2}, {"cols", 64}};
    task.target = "cuda-emulator";
    task.machine = cluster.offers()[0].facts.device;
    CHECK(task.machine == "the emulated device 0, 132 multiprocessors");
    Candidate c;
    c.lua = read_file(HALYARD_SOURCE "/schedules/cuda/softmax.unfused.lua");
    const Measured m = Measurer(task, &cluster).measure(c);
    INFO(m.message);
    CHECK(m.ok());
    CHECK(m.least > 0);
    CHECK(m.reference == "softmax.unfused");
}

TEST_CASE("A machine says what its memory delivers", "[cluster]") {
    Cluster cluster(address(), {});
    const halyard::Machine m = cluster.machine(1);
    CHECK(m.threads == 1);
    CHECK(m.flops > 1e8);
    CHECK(m.hertz > 1e8);
    REQUIRE(m.levels.size() >= 2);
    CHECK(m.levels.back().name == "DRAM");
    CHECK(m.levels.back().read > 1e8);
}

TEST_CASE("A worker that is killed costs its candidate, and comes back", "[cluster]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Cluster cluster(address(), {});
    Measurer measurer(generator.task(), &cluster);
    REQUIRE(measurer.measure(generator.candidate("right", 1)).ok());
    std::atomic<bool> done{false};
    std::atomic<int> killed{0};
    // The first two that hang: one of them on each machine, or both on the one that came back.
    std::thread killer([&] {
        while (!done && killed < 2) {
            const std::string pid = busy_actor();
            if (!pid.empty()) {
                kill(std::atoi(pid.c_str()), SIGKILL);
                killed++;
                while (!done && fs::exists("/proc/" + pid)) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                }
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
    const auto all = measurer.measure({generator.candidate("hang", 1), generator.candidate("hang", 2), generator.candidate("right", 2),
                                       generator.candidate("right", 3), generator.candidate("crash")});
    done = true;
    killer.join();
    int lost = 0;
    for (const Measured &m : all) {
        INFO(m.message);
        lost += m.status == Status::kWorkerLost;
        CHECK((m.status == Status::kWorkerLost) == contains(m.message, "was lost while it was measured there: "));
    }
    CHECK(killed == 2);
    CHECK(lost == 2);
    CHECK(all[4].status == Status::kCrash);
    CHECK(all[2].ok());
    CHECK(all[3].ok());
}

TEST_CASE("Where none is left the search ends", "[cluster]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    Cluster cluster(address(), {});
    Measurer measurer(generator.task(), &cluster);
    REQUIRE(measurer.measure(generator.candidate("right", 1)).ok());
    std::atomic<bool> done{false};
    std::thread killer([&] {
        while (!done) {
            const std::string pid = busy_actor();
            if (!pid.empty()) {
                kill(std::atoi(pid.c_str()), SIGKILL);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
    std::vector<Candidate> candidates;
    for (int i = 0; i < 12; i++) {
        candidates.push_back(generator.candidate("hang", i));
    }
    int lost = 0;
    std::string why;
    try {
        measurer.measure(candidates, 0, 0, [&](size_t, const Measured &m) { lost += m.status == Status::kWorkerLost; });
    } catch (const halyard::Failure &e) {
        why = e.what();
    }
    done = true;
    killer.join();
    INFO(why);
    CHECK(contains(why, "none of its machines is left"));
    CHECK(lost == 6);  // three starts of each machine
}

TEST_CASE("A candidate is as confined there as at home", "[cluster]") {
    const Folder folder;
    const FakeGenerator generator(folder);
    const std::string victim = std::getenv("HALYARD_VICTIM");
    // The library computes something else where one of its attempts works.
    {
        Cluster cluster(address(), {});
        CHECK(Measurer(generator.task(), &cluster).measure(generator.candidate("escape")).status == Status::kWrongResult);
    }
    unsetenv("HALYARD_CONFINE");
    if (!halyard::confines()) {
        WARN("not tested: " << halyard::confinement_state());
        return;
    }
    setenv("HALYARD_CONFINE_READS", (HALYARD_FAKES ":" + folder.path()).c_str(), 1);  // for the generator, a script
    fs::remove(victim);
    Cluster cluster(address(), {});
    const Measured m = Measurer(generator.task(), &cluster).measure(generator.candidate("escape"));
    INFO(m.message);
    CHECK(m.status == Status::kOk);
    CHECK_FALSE(fs::exists(victim));
}
