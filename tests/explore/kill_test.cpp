// halyard explore, killed at any moment: the next run finds what was measured, and goes on.

#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "explore/store/database.h"
#include "fake_generator.h"

using namespace halyard::explore;

TEST_CASE("A search that is killed at random goes on where it was", "[kill]") {
    const Folder folder;
    const std::string db = folder / "s.db", lua = folder / "best.lua";
    Task task;
    task.op = "rms_norm";
    task.shape = {{"rows", 8}, {"cols", 256}};
    const auto explore = [&](const std::string &most) {
        return Arguments{"explore", "rms_norm", "--shape", "rows=8,cols=256", "--threads", "1", "--most", most, "--budget",
                         "60s",     "--db",     db};
    };
    const auto ids = [&] {
        std::set<std::string> all;
        for (const Entry &e : Database(db).resume(task)) {
            all.insert(e.candidate.id());
        }
        return all;
    };
    std::mt19937 random(20261121);
    std::uniform_real_distribution<double> moment(0, 1);
    std::set<std::string> before;
    for (int round = 0; round < 3; round++) {
        Arguments arguments = explore("1000");
        const pid_t pid = fork();
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) {
                _exit(126);
            }
            std::vector<char *> argv = {const_cast<char *>(HALYARD_COMMAND)};
            for (auto &a : arguments) {
                argv.push_back(a.data());
            }
            argv.push_back(nullptr);
            execv(argv[0], argv.data());
            _exit(127);
        }
        // The first is killed as it starts, the others at some moment after they have found something.
        const auto begin = std::chrono::steady_clock::now();
        while (round > 0 && ids().size() <= before.size() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        std::this_thread::sleep_for(std::chrono::duration<double>(moment(random)));
        kill(pid, round % 2 ? SIGTERM : SIGKILL);
        waitpid(pid, nullptr, 0);
        const auto after = ids();
        for (const auto &id : before) {
            CHECK(after.count(id) == 1);
        }
        before = after;
    }
    CHECK(before.size() >= 2);
    // One that knows them does not measure them again, and ends well.
    const ProcessResult r = run([&] {
        Arguments a = explore(std::to_string(before.size() + 2));
        a.insert(a.end(), {"-o", lua});
        return a;
    }());
    INFO(r.out + r.err);
    CHECK(r.exit_code == 0);
    CHECK(contains(read_file(lua), "schedule \"rms_norm\""));
    const auto best = Database(db).best(task);
    REQUIRE(best.size() == 1);
    CHECK(best[0].measured.least > 0);
    CHECK(ids().size() <= before.size() + 4);
}
