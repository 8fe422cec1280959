// Scripts drawn from the table of words, legal and illegal values alike: what is accepted gives the result of the
// algorithm without a schedule, and what is refused is refused by one error with the script's line. Batches run in
// processes of their own, so that a crash or a hang is found and shown with its script.
//
// HALYARD_FUZZ_SCRIPTS=n draws n scripts, HALYARD_FUZZ_KERNELS=n n of them for CUDA, HALYARD_FUZZ_SEED=s starts at another seed; scripts/fuzz does both.
// HALYARD_FUZZ_LOG=FILE takes the outcome of each.

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "draw.h"
#include "run.h"
#include "tests/language/support.h"

namespace {

using namespace fuzz;

constexpr uint64_t kScripts = 200, kKernels = 8;  // a kernel takes seconds to compile
constexpr uint64_t kBatch = 50;
constexpr unsigned kSecondsEach = 60;   // of processor time, for a script
constexpr unsigned kLongestWait = 900;  // for one that waits for itself
constexpr rlim_t kMemory = rlim_t(6) << 30;

uint64_t number(const char *variable, uint64_t otherwise) {
    const char *text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// What is drawn, and where it runs.
struct Draws {
    bool cuda;

    std::string algorithm(uint64_t seed) const {
        std::vector<std::string> names = algorithm_names();
        if (cuda) {
            names.erase(std::find(names.begin(), names.end(), "tuple"));
        }
        return names[seed % names.size()];
    }

    std::string script(uint64_t seed) const {
        const std::string op = algorithm(seed);
        return draw_script(op, make_algorithm(op).pipeline, seed, cuda);
    }

    Result run(const Runner &runner, uint64_t seed, const std::string &file) const {
        return cuda ? runner.run_on_device(algorithm(seed), file) : runner.run(algorithm(seed), file);
    }
};

// What a child says of a script.
struct Said {
    uint64_t seed;
    Outcome outcome;
};

struct Counts {
    uint64_t of[4] = {};
};

// Runs the seeds from first on in a child; returns the first that was wrong, or last, and why.
uint64_t run_batch(const Runner &runner, const Draws &draws, const TempDir &dir, uint64_t first, uint64_t last, Counts &counts,
                   std::string &why) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        (void)!freopen("/dev/null", "w", stdout);
        if (!draws.cuda) {  // the emulated device reserves addresses without end
            const rlimit memory{kMemory, kMemory};
            setrlimit(RLIMIT_AS, &memory);
        }
        for (uint64_t seed = first; seed < last; seed++) {
            const itimerval spent{{0, 0}, {kSecondsEach, 0}};
            setitimer(ITIMER_PROF, &spent, nullptr);
            alarm(kLongestWait);
            Result r;
            try {
                r = draws.run(runner, seed, dir.write("script.lua", draws.script(seed)));
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
        why = WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF ? "does not end" : "signal " + std::to_string(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        why = WEXITSTATUS(status) == 3 ? read_file(dir.path() + "/why") : "exit " + std::to_string(WEXITSTATUS(status));
    }
    return next;
}

// Draws so many, and says which are wrong.
void check_scripts(const Draws &draws, uint64_t count) {
    Halide::load_plugin(HALYARD_PLUGIN);
    const Runner runner;
    const TempDir dir;
    const uint64_t start = number("HALYARD_FUZZ_SEED", 0);
    Counts counts;
    uint64_t wrong = 0;
    for (uint64_t seed = start; seed < start + count;) {
        std::string why;
        seed = run_batch(runner, draws, dir, seed, std::min(seed + kBatch, start + count), counts, why);
        if (!why.empty()) {
            FAIL_CHECK("seed " << seed << " (" << draws.algorithm(seed) << "): " << why << "\n" << draws.script(seed));
            wrong++;
            seed++;
        }
    }
    WARN("seeds " << start << " to " << start + count - 1 << ": " << counts.of[int(Outcome::kRight)] << " right, "
                  << counts.of[int(Outcome::kRefused)] << " refused, " << counts.of[int(Outcome::kRefusedAtCall)]
                  << " with calls that were refused, " << wrong << " wrong");
    // Else nothing much was tried.
    CHECK(counts.of[int(Outcome::kRight)] >= count / 8);
    CHECK((count < 100 || counts.of[int(Outcome::kRefused)] > 0));
}

}  // namespace

TEST_CASE("a number that only a call knows is checked by the call", "[fuzz]") {
    Halide::load_plugin(HALYARD_PLUGIN);
    const Runner runner;
    const TempDir dir;
    const auto run = [&](const std::string &line) {
        return runner.run("stencil", dir.write("script.lua", "return schedule \"fuzzed\" { apply = function(k)\n" + line + "\nend }"));
    };
    // `scale` is 3 in a call.
    for (const char *line : {"k.y:align_bounds('col', k.scale - 3)", "k.y:align_bounds('col', k.scale - 8)",
                             "k.down:compute_root():align_bounds('col', 4, k.scale + 1)", "k.y:align_extent('col', k.scale - 3)",
                             "k.down:compute_root():align_storage('col', k.scale - 3)"}) {
        const Result r = run(line);
        INFO(line << ": " << r.message);
        CHECK(r.outcome == Outcome::kRefusedAtCall);
        CHECK(r.message.find("script.lua:2: the argument \"") != std::string::npos);
    }
    CHECK(run("k.down:compute_root():align_storage('col', k.scale * 100000)").outcome == Outcome::kRefused);
    CHECK(run("k.y:split('col', k.scale - 3)").outcome == Outcome::kRefusedAtCall);
    // 37^6 has more than 32 bits, and ends at 2^31 - 1 before it is multiplied again.
    CHECK(run("local n = k.x:dim(0):extent()\nk.y:split('col', n * n * n * n * n * n * n, 'guard')")
              .message.find("must be from 1 to 16777216, not 79456894939") != std::string::npos);
    // Of 32 bits the lowest, which no processor divides by -1.
    CHECK(run("k.y:specialize(((k.scale * 715827882 + 2) // (k.scale - 4)):eq(1))").outcome == Outcome::kRight);
    CHECK(run("k.y:specialize(((k.scale * 715827882 + 2) % (k.scale - 4)):eq(1))").outcome == Outcome::kRight);
    for (const char *line :
         {"k.down:compute_root():align_storage('col', k.scale - 2)", "k.down:compute_root():align_extent('col', k.scale)",
          "k.y:align_bounds('col', k.scale - 2)", "k.y:split('col', k.scale, 'guard')"}) {
        const Result r = run(line);
        INFO(line << ": " << r.message);
        CHECK(r.outcome == Outcome::kRight);
    }
}

TEST_CASE("a script that is accepted gives the right result", "[fuzz]") {
    check_scripts({false}, number("HALYARD_FUZZ_SCRIPTS", kScripts));
}

TEST_CASE("a script for CUDA that is accepted gives the right result", "[fuzz][cuda]") {
    check_scripts({true}, number("HALYARD_FUZZ_KERNELS", kKernels));
}

// HALYARD_FUZZ_FILE=script.lua of HALYARD_FUZZ_ALGORITHM, to look at a script that was found; HALYARD_FUZZ_LOWERED=FILE
// takes what Halide makes of it.
TEST_CASE("one script, by hand", "[.by hand]") {
    Halide::load_plugin(HALYARD_PLUGIN);
    const char *file = std::getenv("HALYARD_FUZZ_FILE"), *algorithm = std::getenv("HALYARD_FUZZ_ALGORITHM");
    REQUIRE(file);
    REQUIRE(algorithm);
    if (const char *lowered = std::getenv("HALYARD_FUZZ_LOWERED")) {
        Algorithm a = make_algorithm(algorithm);
        const Halide::Target target = Halide::get_jit_target_from_environment();
        a.pipeline.apply_autoscheduler(target, Halide::AutoschedulerParams("Lua", {{"script", file}}));
        a.pipeline.compile_to_lowered_stmt(lowered, {a.x, a.w, a.scale}, Halide::Text, target);
    }
    const Result r = Runner().run(algorithm, file);
    WARN("outcome " << int(r.outcome) << " " << r.message);
}
