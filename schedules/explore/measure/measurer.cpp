#include "explore/measure/measurer.h"

#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "explore/measure/candidate_process.h"
#include "kernel/failure.h"
#include "kernel/process.h"
#include "explore/measure/reference.h"
#include "kernel/registry.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

struct Reference {
    std::string name, outputs;
};

}  // namespace

struct Measurer::Implementation {
    explicit Implementation(Task t) : task(std::move(t)), work(temporary_root()) {
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
        return build_candidates(task, directories, candidates, jobs);
    }

    void remove(const Built &b) const {
        remove_folder(b.directory);
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
            const Built b = build(t.script, c, 5 * task.limits.build_seconds);
            Measured m = b.measured;
            const std::string outputs = fmt::format("{}/reference-{}", work.path(), references.size());
            if (m.ok()) {
                m = run_built(task, b, outputs, false, 0, 10 * task.limits.run_seconds);
            }
            remove(b);
            if (m.ok()) {
                return references[key] = {t.name, outputs};
            }
            const std::string reason = fmt::format("\n  {}: {}: {}", t.name, status_name(m.status), m.message);
            why += why.find(reason) == std::string::npos ? reason : "";
        }
        throw Failure(fmt::format("{}: error: no schedule that is known to be right runs with {} to check candidates "
                                  "against{}",
                                  task.op, key.empty() ? "these parameters" : key, why));
    }

    Measured finish(const Built &b, double best) {
        Measured m = b.measured;
        if (m.ok()) {
            const Reference &r = reference(b.params);
            m = run_built(task, b, r.outputs, true, best, task.limits.run_seconds);
            m.reference = r.name;
        }
        remove(b);
        return m;
    }

    Task task;
    TemporaryDirectory work;
    std::map<std::string, Reference> references;
    int number = 0;
};

Measurer::Measurer(Task task) : implementation_(std::make_unique<Implementation>(std::move(task))) {}

Measurer::~Measurer() = default;

const Task &Measurer::task() const {
    return implementation_->task;
}

Measured Measurer::measure(const Candidate &candidate, double best) {
    return measure(std::vector<Candidate>{candidate}, best, 1).front();
}

std::vector<Measured> Measurer::measure(const std::vector<Candidate> &candidates, double best, int jobs,
                                        const std::function<void(size_t, const Measured &)> &each) {
    Implementation &i = *implementation_;
    const std::vector<Built> built = i.build_all(candidates, jobs);
    std::vector<Measured> all;
    for (const Built &b : built) {
        all.push_back(i.finish(b, best));
        if (each) {
            each(all.size() - 1, all.back());
        }
        if (all.back().ok() && (best <= 0 || all.back().least < best)) {
            best = all.back().least;
        }
    }
    return all;
}

std::vector<Measured> Measurer::in_turns(const std::vector<Candidate> &candidates, double seconds) {
    Implementation &i = *implementation_;
    const std::vector<Built> built = i.build_all(candidates, 0);
    std::vector<Measured> all;
    std::vector<size_t> places;
    for (const Built &b : built) {
        if (b.measured.ok()) {
            places.push_back(all.size());
        }
        all.push_back(b.measured);
    }
    if (!places.empty()) {
        std::vector<Built> right;
        for (const size_t place : places) {
            right.push_back(built[place]);
        }
        const auto times = run_in_turns(i.task, right, seconds);
        for (size_t n = 0; n < places.size(); n++) {
            all[places[n]] = times[n];
        }
    }
    for (const Built &b : built) {
        i.remove(b);
    }
    return all;
}

Measured measure(const Task &task, const Candidate &candidate) {
    return Measurer(task).measure(candidate);
}

}  // namespace halyard::explore
