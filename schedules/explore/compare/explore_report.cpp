#include "explore/compare/explore_report.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "explore/store/entry.h"
#include "explore/space/script_space.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

std::string time_text(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.4g} us", seconds * 1e6) : fmt::format("{:.4g} ms", seconds * 1e3);
}

std::string shape_of(const Task &task) {
    std::vector<std::string> items;
    for (const auto &d : task.shape) {
        items.push_back(fmt::format("{}={}", d.first, d.second));
    }
    for (const auto &p : task.params) {
        items.push_back(p.first + "=" + p.second);
    }
    return items.empty() ? "the sizes that its generator estimates" : join(items, ",");
}

// The decisions in which one differs from the best.
std::string difference(const Proposal &best, const Proposal &other) {
    if (other.answers.empty()) {
        return "as Halide's " + other.candidate.origin + " has it";
    }
    if (best.answers.empty()) {
        return other.plan.fusion();
    }
    std::vector<std::string> items;
    for (const auto &a : other.answers) {
        const auto b = best.answers.find(a.first);
        if (b == best.answers.end() || b->second != a.second) {
            items.push_back(a.first + ": " + a.second);
        }
    }
    return items.empty() ? "the same decisions" : join(items, "; ");
}

// Lines of at most 110 columns.
void add_wrapped(std::vector<std::string> &lines, const std::string &text) {
    std::string line;
    for (const auto &word : split(text, ' ')) {
        if (!line.empty() && line.size() + word.size() > 109) {
            lines.push_back(line);
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    lines.push_back(line);
}

}  // namespace

std::string summary(const ExploreResult &r) {
    return fmt::format("{}, the best of {} schedules in {:.0f} s", time_text(r.ranking.front().measured.median), r.tried, r.seconds);
}

std::string with_findings(const ExploreResult &r) {
    const Tried &best = r.ranking.front();
    std::vector<std::string> lines;
    add_wrapped(lines, fmt::format("{} at {}, found by halyard explore (seed {}): {}.", r.task.op, shape_of(r.task), r.seed, summary(r)));
    add_wrapped(lines, is_cuda(r.task.target)
                           ? fmt::format("Measured on {}.", key_of(r.task).machine)
                           : fmt::format("Measured on {}, {} thread{}.", r.task.machine.empty() ? cpu().model : r.task.machine,
                                         r.task.threads, r.task.threads == 1 ? "" : "s"));
    const std::string &lua = best.proposal.candidate.lua;
    const bool of_script = r.of_script && !best.proposal.by_rules;
    if (!best.proposal.plan.placed.empty() || best.proposal.by_rules) {
        add_wrapped(lines, "Fusion: " + best.proposal.form() + ".");
    } else if (!of_script) {
        const bool in_words = best.proposal.candidate.lua.find(":autoschedule(") == std::string::npos;
        add_wrapped(lines, "It is what Halide's " + best.proposal.candidate.origin + " makes of it" +
                               (in_words ? ", in words." : ": there are no words for all of it."));
    }
    if (r.ranking.size() > 1) {
        lines.emplace_back("Runners-up, timed in turns with it, and what they did otherwise:");
    }
    for (size_t i = 1; i < r.ranking.size() && i <= 3; i++) {
        add_wrapped(lines,
                    fmt::format("  {}  {}", time_text(r.ranking[i].measured.median), difference(best.proposal, r.ranking[i].proposal)));
    }
    const Defaults given =
        of_script ? with_defaults(with_own_params(r.task, best.proposal.candidate), best.proposal.candidate.set) : Defaults();
    if (!given.left.empty()) {
        add_wrapped(lines, "To be built with --set " + assignments_text(given.left) + ".");
    }
    std::string head;
    for (const auto &l : lines) {
        head += "-- " + l + "\n";
    }
    if (of_script) {
        return head + "--\n" + given.lua;
    }
    return head + lua.substr(lua.find("\n\n") + 1);
}

}  // namespace halyard::explore
