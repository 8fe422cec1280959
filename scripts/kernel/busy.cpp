#include "kernel/busy.h"

#include <algorithm>
#include <ctime>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard {

namespace {

double now(clockid_t clock) {
    timespec t = {};
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Seconds of a chain of multiplications, each of which waits for the one before: as many cycles, whatever else there is.
double chain() {
    double best = 1e30;
    for (int i = 0; i < 5; i++) {
        const double begin = now(CLOCK_THREAD_CPUTIME_ID);
        uint64_t x = 1;
        for (int k = 0; k < 100000; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            __asm__ volatile("" : "+r"(x));
        }
        best = std::min(best, now(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
    return best;
}

Watch::Ticks ticks() {
    std::string text;
    if (FILE *f = std::fopen("/proc/stat", "r")) {
        std::vector<char> part(1 << 16);
        for (size_t n; (n = std::fread(part.data(), 1, part.size(), f)) > 0;) {
            text.append(part.data(), n);
        }
        std::fclose(f);
    }
    return Watch::parse(text);
}

}  // namespace

Watch::Ticks Watch::parse(const std::string &text) {
    Ticks t;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name == "cpu") {
            // user nice system idle iowait irq softirq steal; guests are in user.
            double value[8] = {};
            for (double &v : value) {
                words >> v;
            }
            t.used = value[0] + value[1] + value[2] + value[5] + value[6];
            t.stolen = value[7];
            t.all = t.used + t.stolen + value[3] + value[4];
        } else if (name == "procs_running") {
            words >> t.runnable;
        } else if (starts_with(name, "cpu")) {
            t.processors++;
        }
    }
    return t;
}

Watch::Watch() : ticks_(ticks()), wall_(now(CLOCK_MONOTONIC)), own_(now(CLOCK_PROCESS_CPUTIME_ID)), cycle_(chain()) {}

std::string Watch::sentence(int threads) const {
    const double cycle = chain();
    return sentence(ticks_, ticks(), now(CLOCK_MONOTONIC) - wall_, now(CLOCK_PROCESS_CPUTIME_ID) - own_, threads, cycle_, cycle);
}

std::string Watch::sentence(const Ticks &from, const Ticks &to, double seconds, double own, int threads, double cycle_from,
                            double cycle_to) {
    constexpr double kOthers = 0.15, kStolen = 0.02, kClock = 0.05, kShortest = 0.1;  // ticks are 10 ms long
    const double all = to.all - from.all;
    std::vector<std::string> parts;
    if (all > 0 && seconds >= kShortest && to.processors > 0) {
        const double processors = to.processors, used = (to.used - from.used) / all * processors;
        const double others = std::max(used - own / seconds, 0.0), stolen = (to.stolen - from.stolen) / all;
        if (others > kOthers) {
            const int waiting = std::max(to.runnable - std::max(threads, 1), 0);
            parts.push_back(fmt::format("other processes used {:.1f} of {} processors{}", others, to.processors,
                                        waiting > 0 ? fmt::format(" ({} more ready to run)", waiting) : ""));
        }
        if (stolen > kStolen) {
            parts.push_back(fmt::format("the host of this virtual machine took {:.0f} % of its time", 100 * stolen));
        }
    }
    if (cycle_from > 0 && cycle_to > 0 && std::max(cycle_from, cycle_to) > (1 + kClock) * std::min(cycle_from, cycle_to)) {
        parts.push_back(fmt::format("the clock of the processor became {:.0f} % {}",
                                    100 * (std::max(cycle_from, cycle_to) / std::min(cycle_from, cycle_to) - 1),
                                    cycle_to > cycle_from ? "slower" : "faster"));
    }
    return parts.empty() ? "" : "The machine was busy while this was timed: " + join(parts, "; ") + ".";
}

}  // namespace halyard
