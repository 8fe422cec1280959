// Scripts drawn from the table of words, legal and illegal values alike: what is accepted gives the result of the
// algorithm without a schedule, and what is refused is refused by one error with the script's line. Batches run in
// processes of their own, so that a crash or a hang is found and shown with its script.
//
// HALYARD_FUZZ_SCRIPTS=n draws n scripts, HALYARD_FUZZ_SEED=s starts at another seed; scripts/fuzz does both.
// HALYARD_FUZZ_LOG=FILE takes the outcome of each.

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "draw.h"
#include "run.h"
#include "support.h"

namespace {

using namespace fuzz;

constexpr uint64_t kScripts = 200;
constexpr uint64_t kBatch = 50;
constexpr unsigned kSecondsEach = 60;
constexpr rlim_t kMemory = rlim_t(6) << 30;

uint64_t number(const char *variable, uint64_t otherwise) {
    const char *text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string algorithm_of(uint64_t seed) {
    return algorithm_names()[seed % algorithm_names().size()];
}

std::string script_of(uint64_t seed) {
    return draw_script(make_algorithm(algorithm_of(seed)).pipeline, seed);
}

// What a child says of a script.
struct Said {
    uint64_t seed;
    Outcome outcome;
};

struct Counts {
    uint64_t of[4] = {};
};

// Runs the seeds from first on in a child; returns the first that was wrong, or last, and why.
uint64_t run_batch(const Runner &runner, const TempDir &dir, uint64_t first, uint64_t last, Counts &counts, std::string &why) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        (void)!freopen("/dev/null", "w", stdout);
        const rlimit memory{kMemory, kMemory};
        setrlimit(RLIMIT_AS, &memory);
        for (uint64_t seed = first; seed < last; seed++) {
            alarm(kSecondsEach);
            Result r;
            try {
                r = runner.run(algorithm_of(seed), dir.write("script.lua", script_of(seed)));
            } catch (const std::exception &e) {
                r.message = std::string("a foreign exception: ") + e.what();
            } catch (...) {
                r.message = "a foreign exception";
            }
            const Said said{seed, r.outcome};
            if (const char *log = std::getenv("HALYARD_FUZZ_LOG")) {
                std::ofstream(log, std::ios::app) << seed << " " << int(r.outcome) << " " << r.message << "\n";
            }
            if (r.outcome == Outcome::kWrong) {
                dir.write("why", r.message);
                _exit(3);
            }
            (void)!write(ends[1], &said, sizeof said);
        }
        _exit(0);
    }
    close(ends[1]);
    uint64_t next = first;
    for (Said s; read(ends[0], &s, sizeof s) == sizeof s; next = s.seed + 1) {
        counts.of[int(s.outcome)]++;
    }
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) {
        why = WTERMSIG(status) == SIGALRM ? "does not end" : "signal " + std::to_string(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        why = WEXITSTATUS(status) == 3 ? read_file(dir.path() + "/why") : "exit " + std::to_string(WEXITSTATUS(status));
    }
    return next;
}

}  // namespace

TEST_CASE("a script that is accepted gives the right result", "[fuzz]") {
    Halide::load_plugin(HALYARD_PLUGIN);
    const Runner runner;
    const TempDir dir;
    const uint64_t start = number("HALYARD_FUZZ_SEED", 0), count = number("HALYARD_FUZZ_SCRIPTS", kScripts);
    Counts counts;
    uint64_t wrong = 0;
    for (uint64_t seed = start; seed < start + count;) {
        std::string why;
        seed = run_batch(runner, dir, seed, std::min(seed + kBatch, start + count), counts, why);
        if (!why.empty()) {
            FAIL_CHECK("seed " << seed << " (" << algorithm_of(seed) << "): " << why << "\n" << script_of(seed));
            wrong++;
            seed++;
        }
    }
    WARN("seeds " << start << " to " << start + count - 1 << ": " << counts.of[int(Outcome::kRight)] << " right, "
                  << counts.of[int(Outcome::kRefused)] << " refused, " << counts.of[int(Outcome::kRefusedAtCall)]
                  << " with calls that were refused, " << wrong << " wrong");
    // Else nothing much was tried.
    CHECK(counts.of[int(Outcome::kRight)] > count / 8);
    CHECK((count < 100 || counts.of[int(Outcome::kRefused)] > 0));
}
