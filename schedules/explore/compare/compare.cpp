#include "explore/compare/compare.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "explain/explain_device_words.h"
#include "explain/explain_run.h"
#include "explain/explain_words.h"
#include "kernel/failure.h"
#include "explore/measure/measurer.h"
#include "explore/store/entry.h"
#include "kernel/own_op.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 0.3;  // of timing in turns, an alternative

// A name that is a file name, and no other's.
std::string file_name(const std::string &name, size_t number) {
    std::string clean = name.empty() ? "schedule" : name;
    for (char &c : clean) {
        c = c == '/' || c == '\0' ? '_' : c;
    }
    return fmt::format("{}/{}.lua", number, clean);
}

// Builds them once more, in this process: they are known to be right.
void explain(const Task &task, std::vector<Alternative> &all, const std::function<void(const std::string &)> &say) {
    const TemporaryDirectory work(temporary_root());
    ExplainRequest request;
    request.shape = task.shape;
    request.threads = task.threads;
    request.seconds = kSeconds;
    std::vector<Alternative *> of_request;
    for (size_t i = 0; i < all.size(); i++) {
        const Candidate &c = all[i].candidate;
        if (!all[i].measured.ok()) {
            continue;
        }
        GenerateRequest g;
        g.op = task.op;
        g.schedule = work.path() + "/" + file_name(all[i].name, i);
        fs::create_directories(fs::path(g.schedule).parent_path());
        write_file(g.schedule, c.lua);
        g.target = task.target;
        g.params = task.params;
        for (const auto &p : c.params) {
            g.params[p.first] = p.second;
        }
        g.set = c.set;
        g.lib_dirs = c.module_folders();
        g.timeout = task.limits.build_seconds;
        request.schedules.push_back(g);
        of_request.push_back(&all[i]);
    }
    if (request.schedules.empty()) {
        return;
    }
    auto explained = explain_schedules(find_op(task.op), request, say);
    for (size_t i = 0; i < explained.size(); i++) {
        of_request[i]->explained = std::move(explained[i]);
        of_request[i]->explained->schedule = of_request[i]->name;
        if (of_request[i]->turns.contest) {
            of_request[i]->explained->warm_turns = of_request[i]->turns;
            of_request[i]->explained->warm.measured = of_request[i]->turns.timing().median;
        }
        of_request[i]->turns = of_request[i]->explained->warm_turns;
    }
}

// "swiglu takes 819 us. swiglu is 1.20 times as fast as unfused (1.18 to 1.22). Instructions hold it up most."
std::string headline(const Comparison &c) {
    const Alternative &best = c.alternatives.front();
    std::string line = fmt::format("{} {} {}.", best.name, c.measured ? "takes" : "is predicted to take", seconds_text(c.seconds(best)));
    for (size_t i = 1; i < c.alternatives.size(); i++) {
        const Alternative &other = c.alternatives[i];
        if (!other.failed()) {
            std::string text = verdict(c, best, other);
            text[0] = text[0] == 'a' && starts_with(text, "a tie") ? 'A' : text[0];
            line += " " + text + ".";
        }
    }
    if (best.explained) {
        line += fmt::format(" What holds it up most: {}.", c.gpu ? best.explained->device_limit : limit_name(best.explained->warm.limit));
    }
    return line;
}

}  // namespace

double Alternative::seconds() const {
    return turns.contest ? turns.timing().median : explained && explained->warm.measured ? *explained->warm.measured : measured.median;
}

double Comparison::seconds(const Alternative &a) const {
    return measured || !a.explained ? a.seconds() : a.explained->warm.predicted;
}

std::string verdict(const Comparison &c, const Alternative &a, const Alternative &b) {
    if (c.measured && a.turns.with(b.turns)) {
        return a.turns.contest->verdict(a.turns.place, b.turns.place, a.name, b.name);
    }
    const double times = c.seconds(b) / std::max(c.seconds(a), 1e-12);
    if (!c.measured) {
        return predicted_text(a.name, b.name, times);
    }
    return !differ({}, {}, times) ? fmt::format("a tie between {} and {}", a.name, b.name)
                                  : fmt::format("{} is {:.2f} times as fast as {}", a.name, times, b.name);
}

std::string compared_shape(const Comparison &c) {
    return c.task.generator.empty() ? shape_key(c.task.shape) : own_shape_text(c.task.shape);
}

std::vector<std::string> about_turns(const Comparison &c) {
    for (const auto &a : c.alternatives) {
        if (a.turns.contest && c.measured) {
            const Contest &contest = *a.turns.contest;
            std::vector<std::string> lines = {
                fmt::format("Times are medians of {} rounds, in which the schedules took turns in an order drawn "
                            "anew. The same schedule beside itself differed by {:.1f} %: less than that is a tie.",
                            a.turns.timing().samples, 100 * contest.threshold())};
            if (!contest.busy.empty()) {
                lines.push_back("Warning: " + contest.busy);
            }
            return lines;
        }
    }
    return {};
}

std::vector<std::string> reasons(const Comparison &c) {
    const Alternative &best = c.alternatives.front();
    if (best.failed()) {
        return {};
    }
    std::vector<std::string> lines = {headline(c)};
    for (size_t i = 1; i < c.alternatives.size(); i++) {
        const Alternative &other = c.alternatives[i];
        if (!best.explained || !other.explained) {
            continue;
        }
        const auto differences = fusion_differences(*best.explained, *other.explained);
        lines.push_back(differences.empty() ? fmt::format("{} and {} fuse the same; they differ in their loops.", best.name, other.name)
                                            : fmt::format("{} against {}: {}.", best.name, other.name, join(differences, "; ")));
        for (const auto &sentence : c.gpu ? halyard::compare(*best.explained, *other.explained, *c.gpu)
                                          : halyard::compare(*best.explained, *other.explained, c.machine)) {
            lines.push_back(sentence);
        }
    }
    return lines;
}

std::map<std::string, std::string> fusion_of(const Explained &e) {
    std::map<std::string, std::string> places;
    for (const auto &s : e.stages) {
        places.emplace(s.func, s.place.empty() ? "root" : "at " + s.place);
    }
    for (const auto &i : e.inlined) {
        if (!i.free) {
            places.emplace(i.func, "inlined");
        }
    }
    return places;
}

std::vector<std::string> fusion_differences(const Explained &a, const Explained &b) {
    const auto mine = fusion_of(a), theirs = fusion_of(b);
    std::vector<std::string> differences;
    for (const auto &m : mine) {
        const auto t = theirs.find(m.first);
        if (t == theirs.end()) {
            differences.push_back(fmt::format("{} {}, which the other does not have", m.first, m.second));
        } else if (t->second != m.second) {
            differences.push_back(fmt::format("{} {} against {}", m.first, m.second, t->second));
        }
    }
    for (const auto &t : theirs) {
        if (mine.count(t.first) == 0) {
            differences.push_back(fmt::format("no {}, which the other has {}", t.first, t.second));
        }
    }
    return differences;
}

void set_turns(const std::vector<Alternative *> &alternatives, const InTurns &turns) {
    const auto contest = std::make_shared<const Contest>(turns.contest);
    for (size_t i = 0; i < alternatives.size(); i++) {
        if (turns.measured[i].ok()) {
            alternatives[i]->turns = {contest, i};
        }
    }
}

Comparison compare(const Task &task, const std::vector<Contender> &contenders, const std::function<void(const std::string &)> &say) {
    Comparison c;
    c.task = task;
    say("building and checking");
    std::vector<Candidate> candidates;
    for (const auto &contender : contenders) {
        if (!contender.checked) {
            candidates.push_back(contender.candidate);
        }
    }
    Measurer measurer(task);
    const auto measured = measurer.measure(candidates);
    size_t next = 0;
    for (const auto &contender : contenders) {
        c.alternatives.push_back({contender.name, contender.candidate, contender.checked ? *contender.checked : measured[next++],
                                  contender.turns, std::nullopt});
    }
    // Explained or not, they take turns: what has no size in the registry cannot be explained.
    std::vector<Alternative *> right;
    for (auto &a : c.alternatives) {
        if (a.measured.ok()) {
            right.push_back(&a);
        }
    }
    if (!task.generator.empty() && right.size() > 1 && !right.front()->turns.contest) {
        say("timing in turns");
        std::vector<Candidate> all;
        for (const Alternative *a : right) {
            all.push_back(a->candidate);
        }
        set_turns(right, measurer.in_turns(all, kSeconds));
    }
    say("measuring the machine");
    c.machine = measured_machine(task.threads, false);
    if (task.generator.empty()) {
        explain(task, c.alternatives, say);
    }
    std::stable_sort(c.alternatives.begin(), c.alternatives.end(), [](const Alternative &a, const Alternative &b) {
        return a.measured.ok() != b.measured.ok() ? a.measured.ok() : a.measured.ok() && a.seconds() < b.seconds();
    });
    if (!c.alternatives.empty()) {
        c.why = reasons(c);
    }
    return c;
}

}  // namespace halyard::explore
