#include "explore/space/search.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

#include <fmt/format.h>

#include "explore/space/cost.h"
#include "explore/space/cuda_space.h"
#include "kernel/failure.h"
#include "explore/space/layout.h"
#include "explore/space/lua_writer.h"
#include "explore/space/planner.h"
#include "explore/space/script_space.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

constexpr size_t kAskEvery = 24;            // candidates
constexpr double kSortShare = 0.02;         // of the time that is left: to predict what is next to the best
const std::string kParam = "generator's ";  // decisions about parameters of the generator
const std::string kSchedule = "schedule";   // which of several scripts
const std::string kRules = "by rules";      // none of them

std::string milliseconds(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.4g} us", seconds * 1e6) : fmt::format("{:.4g} ms", seconds * 1e3);
}

}  // namespace

struct Search::Implementation {
    using Clock = std::chrono::steady_clock;

    Implementation(Task t, SearchOptions o, MeasureAll m)
        : task(std::move(t)), options(std::move(o)), measure(std::move(m)), random(options.seed) {
        for (const Candidate &c : options.scripts) {
            names.push_back(c.origin.empty() ? task.op : c.origin);
            scripts.push_back(std::make_unique<ScriptSpace>(task, c));
        }
        if (options.rules) {
            names.push_back(kRules);
        }
        if (!is_cuda(task.target)) {
            machine = options.machine ? *options.machine : measured_machine(task.threads, false);
            begin = Clock::now();  // where nobody has measured it yet that takes up to a minute, once
        }
        if (scripts.empty() || options.rules) {
            free = free_params(task);
            declared = declared_params(task);
        }
        for (const Tried &t : options.seeds) {
            known.insert(t.proposal.candidate.id());
            tried.push_back(t);
        }
    }

    double elapsed() const {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    }
    // Nor is one begun that would not be done in time, going by those before.
    bool over() const {
        return enough || is_last(0) || elapsed() + longest >= options.seconds - (count() > 0 ? options.reserve(few()) : 0);
    }
    std::vector<Tried> few() const {
        std::vector<Tried> best = ranking();
        best.resize(std::min<size_t>(best.size(), 5));
        return best;
    }
    void say(const std::string &phase) const {
        options.say(fmt::format("{}, {:.0f} s left: best {}{}, {} tried, {} failed{}", phase, std::max(options.seconds - elapsed(), 0.0),
                                tried.empty() ? "none yet" : milliseconds(best()),
                                options.baseline.empty() ? "" : ", against " + options.baseline, tried.size() + failed, failed,
                                pending > 0 ? fmt::format(", {} to be measured", pending) : ""));
    }
    // With so many on the way.
    bool is_last(size_t more) const {
        return count() + more >= options.most || (options.pending > 0 && pending + more >= options.pending);
    }
    size_t count() const {
        return tried.size() - options.seeds.size() + failed + pending;
    }

    const Description &description(const Assignments &params) {
        const std::string key = assignments_text(params);
        auto it = descriptions.find(key);
        if (it == descriptions.end()) {
            it = descriptions.emplace(key, describe_pipeline(task, params)).first;
        }
        return it->second;
    }

    Proposal propose(const Answers &answers) {
        Choices choices(answers);
        Proposal p;
        const std::string name = names.size() > 1 ? choices.pick(kSchedule, names, names.front()) : names.empty() ? kRules : names.front();
        if (name != kRules) {
            const auto &script = scripts[size_t(std::find(names.begin(), names.end(), name) - names.begin())];
            p.candidate = script->propose(choices);
            p.fusion = scripts.size() > 1 ? name : "";
            if (const Description *d = script->description(p.candidate)) {
                Description open = *d;
                plan(open, choices, p);
                p.candidate = script->filled(std::move(p.candidate), open, p.plan);
            }
        } else {
            propose_all(choices, p);
        }
        p.points = choices.points();
        p.answers = choices.taken();
        p.candidate.decisions = p.answers;
        return p;
    }

    void plan(Description &d, Choices &choices, Proposal &p) {
        choose_layouts(d, choices);
        p.plan = make_plan(d, choices, task.threads);
        p.candidate.predicted = predict(d, p.plan, machine);
    }

    // A script of which nothing is given.
    void propose_all(Choices &choices, Proposal &p) {
        Assignments params;
        for (const auto &p : free) {
            std::vector<int64_t> numbers;
            for (const auto &v : p.values) {
                numbers.push_back(p.number ? std::stoll(v) : 0);
            }
            // Blocks and panels are tiles of a GPU's block (query.cpp).
            const int64_t own = p.number ? std::stoll(p.value) : 0;
            const int64_t guess = options.rules && own >= 16 ? std::max<int64_t>(own, 64) : own;
            params[p.name] = p.number ? std::to_string(choices.number(kParam + p.name, numbers, guess))
                                      : choices.pick(kParam + p.name, p.values, p.value);
        }
        Description d = description(params);
        ScriptHead head;
        head.op = task.op;
        head.comment = {fmt::format("{}, found by halyard explore.", task.op)};
        head.generator = params;
        head.generator.insert(declared.begin(), declared.end());
        if (options.rules) {
            const CudaPlan plan = make_cuda_plan(d, choices, cuda_machine());
            p.by_rules = true;
            p.fusion = plan.fusion.empty() ? kRules : plan.fusion;
            p.candidate.lua = write_cuda_lua(plan, head);
            p.candidate.predicted = plan.predicted;
        } else {
            plan(d, choices, p);
            p.candidate.lua = write_lua(d, p.plan, head);
        }
    }

    /** Measures what was not tried before. Whether one of them is the best so far. */
    bool try_all(const std::vector<Answers> &many, const std::string &origin) {
        const double before = best_own();
        for (size_t at = 0; at < many.size() && !over();) {
            std::vector<Proposal> some;
            for (; at < many.size() && int(some.size()) < options.at_once && !is_last(some.size()) && !over(); at++) {
                try {
                    Proposal p = propose(many[at]);
                    if (hopeless(p.candidate)) {
                        pruned++;
                    } else if (known.insert(p.candidate.id()).second) {
                        p.candidate.origin = origin;
                        some.push_back(std::move(p));
                    }
                } catch (const Failure &) {
                    if (count() == 0) {
                        throw;  // not even the first guess
                    }
                }
            }
            std::vector<Candidate> candidates;
            for (const auto &p : some) {
                candidates.push_back(p.candidate);
            }
            if (candidates.empty()) {
                continue;
            }
            const double best_before = best_own(), before_them = elapsed();
            say(origin);
            const auto measured = measure(candidates, best());
            longest = std::max(0.8 * longest, elapsed() - before_them);
            for (size_t i = 0; i < measured.size(); i++) {
                if (measured[i].ok()) {
                    tried.push_back({some[i], measured[i]});
                } else if (measured[i].status == Status::kPending) {
                    pending++;
                } else {
                    failed++;
                    last_failure = measured[i].message;
                }
            }
            say(origin);
            ask_whether_enough(best_before);
        }
        return best_own() < 0.995 * before;
    }

    // Times by themselves are noisy: not only a faster one may turn out to be enough in a longer comparison.
    void ask_whether_enough(double best_before) {
        const bool faster = best_before == 0 || best_own() < best_before;
        if (!winner() || (!faster && tried.size() + failed < asked + kAskEvery)) {
            return;
        }
        asked = tried.size() + failed;
        std::vector<Tried> few = ranking(options.seeds.size());
        few.resize(std::min<size_t>(few.size(), faster ? 1 : 3));
        enough = options.enough(few);
    }

    // Predictions are right within a factor of some units: what is far behind the best one is not built.
    bool hopeless(const Candidate &c) const {
        return winner() && c.predicted > 6 * least_predicted();  // nothing is predicted of scripts
    }

    double least_predicted() const {
        double least = 1e30;
        for (size_t i = options.seeds.size(); i < tried.size(); i++) {
            const double predicted = tried[i].proposal.candidate.predicted;
            least = predicted > 0 ? std::min(least, predicted) : least;
        }
        return least;
    }

    double best() const {
        double least = 0;
        for (const auto &t : tried) {
            least = least == 0 ? t.measured.least : std::min(least, t.measured.least);
        }
        return least;
    }

    // The best of its own: seeds have no decisions to change.
    const Tried *winner() const {
        const Tried *w = nullptr;
        for (size_t i = options.seeds.size(); i < tried.size(); i++) {
            w = !w || tried[i].measured.least < w->measured.least ? &tried[i] : w;
        }
        return w;
    }

    double best_own() const {
        return winner() ? winner()->measured.least : 0;
    }

    // The answers of a proposal with one of them changed: all other options, or those next to it.
    static std::vector<Answers> neighbours(const Proposal &p, bool numbers, bool only_next) {
        std::vector<Answers> result;
        for (const ChoicePoint &point : p.points) {
            if (point.number != numbers) {
                continue;
            }
            const auto at = std::find(point.options.begin(), point.options.end(), point.taken) - point.options.begin();
            for (int i = 0; i < int(point.options.size()); i++) {
                if (i == at || (only_next && std::abs(i - int(at)) > 1)) {
                    continue;
                }
                Answers a = p.answers;
                a[point.name] = point.options[size_t(i)];
                result.push_back(std::move(a));
            }
        }
        return result;
    }

    // The most promising first. Planning all of many may take longer than there is: what is not looked at in time comes last.
    std::vector<Answers> by_prediction(std::vector<Answers> many) {
        std::vector<std::pair<double, Answers>> order;
        const double until = elapsed() + kSortShare * std::max(options.seconds - elapsed(), 0.0);
        for (Answers &a : many) {
            double predicted = 1e30;
            try {
                predicted = elapsed() < until ? propose(a).candidate.predicted : predicted;
            } catch (const Failure &) {
                // said where it is tried
            }
            order.emplace_back(predicted, std::move(a));
        }
        std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
        many.clear();
        for (auto &o : order) {
            many.push_back(std::move(o.second));
        }
        return many;
    }

    // Other answers of structure, one at a time. From a better one it goes on at once: a round of all of them may take longer than
    // there is.
    void climb(const Proposal &guess) {
        for (bool better = true; better && !over();) {
            better = false;
            const std::vector<Answers> next = by_prediction(neighbours(winner() ? winner()->proposal : guess, false, false));
            const size_t few = size_t(std::max(options.at_once, 1));
            for (size_t at = 0; at < next.size() && !over() && !better; at += few) {
                better = try_all({next.begin() + std::ptrdiff_t(at), next.begin() + std::ptrdiff_t(std::min(at + few, next.size()))},
                                 "another form");
            }
        }
    }

    Answers mutated(const Proposal &p, int changes) {
        Answers a = p.answers;
        for (int i = 0; i < changes && !p.points.empty(); i++) {
            const ChoicePoint &point = p.points[random() % p.points.size()];
            a[point.name] = point.options[random() % point.options.size()];
        }
        return a;
    }

    // What begins with nothing that could take a compiler long: no Func is computed in the loops of another.
    Answers stored_whole() {
        const std::string place = "place of ";
        Answers answers;
        for (size_t before = 1; before > 0;) {
            before = 0;
            for (const ChoicePoint &p : propose(answers).points) {
                const bool stored = std::find(p.options.begin(), p.options.end(), "root") != p.options.end();
                if (p.name.compare(0, place.size(), place) == 0 && stored && answers.emplace(p.name, "root").second) {
                    before++;
                }
            }
        }
        return answers;
    }

    void run() {
        enough = false;
        try_all(std::vector<Answers>{Answers()}, "guess");
        if (count() == 0) {
            if (over()) {
                return;  // no time was left
            }
            throw Failure(task.op + ": error: there is nothing to try");
        }
        if (!winner() && pending == 0 && !over()) {
            try_all(std::vector<Answers>{stored_whole()}, "everything stored whole");
        }
        Proposal guess = propose({});
        // What is fused, first: numbers matter within a form.
        climb(guess);
        while (!over() && (winner() || pending > 0)) {
            const Proposal p = winner() ? winner()->proposal : guess;
            std::vector<Answers> next = neighbours(p, true, true);
            std::shuffle(next.begin(), next.end(), random);
            if (try_all(next, "numbers next to the best")) {
                continue;
            }
            next = neighbours(p, false, false);
            const auto far = neighbours(p, true, false);
            next.insert(next.end(), far.begin(), far.end());
            std::shuffle(next.begin(), next.end(), random);
            if (try_all(next, "one change of the best")) {
                continue;
            }
            // Nothing next to the best: some changes at once, of one of the best few.
            const size_t before = count();
            for (int i = 0; i < 200 && !over() && count() < before + 24; i++) {
                const auto ranked = ranking(options.seeds.size());
                const Proposal base = ranked.empty() ? guess : ranked[random() % std::min<size_t>(ranked.size(), 5)].proposal;
                if (try_all(std::vector<Answers>{mutated(base, 2 + int(random() % 2))}, "mutation")) {
                    break;
                }
            }
            if (count() == before) {
                return;  // everything near is known
            }
        }
    }

    std::vector<Tried> ranking(size_t first = 0) const {
        std::vector<Tried> ranked(tried.begin() + std::ptrdiff_t(first), tried.end());
        std::stable_sort(ranked.begin(), ranked.end(), [](const Tried &a, const Tried &b) { return a.measured.least < b.measured.least; });
        return ranked;
    }

    const Task task;
    const SearchOptions options;
    const MeasureAll measure;
    std::mt19937_64 random;
    std::vector<std::unique_ptr<ScriptSpace>> scripts;
    std::vector<std::string> names;  // of the scripts
    std::vector<FreeParam> free;
    Assignments declared;
    Machine machine;
    std::map<std::string, Description> descriptions;
    std::set<std::string> known;
    std::vector<Tried> tried;
    size_t failed = 0, pruned = 0, asked = 0, pending = 0;
    double longest = 0;  // seconds of those that were built side by side; of late
    bool enough = false;
    std::string last_failure;
    Clock::time_point begin = Clock::now();
};

Search::Search(Task task, SearchOptions options, MeasureAll measure)
    : implementation_(std::make_unique<Implementation>(std::move(task), std::move(options), std::move(measure))) {}

Search::~Search() = default;

void Search::run() {
    implementation_->run();
}

bool Search::ended_early() const {
    return implementation_->enough;
}

std::vector<Tried> Search::ranking() const {
    return implementation_->ranking();
}

size_t Search::tried() const {
    return implementation_->tried.size() + implementation_->failed;
}

size_t Search::failures() const {
    return implementation_->failed;
}

size_t Search::pending() const {
    return implementation_->pending;
}

const std::string &Search::last_failure() const {
    return implementation_->last_failure;
}

double Search::seconds() const {
    return implementation_->elapsed();
}

Proposal Search::propose(const Answers &answers) {
    return implementation_->propose(answers);
}

}  // namespace halyard::explore
