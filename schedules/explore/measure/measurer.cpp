#include "explore/measure/measurer.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/process.h"
#include "explore/measure/reference.h"
#include "explore/space/query.h"
#include "kernel/registry.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Reference {
    std::string name;
    Built built;
    bool floats = false;  // in what is computed
};

// A library that may be asked for again.
struct Kept {
    std::string id;
    Built built;
    double least = 0;
};

constexpr size_t kMostKept = 8;  // of the fastest, besides those of keep()

}  // namespace

struct Measurer::Implementation {
    Implementation(Task t, Runner *where)
        : task(std::move(t)), here(runner_here()), runner(where ? where : here.get()), work(temporary_root()) {
        resolve_targets(task.target);
        if (task.generator.empty()) {
            check_shape(find_op(task.op), task.shape);
        }
        if (task.threads < 1 || task.threads > 1024) {
            throw UsageError(fmt::format("{} is not a number of threads", task.threads));
        }
    }

    Built build(const std::string &script, const Candidate &c, double seconds) {
        return build_candidate(task, fmt::format("{}/{}", work.path(), number++), script, c, seconds);
    }

    std::vector<Built> build_all(const std::vector<Candidate> &candidates, int jobs) {
        std::vector<std::string> directories;
        for (size_t n = 0; n < candidates.size(); n++) {
            directories.push_back(fmt::format("{}/{}", work.path(), number++));
        }
        Task limited = task;
        limited.limits.build_seconds = within(task.limits.build_seconds);
        return build_candidates(limited, directories, candidates, jobs);
    }

    void remove(const Built &b) const {
        remove_folder(b.directory);
    }

    // So many seconds, or what is left.
    static double until(const std::optional<Clock::time_point> &time, double seconds) {
        return time ? std::clamp(std::chrono::duration<double>(*time - Clock::now()).count(), 0.1, std::max(seconds, 0.1)) : seconds;
    }
    // What candidates are checked against has some seconds beyond the end: without it nothing can be said of any.
    double for_reference(double seconds) const {
        constexpr double kLeast = 10;
        return std::max(until(end, seconds), std::min(seconds, kLeast));
    }
    double within(double seconds) const {
        return until(end_of_candidates, until(end, seconds));
    }
    bool over() const {
        const auto now = Clock::now();
        return (end && now >= *end) || (end_of_candidates && now >= *end_of_candidates);
    }

    // It was not the candidate that took too long, but there was no more time.
    void forgive(Measured &m) const {
        if (over() && m.status == Status::kTimeout) {
            m.status = Status::kPending;
            m.message = "no time was left";
        }
    }

    const Built *built(const Candidate &c) const {
        const auto found = std::find_if(kept.begin(), kept.end(), [id = c.id()](const Kept &k) { return k.id == id; });
        return found == kept.end() ? nullptr : &found->built;
    }

    // The slowest but for those that are to stay makes room.
    void keep_library(const Candidate &c, const Built &b, double least) {
        if (built(c)) {
            remove(b);
            return;
        }
        kept.push_back({c.id(), b, least});
        std::vector<size_t> others;
        for (size_t i = 0; i < kept.size(); i++) {
            if (stay.count(kept[i].id) == 0) {
                others.push_back(i);
            }
        }
        if (others.size() > kMostKept) {
            const auto slowest =
                *std::max_element(others.begin(), others.end(), [&](size_t x, size_t y) { return kept[x].least < kept[y].least; });
            remove(kept[slowest].built);
            kept.erase(kept.begin() + std::ptrdiff_t(slowest));
        }
    }

    // Every variant of the generator has one of its own, made when the first candidate needs it.
    const Reference &reference(Assignments params) {
        params = whole_params(task, params);
        const std::string key = assignments_text(params);
        const auto known = references.find(key);
        if (known != references.end()) {
            return known->second;
        }
        std::string why;
        const std::vector<Trusted> trusted = trusted_schedules(task, work.path());
        for (size_t n = 0; n < 2 * trusted.size(); n++) {
            const Trusted &t = trusted[n % trusted.size()];
            Candidate c;
            // For choices that suit none of them, those that it has itself.
            c.params = n < trusted.size() ? params : without_own_choices(task, params);
            const Built b = build(t.script, c, for_reference(5 * task.limits.build_seconds));
            Measured m = b.measured;
            if (m.ok()) {
                m = runner->reference(task, b, for_reference(10 * task.limits.run_seconds));
            }
            if (m.ok()) {
                return references[key] = {t.name, b, computes_floats(params)};
            }
            remove(b);
            const std::string reason = fmt::format("\n  {}: {}: {}", t.name, status_name(m.status), m.message);
            why += why.find(reason) == std::string::npos ? reason : "";
            if (end && Clock::now() >= *end) {
                break;
            }
        }
        throw Failure(fmt::format("{}: error: no schedule that is known to be right runs with {} to check candidates "
                                  "against{}",
                                  task.op, key.empty() ? "these parameters" : key, why));
    }

    // Of an op of the registry the arguments say it.
    bool computes_floats(const Assignments &params) const {
        if (task.generator.empty()) {
            return false;
        }
        const auto is_float = [](const std::string &type) { return type.find("float") != std::string::npos || type == "double"; };
        const Description d = describe_pipeline(task, params);
        return std::any_of(d.funcs.begin(), d.funcs.end(),
                           [&](const auto &f) { return std::any_of(f.second.types.begin(), f.second.types.end(), is_float); });
    }

    Run run_of(const Built &b, double best) {
        const Reference &r = reference(b.params);
        Built checked = b;
        checked.floats = r.floats;
        return {checked, r.built, best, within(task.limits.run_seconds)};
    }

    // Of one that was built.
    void settle(const Candidate &c, const Built &b, Measured &m) {
        m.reference = reference(b.params).name;
        forgive(m);
        if (m.ok()) {
            keep_library(c, b, m.least);
        } else {
            remove(b);
        }
    }

    Task task;
    const std::unique_ptr<Runner> here;
    Runner *const runner;
    TemporaryDirectory work;
    std::map<std::string, Reference> references;
    std::vector<Kept> kept;
    std::set<std::string> stay;  // ids
    std::optional<Clock::time_point> end, end_of_candidates;
    int number = 0;
};

Measurer::Measurer(Task task, Runner *runner) : implementation_(std::make_unique<Implementation>(std::move(task), runner)) {}

Measurer::~Measurer() = default;

const Task &Measurer::task() const {
    return implementation_->task;
}

void Measurer::set_limits(const Limits &limits) {
    implementation_->task.limits = limits;
}

void Measurer::end_at(Clock::time_point end) {
    implementation_->end = end;
}

void Measurer::end_candidates_at(std::optional<Clock::time_point> end) {
    implementation_->end_of_candidates = end;
}

void Measurer::prepare() {
    implementation_->reference(implementation_->task.params);
}

void Measurer::keep(const Candidate &candidate) {
    implementation_->stay.insert(candidate.id());
}

bool Measurer::is_built(const Candidate &candidate) const {
    return implementation_->built(candidate) != nullptr;
}

Measured Measurer::measure(const Candidate &candidate, double best) {
    return measure(std::vector<Candidate>{candidate}, best, 1).front();
}

std::vector<Measured> Measurer::measure(const std::vector<Candidate> &candidates, double best, int jobs,
                                        const std::function<void(size_t, const Measured &)> &each) {
    Implementation &i = *implementation_;
    const std::vector<Built> built = i.build_all(candidates, jobs);
    std::vector<Measured> all(candidates.size());
    std::vector<size_t> runs;
    const auto tell = [&](size_t n) {
        if (each) {
            each(n, all[n]);
        }
        if (all[n].ok() && (best <= 0 || all[n].least < best)) {
            best = all[n].least;
        }
    };
    for (size_t n = 0; n < built.size(); n++) {
        if (built[n].measured.ok()) {
            runs.push_back(n);
            continue;
        }
        all[n] = built[n].measured;
        i.forgive(all[n]);
        i.remove(built[n]);
        tell(n);
    }
    // Nothing is built meanwhile: this machine may be one of those that measure.
    i.runner->run(
        i.task, runs.size(), [&](size_t r) { return i.run_of(built[runs[r]], best); },
        [&](size_t r, const Measured &m) {
            const size_t n = runs[r];
            all[n] = m;
            i.settle(candidates[n], built[n], all[n]);
            tell(n);
        });
    return all;
}

InTurns Measurer::in_turns(const std::vector<Candidate> &candidates, double seconds) {
    Implementation &i = *implementation_;
    std::vector<Candidate> fresh;
    for (const Candidate &c : candidates) {
        if (!i.built(c)) {
            fresh.push_back(c);
        }
    }
    const std::vector<Built> made = i.build_all(fresh, 0);
    std::vector<Built> right;
    std::vector<size_t> places;
    InTurns all;
    for (size_t n = 0, next = 0; n < candidates.size(); n++) {
        const Built *known = i.built(candidates[n]);
        const Built &b = known ? *known : made[next++];
        all.measured.push_back(b.measured);
        if (b.measured.ok()) {
            right.push_back(b);
            places.push_back(n);
        }
    }
    all.contest.all.resize(candidates.size());
    if (!right.empty()) {
        Task limited = i.task;
        // All of it, which is for one more than there are.
        limited.limits.run_seconds =
            i.within(double(right.size() + 1) * (i.task.limits.run_seconds + seconds)) / double(right.size() + 1) - seconds;
        InTurns times = i.runner->in_turns(limited, right, seconds);
        all.contest.noise = times.contest.noise;
        all.contest.busy = times.contest.busy;
        for (size_t n = 0; n < places.size(); n++) {
            all.measured[places[n]] = times.measured[n];
            all.contest.all[places[n]] = std::move(times.contest.all[n]);
        }
    }
    for (const Built &b : made) {
        i.remove(b);
    }
    return all;
}

Measured measure(const Task &task, const Candidate &candidate) {
    return Measurer(task).measure(candidate);
}

}  // namespace halyard::explore
