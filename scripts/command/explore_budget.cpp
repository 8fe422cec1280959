#include "command/explore_budget.h"

#include <algorithm>
#include <regex>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "kernel/failure.h"

namespace halyard {

using Clock = std::chrono::steady_clock;

double budget_seconds(const std::string &text) {
    std::smatch m;
    if (!std::regex_match(text, m, std::regex("([0-9]{1,6}(?:\\.[0-9]{1,3})?)([smh]?)"))) {
        throw UsageError(fmt::format("--budget \"{}\" is no time; write 90s, 10m or 1h", text));
    }
    return std::stod(m[1]) * (m[2] == "h" ? 3600 : m[2] == "m" ? 60 : 1);
}

double Budget::left() const {
    return seconds_ - std::chrono::duration<double>(Clock::now() - begin_).count();
}

Clock::time_point Budget::end() const {
    return begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_));
}

double Budget::turn_seconds() const {
    return std::clamp(seconds_ / 60, 0.1, kTurnSeconds);
}

double seconds_of_end(const std::vector<explore::Tried> &few, const std::vector<Beside> &beside, const explore::Measurer &measurer,
                      double turn_seconds, size_t tables) {
    constexpr double kLoading = 0.5, kOther = 1.5;  // what a column takes besides its builds
    double build = 0, loading = kLoading;
    size_t missing = 0;
    for (const explore::Tried &t : few) {
        build = std::max(build, t.measured.build_seconds);
        loading = std::max(loading, t.measured.run_seconds);  // which is longer where others use the machine
        missing += measurer.is_built(t.proposal.candidate) ? 0 : 1;
    }
    const size_t all = few.size() + beside.size() + 1;
    return loading + double(all) * 2 * turn_seconds + double(missing) * build / std::max(cpu().processors, 1) +
           double(tables) * (2 * build + kOther);
}

}  // namespace halyard
