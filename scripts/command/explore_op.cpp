#include "command/explore_op.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "command/explore_beside.h"
#include "command/explore_budget.h"
#include "command/explore_compare.h"
#include "command/explore_device.h"
#include "command/explore_memory.h"
#include "command/explore_model.h"
#include "command/explore_workers.h"
#include "explore/compare/explore_report.h"
#include "explain/explain_words.h"
#include "kernel/failure.h"
#include "explore/space/halide.h"
#include "explore/space/query.h"
#include "explore/space/search.h"
#include "command/naive_check.h"
#include "kernel/own_op.h"
#include "kernel/place.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using namespace explore;

Task task_of(const ExploreOptions &o) {
    Task task;
    task.op = o.op;
    task.generator = o.generator;
    task.params = parse_options(o.params, "--param");
    task.target = o.target.empty() ? "host" : o.target;
    with_devices(task.target, o.devices);
    if (!o.machine.empty() && !is_cuda(task.target)) {
        throw UsageError("--gpu is for CUDA; add --target cuda-sm_90a");
    }
    if (!o.facts.empty()) {
        throw UsageError("--fact: candidates are built for the machine that measures them; leave it out");
    }
    if (!o.set.empty() && o.schedule.empty() && o.compare.empty() && o.beside.empty()) {
        throw UsageError("--set is for the parameters of a --schedule, --compare or --beside; name it");
    }
    task.threads = o.threads > 0 ? o.threads : cpu().processors;
    if (o.generator.empty()) {
        const Op &op = find_op(o.op);
        task.shape = o.shape.empty() ? op.shapes.front() : parse_shape(o.shape);
        check_shape(op, task.shape);
    } else if (!o.shape.empty()) {
        task.shape = NaiveSchedule(o.request(o.op, ""), task.params).whole_sizes(parse_own_shape(o.shape));
    }
    if (is_cuda(task.target) && o.compare.empty() && o.workers.empty()) {
        choose_device(o, task);
    }
    return task;
}

// name=value of decisions, for a closer look at one schedule.
Answers answers_of(const ExploreOptions &o) {
    Answers answers;
    for (const auto &item : o.with) {
        const size_t equals = item.rfind('=');
        if (equals == std::string::npos) {
            throw UsageError(fmt::format("--with \"{}\" is not of the form decision=answer", item));
        }
        answers[item.substr(0, equals)] = item.substr(equals + 1);
    }
    return answers;
}

// Those near the best, and the best of those that fuse otherwise. One is far behind at 1.5 times the best.
std::vector<Tried> finalists(const std::vector<Tried> &ranking) {
    std::vector<Tried> chosen;
    std::set<std::string> seen;
    for (size_t i = 0; i < ranking.size(); i++) {
        const bool near = ranking[i].measured.least < 1.5 * ranking[0].measured.least;
        const bool other = seen.insert(ranking[i].proposal.form()).second;
        if (i < 3 || (other && near && chosen.size() < 5)) {
            chosen.push_back(ranking[i]);
        }
    }
    return chosen;
}

// The best of each fusion and what ships, side by side; so many at most.
std::vector<Contender> fusions(const std::vector<Tried> &ranking, const std::vector<Beside> &beside, const Ending &ending, size_t most) {
    std::vector<Contender> contenders;
    std::set<std::string> seen;
    const auto add = [&](const std::string &name, const Candidate &c, const Measured &m) {
        if (contenders.size() < most && ending.has(c)) {
            contenders.push_back({name, c, "", m, ending.turns(c)});
        }
    };
    add("found", ranking.front().proposal.candidate, ranking.front().measured);
    seen.insert(ranking.front().proposal.form());
    for (const Beside &b : beside) {
        if (b.ships && b.ok() && b.candidate.id() != ranking.front().proposal.candidate.id()) {
            add(b.name, b.candidate, b.measured);
        }
    }
    for (const Tried &t : ranking) {
        if (seen.insert(t.proposal.form()).second) {
            add(fmt::format("form {}", seen.size()), t.proposal.candidate, t.measured);
        }
    }
    return contenders;
}

// Whether one of the best so far has the speed that ends the search. Found out in turns where it may be.
bool reaches_in_turns(Measurer &measurer, std::vector<Tried> found, std::vector<Beside> beside) {
    if (!reaches(found.front(), beside, 0.9)) {
        return false;
    }
    // What is far slower needs no second look: to build one of Halide's again may take minutes.
    const auto settled = [&](const Beside &b) {
        return b.times == 0 || !b.ok() || b.measured.least > 2 * b.times * found.front().measured.least;
    };
    beside.erase(std::remove_if(beside.begin(), beside.end(), settled), beside.end());
    time_in_turns(measurer, found, beside, kTurnSeconds);
    return !found.empty() && reaches(found.front(), beside);
}

void print_guess(const ExploreOptions &o, const Task &task, const SearchOptions &options) {
    Search search(task, options, {});
    const Proposal p = search.propose(answers_of(o));
    fmt::print("{}", p.candidate.lua);
    for (const auto &point : p.points) {
        fmt::print("-- {}: {} of {}\n", point.name, point.taken, join(point.options, ", "));
    }
}

// What one of Halide's autoschedulers makes of the task, or its generator itself, as a file.
void translate(const ExploreOptions &o, const Task &task) {
    auto known = halide_schedulers(task);
    if (!o.generator.empty() && !is_cuda(task.target)) {
        known.emplace_back(kOwn);
    }
    if (std::find(known.begin(), known.end(), o.translate) == known.end()) {
        throw UsageError(
            fmt::format("--translate: there is no autoscheduler \"{}\" for {}; there are {}", o.translate, task.target, join(known, ", ")));
    }
    std::string lua, problem;
    if (o.translate == kOwn) {
        const OwnSchedule s = own_schedule(patient(task));
        lua = s.lua;
        problem = s.problem;
    } else {
        const HalideSchedule s = halide_schedule(patient(task), o.translate);
        lua = s.candidate.lua;
        problem = s.problem;
    }
    if (!problem.empty()) {
        throw Failure(fmt::format("{}: error: {}: {}", task.op, o.translate, problem));
    }
    if (o.output.empty()) {
        fmt::print("{}", lua);
    } else {
        write_output(o.output, lua);
    }
}

// Where a search may begin, with the time that it took. What has no words is a script that calls the autoscheduler.
std::vector<Tried> seeds_of(const std::vector<Beside> &halide) {
    std::vector<Tried> seeds;
    for (const Beside &b : halide) {
        if (b.ok()) {
            Proposal p;
            p.candidate = b.candidate;
            seeds.push_back({p, b.measured});
        }
    }
    return seeds;
}

// What a build would take: what the search has to win against.
void add_shipped(const ExploreOptions &o, const Task &task, const MeasureOne &one, std::vector<Beside> &beside) {
    for (const Contender &c : shipped_for(o, task)) {
        const auto known =
            std::find_if(beside.begin(), beside.end(), [&](const Beside &b) { return b.candidate.id() == c.candidate.id(); });
        if (known != beside.end()) {
            known->ships = true;
            continue;
        }
        Beside b = {c.name, false, c.candidate, one(c.candidate)};
        b.ships = true;
        beside.push_back(std::move(b));
    }
}

// The best that the database knows takes part, whoever found it: otherwise it and the last line would name two.
void add_known(const Task &task, Search &search, Memory &memory, std::vector<Tried> &ranking, std::vector<Beside> &beside) {
    constexpr size_t kMost = 2;
    for (const Entry &e : memory.database().best(task, kMost)) {
        const std::string id = e.candidate.id();
        const bool there = std::any_of(ranking.begin(), ranking.end(), [&](const Tried &t) { return t.proposal.candidate.id() == id; }) ||
                           std::any_of(beside.begin(), beside.end(), [&](const Beside &b) { return b.candidate.id() == id; });
        if (there || e.measured.least > 1.2 * ranking.front().measured.least) {
            continue;
        }
        try {
            Proposal p = search.propose(e.candidate.decisions.get<Answers>());
            if (p.candidate.id() == id) {
                ranking.push_back({p, e.measured});
                continue;
            }
        } catch (const Failure &) {  // of another search
        } catch (const nlohmann::json::exception &) {
        }
        beside.push_back({"db:" + id + ", found before,", false, e.candidate, e.measured});
    }
}

// The best of what was measured elsewhere.
void write_known(const ExploreOptions &o, const ExploreResult &result) {
    if (!o.output.empty() && !result.ranking.empty()) {
        write_output(o.output, with_findings(result));
        fmt::print("{}: {}\n", o.output, summary(result));
    }
}

// What was found until a signal came, with the time that it has by itself: no turns follow.
void write_interrupted(const ExploreOptions &o, ExploreResult result) {
    if (result.ranking.empty()) {
        fmt::print(stderr, "{}: interrupted before a schedule was right\n", o.op);
        return;
    }
    result.ranking.resize(1);
    if (o.output.empty()) {
        fmt::print("{}", with_findings(result));
        std::fflush(stdout);
    } else {
        write_output(o.output, with_findings(result));
    }
    fmt::print(stderr, "{}: interrupted: {}, not timed in turns; {}\n", o.op, summary(result),
               o.output.empty() ? "the same command goes on from here"
                                : "it is in " + o.output + ", and the same command goes on from here");
}

}  // namespace

void explore_op(const ExploreOptions &o) {
    if (is_model(o.op)) {
        explore_model(o);
        return;
    }
    if (!o.dims.empty() || !o.name.empty() || !o.type.empty()) {
        throw UsageError("--dim, --name and --type are for a model: halyard explore model.onnx");
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds_since = [](std::chrono::steady_clock::time_point time) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - time).count();
    };
    check_outputs({o.output, o.report, o.html});
    check_workers(o);
    if (std::error_code ignored; fs::exists(o.folder, ignored) && !fs::is_directory(o.folder, ignored)) {
        throw Failure(fmt::format("{}: error: this is no folder\n  name another with --export", o.folder));
    }
    const bool with_own = std::count(o.beside.begin(), o.beside.end(), kOwn) > 0;
    if (with_own || std::count(o.compare.begin(), o.compare.end(), kOwn) > 0 || o.translate == kOwn) {
        need_own(o.op, o.generator, o.target);
    }
    Task task = task_of(o);
    if (with_own) {
        check_own(patient(task));
    }
    if (!o.translate.empty()) {
        translate(o, task);
        return;
    }
    if (!o.compare.empty()) {
        explore_compare(o, task);
        return;
    }
    Progress progress;
    const std::unique_ptr<Cluster> cluster = o.workers.empty() ? nullptr : join_workers(o, task, progress);
    std::vector<std::string> schedules = o.beside;
    if (o.until > 0 && schedules.empty() && o.generator.empty()) {
        schedules.emplace_back();  // the one that ships
    }
    if (!schedules.empty() && schedules.front() != kOwn) {
        task = with_interface(o, task, schedules.front());
    }
    const bool on_device = is_cuda(task.target);
    if (!o.folder.empty() && !on_device) {
        throw UsageError("--export is for CUDA; add --target cuda-sm_90a");
    }
    if (on_device && (!o.html.empty() || o.json)) {
        throw UsageError("--html and --json are for the host, and for CUDA with --compare");
    }
    if (!o.folder.empty() && o.halide) {
        throw UsageError("--halide measures here, and --export elsewhere: say one of them");
    }
    SearchOptions options;
    options.seconds = budget_seconds(o.budget);
    // A generator that cannot be described takes no more than what there is for all of it.
    task.limits.build_seconds = std::min(task.limits.build_seconds, options.seconds);
    task.algorithm = algorithm_of(task);
    options.seed = o.seed;
    options.most = o.most;
    options.at_once = std::max({2, cpu().processors, cluster ? int(cluster->offers().size()) : 0});
    options.say = [&](const std::string &text) { progress.say(o.op + ": " + text); };
    if (!o.schedule.empty()) {
        task = with_interface(o, task, o.schedule);
        options.scripts = {contenders_of(o, task, {o.schedule}).front().candidate};
    } else if (on_device) {
        options.scripts = shipped_for_cuda(o, task);
        options.rules = true;
    }
    if (!o.folder.empty()) {
        options.pending = o.candidates;
    }
    if (o.guess) {
        print_guess(o, task, options);
        return;
    }
    if (cluster) {
        options.machine = machine_of_workers(o, task, *cluster, progress);
    }
    // Sizes that a kernel is asked for are a part of it.
    options.seconds = std::max(options.seconds - seconds_since(begin), 0.1);
    if (!on_device && !options.machine) {
        progress.say(o.op + ": measuring the machine, once");
        const auto before = std::chrono::steady_clock::now();
        measured_machine(task.threads, false);
        const double seconds = seconds_since(before);
        if (seconds > 1) {
            progress.say("");
            fmt::print(stderr, "{}: measured the machine first, which is kept for other searches: {:.0f} s, beside the budget\n", o.op,
                       seconds);
        }
    }
    Budget budget(options.seconds);
    Memory memory(o, task, cluster.get());
    memory.measurer().end_at(budget.end());
    const auto one = [&](const Candidate &c) {
        progress.say(fmt::format("{}: {}, {:.0f} s left", o.op, c.origin, std::max(budget.left(), 0.0)));
        return memory.patiently(c);
    };
    std::vector<Beside> beside = beside_shipped(o, task, schedules, one);
    if (!beside.empty() && o.beside.empty()) {
        beside.front().ships = true;
    } else if (o.generator.empty() && o.folder.empty()) {
        add_shipped(o, task, one, beside);
    }
    if (!beside.empty() && beside.front().ok()) {
        options.baseline = fmt::format("{} {}", beside.front().name, seconds_text(beside.front().measured.median));
    }
    std::vector<Beside> halide;
    // What Halide's take is their own: they say nothing of how far they are.
    const auto add_halide = [&](double times) {
        progress.say(fmt::format("{}: what candidates are checked against, {:.0f} s left", o.op, std::max(budget.left(), 0.0)));
        memory.measurer().prepare();
        for (Beside &b : beside_halide(patient(task), budget.left() / 2, memory.measurer(), one)) {
            b.times = times;
            beside.push_back(b);
            halide.push_back(std::move(b));
        }
    };
    // Half of the time is for what Halide's make: where a search begins, or what says when it ends.
    const bool halide_ends = o.until > 0 && (o.halide || schedules.empty());
    if (o.until > 0 && !schedules.empty()) {
        beside.front().times = o.until;
    }
    if (halide_ends || (o.halide && o.folder.empty())) {
        add_halide(!halide_ends ? 0 : schedules.empty() ? o.until : 1);
    }
    if (o.halide && options.scripts.empty()) {
        options.seeds = seeds_of(halide);
    }
    if (o.until > 0 && std::none_of(beside.begin(), beside.end(), [](const Beside &b) { return b.times > 0 && b.ok(); })) {
        throw Failure(
            fmt::format("{}: error: --until: {} cannot be timed: {}", o.op, beside.front().name, beside.front().measured.message));
    }
    if (o.until > 0) {
        options.enough = [&](const std::vector<Tried> &few) { return reaches_in_turns(memory.measurer(), few, beside); };
    }
    const bool asked_for_table = !on_device && (!o.html.empty() || o.json);
    const size_t tables = asked_for_table ? 3 : 0;
    if (o.folder.empty()) {
        options.reserve = [&](const std::vector<Tried> &few) {
            return std::min(seconds_of_end(few, beside, memory.measurer(), budget.turn_seconds(), tables), options.seconds / 2);
        };
    }
    options.seconds = budget.left();
    Search search(task, options, [&](const std::vector<Candidate> &c, double best) {
        const std::vector<Measured> all = memory(c, best);
        for (const Measured &m : all) {
            if (m.status == Status::kWorkerLost) {
                progress.say("");
                fmt::print(stderr, "Warning: a candidate is given up: {}\n", m.message);
            }
        }
        return all;
    });
    const auto so_far = [&] {
        return ExploreResult{task,   finalists(search.ranking()), search.tried(), search.failures(), search.seconds(),
                             o.seed, !options.scripts.empty()};
    };
    ExploreResult result{task, {}, 0, 0, 0, o.seed};
    Ending ending;
    bool reached = false;
    try {
        // The comparison of the end may say otherwise than the shorter one that ended the search: then it goes on.
        for (bool go_on = true; go_on; go_on = search.ended_early() && !reached) {
            search.run();
            if (!o.folder.empty()) {
                export_candidates(o, task, search, memory, progress);
                write_known(o, so_far());
                return;
            }
            result = so_far();
            // Times that were taken one after the other differ by what else the machine did: the last word have those in
            // turns.
            if (!result.ranking.empty()) {
                progress.say(fmt::format("{}: the best {} in turns with {}, {:.0f} s left", o.op, result.ranking.size(),
                                         beside.empty() ? "each other" : beside.front().name, std::max(budget.left(), 0.0)));
                add_known(task, search, memory, result.ranking, beside);
                const std::vector<Tried> by_themselves = result.ranking;
                ending = time_in_turns(memory.measurer(), result.ranking, beside, budget.turn_seconds());
                if (result.ranking.empty() && budget.left() <= 0) {
                    result.ranking = by_themselves;  // no time was left for turns
                    ending = {};
                }
                reached = o.until > 0 && !result.ranking.empty() && reaches(result.ranking.front(), beside);
            }
        }
    } catch (const Interrupted &) {
        progress.say("");
        if (o.folder.empty()) {
            write_interrupted(o, so_far());
        }
        throw;
    }
    progress.say("");
    if (result.ranking.empty() && result.tried == 0) {
        throw Failure(fmt::format("{}: error: --budget {} left no time to try a schedule\n  give it more", o.op, o.budget));
    }
    if (result.ranking.empty()) {
        throw Failure(fmt::format("{}: error: none of {} schedules was right\n{}", o.op, result.tried, search.last_failure()));
    }
    const Outcome end = outcome(task, result.ranking.front(), beside, ending);
    if (!end.best.own) {
        memory.database().choose(task, end.best);
    }
    print_beside(result.ranking.front(), beside);
    if (!o.report.empty()) {
        nlohmann::json report = beside_json(task, result.ranking.front(), beside, ending);
        report["outcome"] = end.sentence;
        report["best"] = end.best.id();
        report["tried"] = result.tried;
        report["failed"] = result.failed;
        report["seconds"] = result.seconds;
        report["budget"] = budget_seconds(o.budget);
        report["until"] = o.until;
        report["reached"] = reached;
        report["lua"] = with_findings(result);
        write_output(o.report, report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    }
    const std::string lua = with_findings(result);
    if (o.output.empty()) {
        fmt::print("{}", lua);
    } else {
        write_output(o.output, lua);
        fmt::print("{}: {}\n", o.output, summary(result));
    }
    // As many as there is time for, where nobody asked for it.
    const double each = seconds_of_end({result.ranking.front()}, {}, memory.measurer(), 0, 1);
    const size_t most = asked_for_table ? 3 : size_t(std::clamp(budget.left() / each, 0.0, 5.0));
    if (asked_for_table || (!on_device && !cluster && !o.output.empty() && o.report.empty() && most > 1)) {
        const Comparison c = compare(task, fusions(result.ranking, beside, ending, most),
                                     [&](const std::string &what) { progress.say(fmt::format("{}: the table: {}", o.op, what)); });
        progress.say("");
        show_comparison(c, o.json, o.html);
    }
    if (ending.contest && !ending.contest->busy.empty()) {
        fmt::print(stderr, "Warning: {}\n", ending.contest->busy);
    }
    fmt::print(stderr, "{}\n", end.sentence);
}

}  // namespace halyard
