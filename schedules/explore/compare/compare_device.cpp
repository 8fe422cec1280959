// Alternatives for CUDA: each is built, called over a driver that records launches, and counted at its size. On a machine with
// the device, or its emulator, results are checked; times come from a device alone.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "explore/compare/compare.h"
#include "explain/explain_device.h"
#include "kernel/failure.h"
#include "kernel/heads.h"
#include "explore/measure/launches.h"
#include "explore/measure/measurer.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Say = std::function<void(const std::string &)>;

constexpr double kTurnSeconds = 0.3;

// In a report, what stood in a temporary folder.
void rename_file(json &report, const std::string &from, const std::string &to) {
    for (auto &j : report) {
        if (j.is_structured()) {
            rename_file(j, from, to);
        } else if (j.is_string() && j.get_ref<const std::string &>() == from) {
            j = to;
        }
    }
}

// What the plugin counts at the sizes.
json report_of(const Task &task, const Contender &contender, const Built &built, const Launches &launches, const GpuFigures &gpu) {
    GenerateRequest g;
    g.op = task.op;
    g.generator = task.generator;
    g.schedule = built.directory + "/" + fs::path(contender.name).filename().string() + ".lua";
    write_file(g.schedule, contender.candidate.lua);
    g.target = task.target;
    g.params = task.params;
    for (const auto &p : contender.candidate.params) {
        g.params[p.first] = p.second;
    }
    g.set = contender.candidate.set;
    g.lib_dirs = contender.candidate.module_folders();
    g.timeout = task.limits.build_seconds;
    g.emit = {"c_header"};
    g.sizes = launches.sizes;
    g.caches = fmt::format("l1:{},l2:{},l3:0", 256 << 10, int64_t(gpu.l2_bytes));
    Generated made = generate(make_plan(g), built.directory);
    if (!made.ok) {
        throw Failure(made.error);
    }
    if (!made.report.is_object() || !made.report.contains("traffic")) {
        throw Failure(fmt::format("{}: error: the plugin reported no traffic", contender.name));
    }
    return std::move(made.report);
}

Explained explain(const Task &task, const Contender &contender, const Built &built, const GpuFigures &gpu) {
    const Launches launches = recorded_launches(task, built, gpu);
    json report = report_of(task, contender, built, launches, gpu);
    Explained e;
    e.op = task.op;
    e.schedule = contender.name;
    e.script = contender.file;
    e.shape = launches.shape;
    e.type = launches.type;
    e.target = report.value("target", task.target);
    e.needed_bytes = launches.argument_bytes;
    e.allocated = launches.allocated;
    read_device_report(e, report, launches.launches);
    if (!contender.file.empty()) {
        const std::string temporary = report.value("script", "");
        rename_file(e.nest, temporary, contender.file);
        for (auto &s : e.stages) {
            s.file = s.file == temporary ? contender.file : s.file;
        }
    }
    predict_on_device(e, gpu);
    return e;
}

// Results and times where there is a device; else what is known of one.
void measure(const Task &task, const OnDevice &device, std::vector<Alternative> &all, const Say &say) {
    std::vector<Candidate> candidates;
    std::vector<Alternative *> of_candidate;
    for (auto &a : all) {
        if (a.failed()) {
            continue;
        }
        if (!device.measure) {
            const auto known = device.known ? device.known(a.candidate) : std::nullopt;
            a.measured = known.value_or(a.measured);
        } else {
            candidates.push_back(a.candidate);
            of_candidate.push_back(&a);
        }
    }
    if (candidates.empty()) {
        return;
    }
    say(device.emulated ? "checking on the emulator" : "checking and timing on the device");
    Measurer measurer(task);
    const auto measured = measurer.measure(candidates);
    std::vector<Candidate> right;
    for (size_t i = 0; i < measured.size(); i++) {
        of_candidate[i]->measured = measured[i];
        if (measured[i].ok()) {
            right.push_back(candidates[i]);
        }
    }
    if (device.emulated || right.size() < 2) {
        return;
    }
    say("timing in turns");
    std::vector<Alternative *> of_right;
    for (size_t i = 0; i < measured.size(); i++) {
        if (measured[i].ok()) {
            of_right.push_back(of_candidate[i]);
        }
    }
    set_turns(of_right, measurer.in_turns(right, kTurnSeconds));
}

// Of one's own generator nobody says.
double least_flops(const Task &task, const Assignments &params) {
    if (!task.generator.empty()) {
        return 0;
    }
    const Op &op = find_op(task.op);
    return flops_of(op, with_params(op, task.shape, params));
}

// Where a schedule may be for other sizes: what it was built with, that could say so.
std::string other_values(const Contender &contender) {
    if (contender.file.empty()) {
        return "";
    }
    std::vector<std::string> values;
    const Head head = read_heads(std::vector<std::string>{contender.file}).front();
    for (const auto &p : head.header.params) {
        const auto set = contender.candidate.set.find(p.name);
        if (head.ok && !p.is_generator_param) {
            values.push_back(p.name + "=" + (set == contender.candidate.set.end() ? p.value : set->second));
        }
    }
    return values.empty() ? ""
                          : fmt::format("\n  {} is built with {}; for other sizes it may want other values, with --set", contender.name,
                                        join(values, ", "));
}

}  // namespace

std::vector<Alternative> alternatives_on_device(const Task &task, const std::vector<Contender> &contenders, const OnDevice &device,
                                                const Say &say) {
    if (task.generator.empty()) {
        check_shape(find_op(task.op), task.shape);
    }
    const TemporaryDirectory work(temporary_root());
    std::vector<Candidate> candidates;
    std::vector<std::string> directories;
    for (const auto &c : contenders) {
        directories.push_back(fmt::format("{}/{}", work.path(), candidates.size()));
        candidates.push_back(c.candidate);
    }
    say("building");
    const std::vector<Built> built = build_candidates(task, directories, candidates, 0);
    std::vector<Alternative> all;
    for (size_t i = 0; i < contenders.size(); i++) {
        all.push_back({contenders[i].name, contenders[i].candidate, built[i].measured, {}, std::nullopt});
        if (!built[i].measured.ok()) {
            continue;
        }
        say("counting what " + contenders[i].name + " moves");
        try {
            all.back().explained = explain(task, contenders[i], built[i], device.gpu);
            all.back().measured.status = Status::kPending;
        } catch (const RefusedCall &e) {
            all.back().measured.refuse(e.code, e.what() + other_values(contenders[i]));
        } catch (const Failure &e) {
            all.back().measured.status = Status::kCrash;
            all.back().measured.message = e.what();
        }
    }
    measure(task, device, all, say);
    std::vector<Explained *> explained;
    for (auto &a : all) {
        if (a.failed()) {
            a.explained.reset();  // what is wrong is no alternative
        }
        if (a.explained) {
            explained.push_back(&*a.explained);
        }
        if (a.explained && a.measured.ok() && !device.emulated) {
            a.explained->warm.measured = a.turns.contest ? a.turns.timing().median : a.measured.median;
            a.explained->warm_turns = a.turns;
            a.explained->measured_where = device.measure ? "here" : device.where;
        }
    }
    if (!explained.empty()) {
        const size_t one =
            size_t(std::find_if(all.begin(), all.end(), [](const Alternative &a) { return a.explained.has_value(); }) - all.begin());
        set_device_floor(explained, least_flops(task, built[one].params), device.gpu);
    }
    return all;
}

Comparison compare_on_device(const Task &task, const std::vector<Contender> &contenders, const OnDevice &device, const Say &say) {
    Comparison c;
    c.task = task;
    c.gpu = device.gpu;
    c.alternatives = alternatives_on_device(task, contenders, device, say);
    c.measured = std::all_of(c.alternatives.begin(), c.alternatives.end(),
                             [](const Alternative &a) { return a.failed() || (a.explained && a.explained->warm.measured); });
    std::stable_sort(c.alternatives.begin(), c.alternatives.end(), [&](const Alternative &a, const Alternative &b) {
        return a.failed() != b.failed() ? b.failed() : !a.failed() && c.seconds(a) < c.seconds(b);
    });
    if (!c.alternatives.empty()) {
        c.why = reasons(c);
    }
    return c;
}

}  // namespace halyard::explore
