// Broken variants of scripts, applied to a pipeline through the plugin and lowered. Batches run in
// processes of their own, so that a crash or a hang is found and shown with its script.
// HALYARD_FUZZ=n runs n times as many.

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>

#include "mutate.h"
#include "small_pipeline.h"
#include "support.h"

namespace {

// Right scripts for the small pipeline that use much of the language.
const char *const kSources[] = {
    R"(return schedule "small" {
  params = { rows = tune { 1, 4, 8, default = 4 } },
  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local task, row = k.y:split("row", p.rows, "guard")
    task:parallel()
    k.y:vectorize("col", lanes, "guard")
    k.g:compute_at(row):store_in "stack":vectorize("col", lanes)
    k.sum:compute_root():vectorize("row", 4)
    k.sum:update(0):reorder("row", "r"):unroll("row", 2)
    k.hist:compute_root():update(0):reorder("box_y", "box_x")
    k.f:compute_root():parallel("row"):vectorize("col", lanes):align_storage("col", 16)
  end,
})",
    R"(return schedule "small" {
  apply = function(k, p, target)
    local wide = k.x:dim(0):extent():at_least(64):and_(k.x:dim(1):extent():multiple_of(8))
    for _, y in ipairs { k.y:specialize(wide), k.y } do
      local co, ro, ci, ri = y:tile({ "col", "row" }, { 16, 8 }, "guard")
      y:fuse(co, ro, "tile"):parallel()
      ci:vectorize(8, "guard")
      ri:unroll(2, "guard")
    end
    local staged = k.x:in_(k.f)
    staged:compute_root():store_in "heap":vectorize("_0", 8)
    k.f:compute_root():reorder("row", "col"):bound_extent("col", k.x:dim(0):extent())
    local lane = select(2, k.sum:update(0):split("r", 8, "guard"))
    local partial = k.sum:update(0):rfactor(lane, { "lane" })
    partial:compute_at(k.sum, "row"):vectorize("lane"):update(0):vectorize("lane")
    k.sum:compute_root()
    k.hist:compute_root():update(0):atomic():parallel("box_x")
    k.x:dim(0):set_min(0):set_stride(1)
    k.x:set_host_alignment(32)
    k.g:compute_at(k.y, "tile"):hoist_storage(k.y, "tile")
  end,
})",
    R"(return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_at(k.y, "col"):store_at(k.y, "row"):fold_storage("col", 4)
    k.y:partition("col", "never")
    k.g:rename("col", "column"):partition "always"
    k.y:prefetch(k.f, "row", "row", 2, "guard_with_if"):never_partition("row")
    k.f:compute_root():store_in "heap":reorder_storage("row", "col")
    k.sum:compute_root():align_bounds("row", 4):bound_storage("row", 1024)
    k.sum:update(0):atomic():vectorize("r", 8)
    k.hist:compute_root():set_estimate("i", 0, 16):trace_stores():add_trace_tag "t":no_profiling()
    k.hist:update():serial("box_x"):unroll("box_y", 2)
    k.y:set_estimates { 0, 64, 0, 64 }
  end,
})",
};

std::vector<std::string> sources() {
    std::vector<std::string> all = scripts_in(HALYARD_SOURCE "/schedules/cpu");
    // The small pipeline's own scripts get further than those of other algorithms: half of all, however many ship.
    for (const size_t shipped = all.size(); all.size() < 2 * shipped;) {
        all.insert(all.end(), std::begin(kSources), std::end(kSources));
    }
    return all;
}

// The words that the reference lists.
std::vector<std::string> words() {
    std::vector<std::string> found;
    const std::string page = read_file(HALYARD_SOURCE "/docs/reference/words.md");
    for (size_t at = page.find("\n### "); at != std::string::npos; at = page.find("\n### ", at + 1)) {
        found.push_back(page.substr(at + 5, page.find('\n', at + 1) - at - 5));
        found.push_back("k.y:" + found.back());
        found.push_back("):" + found.back() + "(");
    }
    return found;
}

struct Found {
    uint64_t seed;
    std::string what;
    uint64_t good;  // scripts that were accepted
};

// Halide goes through code that is unrolled so often for longer than the limit of a script here, and a build has one of its own.
bool unrolls_much(const std::string &script) {
    static const std::regex kUnroll("unroll\\([^)]*[0-9]{3}");
    return std::regex_search(script, kUnroll);
}

// Runs the seeds from first on in a child; returns where it stopped and why, or last.
Found run_batch(const Mutator &mutator, const TempDir &dir, uint64_t first, uint64_t last) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        uint64_t good = 0;
        (void)!freopen("/dev/null", "w", stderr);
        for (uint64_t seed = first; seed < last; seed++) {
            (void)!write(ends[1], &seed, sizeof seed);
            alarm(20);
            try {
                const std::string script = mutator.variant(seed);
                if (unrolls_much(script)) {
                    continue;
                }
                const std::string path = dir.write("script.lua", script);
                const std::string message = schedule_small_pipeline(path);
                good += message.empty();
                if (!message.empty() && message.find("script.lua") == std::string::npos &&
                    message.find("reduce.lua") == std::string::npos && message.find("/schedules/lib/") == std::string::npos) {
                    dir.write("why", "names no file: " + message);
                    _exit(3);
                }
                if (message.find("Internal Error") != std::string::npos || message.find("internal error") != std::string::npos) {
                    dir.write("why", "internal error: " + message);
                    _exit(3);
                }
            } catch (const std::exception &e) {
                dir.write("why", std::string("a foreign exception: ") + e.what());
                _exit(3);
            } catch (...) {
                dir.write("why", "a foreign exception");
                _exit(3);
            }
        }
        (void)!write(ends[1], &good, sizeof good);
        _exit(0);
    }
    close(ends[1]);
    std::vector<uint64_t> said;
    for (uint64_t n = 0; read(ends[0], &n, sizeof n) == sizeof n;) {
        said.push_back(n);
    }
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    Found f{said.empty() ? first : said.back(), "", 0};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        f.good = said.back();
        f.seed = last - 1;
    }
    if (WIFSIGNALED(status)) {
        f.what = WTERMSIG(status) == SIGALRM ? "does not end" : "signal " + std::to_string(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        f.what = WEXITSTATUS(status) == 3 ? read_file(dir.path() + "/why") : "exit " + std::to_string(WEXITSTATUS(status));
    }
    return f;
}

}  // namespace

TEST_CASE("the scripts that fuzzing starts from are right", "[fuzz]") {
    const TempDir dir;
    for (const char *source : kSources) {
        CHECK(schedule_small_pipeline(dir.write("script.lua", source)) == "");
    }
}

TEST_CASE("no script breaks the plugin", "[fuzz]") {
    const TempDir dir;
    const Mutator mutator(sources(), words());
    const char *factor = std::getenv("HALYARD_FUZZ");
    const char *from = std::getenv("HALYARD_FUZZ_FROM");
    const uint64_t start = from ? std::strtoull(from, nullptr, 10) : 0;
    const uint64_t count = start + kVariants * uint64_t(factor ? std::max(1, std::atoi(factor)) : 1);
    uint64_t shown = 0, good = 0;
    for (uint64_t seed = start; seed < count && shown < 20;) {
        const Found f = run_batch(mutator, dir, seed, std::min(seed + 500, count));
        if (!f.what.empty()) {
            FAIL_CHECK("seed " << f.seed << ": " << f.what << "\n" << mutator.variant(f.seed));
            shown++;
        }
        good += f.good;
        seed = f.seed + 1;
    }
    WARN(good << " of " << count - start << " scripts were accepted and lowered");
    CHECK(good > (count - start) / 20);
}
