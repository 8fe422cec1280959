// halyard build, killed: the destination has the old files or the new ones, never a part of one.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "obedient_generator.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A run of the command in a session of its own, as a shell's job is.
class Job {
public:
    explicit Job(const Arguments &arguments) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);  // what it leaves behind becomes ours, to be waited for
        pid_ = fork();
        if (pid_ == 0) {
            setsid();
            if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) {
                _exit(126);
            }
            std::vector<char *> argv = {const_cast<char *>(HALYARD_COMMAND)};
            for (const auto &a : arguments) {
                argv.push_back(const_cast<char *>(a.c_str()));
            }
            argv.push_back(nullptr);
            execv(argv[0], argv.data());
            _exit(127);
        }
    }

    void signal(int number) const {
        kill(-pid_, number);
    }

    /** Its wait status, once nothing that it started is left. */
    int wait() const {
        int status = 0, other = 0;
        waitpid(pid_, &status, 0);
        while (waitpid(-1, &other, 0) > 0 || errno == EINTR) {
        }
        return status;
    }

private:
    pid_t pid_ = 0;
};

void wait_for(const std::string &path) {
    for (int i = 0; i < 2000 && !fs::exists(path); i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    REQUIRE(fs::exists(path));
}

}  // namespace

TEST_CASE("Interrupted half way through a library", "[build_interrupt]") {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        const Folder folder;
        const ObedientGenerator generator(folder);
        generator.build_once("old");
        const Job job(generator.arguments("new", "sleep"));
        wait_for(generator.half_way());
        const auto begin = Clock::now();
        job.signal(number);
        const int status = job.wait();
        INFO("signal " << number);
        CHECK(Clock::now() - begin < std::chrono::seconds(5));  // the generator would sleep for 10
        // A shell sees that it was the signal, and stops its loop.
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == number);
        CHECK(generator.is_gone());
        CHECK(names_in(generator.out()) == Arguments{"op.a", "op.h"});
        CHECK(read_file(generator.out() + "/op.a") == ObedientGenerator::whole("old"));
        CHECK(read_file(generator.out() + "/op.h") == ObedientGenerator::whole("old"));
    }
}

TEST_CASE("Killed half way through a library", "[build_interrupt]") {
    const Folder folder;
    const ObedientGenerator generator(folder);
    generator.build_once("old");
    const Job job(generator.arguments("new", "sleep 0.3"));
    wait_for(generator.half_way());
    job.signal(SIGKILL);
    CHECK(WTERMSIG(job.wait()) == SIGKILL);
    // The generator came to its end without anybody to take its files.
    CHECK(read_file(generator.out() + "/op.a") == ObedientGenerator::whole("old"));
    CHECK(read_file(generator.out() + "/op.h") == ObedientGenerator::whole("old"));
    // A later build sweeps up what nobody could.
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    generator.build_once("newer");
    for (const auto &name : names_in(generator.out())) {
        CHECK(name[0] != '.');
    }
}

TEST_CASE("Killed at any moment", "[build_interrupt]") {
    const Folder folder;
    const std::string out = folder / "out", library = out + "/rms_norm.a", header = out + "/rms_norm.h";
    const Arguments plain = {"build", "rms_norm", "--target", "avx2", "-o"};
    const auto to = [&](const std::string &where, const std::string &type) {
        Arguments a = plain;
        a.insert(a.end(), {where, "--param", "type=" + type});
        return a;
    };
    // The quicker of two builds, so that most kills come in time on a machine that is busy now and then.
    double seconds = 60;
    for (const std::string type : {"float32", "float16"}) {
        const auto begin = Clock::now();
        REQUIRE(run(to(folder / (type == "float32" ? "f32" : "f16"), type)).exit_code == 0);
        seconds = std::min(seconds, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    const std::string one = read_file(folder / "f32/rms_norm.a"), other = read_file(folder / "f16/rms_norm.a");
    const std::string one_header = read_file(folder / "f32/rms_norm.h"), other_header = read_file(folder / "f16/rms_norm.h");
    REQUIRE(one != other);

    std::mt19937 random(20240607);
    std::uniform_real_distribution<double> moment(0, 0.8 * seconds);
    int killed = 0;
    for (int round = 0; round < 12; round++) {
        const int number = (const int[]){SIGKILL, SIGINT, SIGTERM}[round % 3];
        if (round % 4 == 0) {
            fs::remove_all(out);
        }
        const double delay = moment(random);
        const Job job(to(out, round % 2 ? "float32" : "float16"));
        std::this_thread::sleep_for(std::chrono::duration<double>(delay));
        job.signal(number);
        killed += WIFSIGNALED(job.wait());
        INFO("round " << round << ", signal " << number << " after " << delay << " s of " << seconds);
        if (fs::exists(library)) {
            const std::string found = read_file(library);
            CHECK((found == one || found == other));
        }
        if (fs::exists(header)) {
            const std::string found = read_file(header);
            CHECK((found == one_header || found == other_header));
        }
        // What no signal handler can clean up is hidden, and in nobody's way.
        for (const auto &name : fs::exists(out) ? names_in(out) : Arguments{}) {
            CHECK((name == "rms_norm.a" || name == "rms_norm.h" || name[0] == '.'));
        }
    }
    CHECK(killed > 0);
    REQUIRE(run(to(out, "float32")).exit_code == 0);
    CHECK(read_file(library) == one);
    CHECK(read_file(header) == one_header);
}
