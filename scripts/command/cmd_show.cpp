// halyard show: the Lua beside the loop nest that it made.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "command/commands.h"
#include "kernel/failure.h"
#include "language/diagnostics.h"
#include "command/nest_view.h"
#include "command/option_table.h"
#include "command/options.h"
#include "kernel/process.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct ShowOptions : CommonOptions {
    std::string op, schedule, after;
    bool step = false, json = false, passes = false;
};

using Lines = std::vector<std::string>;

Generated run_generator(const Plan &plan) {
    const TemporaryDirectory work(temporary_root());
    return generate(plan, work.path());
}

Lines lines_of(const nlohmann::json &nest) {
    Lines lines;
    for (const auto &l : nest) {
        lines.push_back(l.is_string() ? l.get<std::string>() : l.value("text", ""));
    }
    return lines;
}

// The nest before the first word: what an empty script makes of the same algorithm.
Lines naive_nest(Plan plan) {
    const TemporaryDirectory work(temporary_root());
    plan.script = (std::filesystem::path(work.path()) / "naive.lua").string();
    plan.set.clear();
    plan.steps = false;
    write_file(plan.script, fmt::format("return schedule \"{}\" {{ target = \"{}\", apply = function() end }}\n", plan.op,
                                        target_features(plan.targets[0]).count("cuda") ? "cuda" : "cpu"));
    const Generated result = generate(plan, work.path());
    return result.report.is_object() && result.report.contains("nest") ? lines_of(result.report["nest"]) : Lines{};
}

std::string params_of(const nlohmann::json &report) {
    const nlohmann::json params = report.value("params", nlohmann::json::object());
    Assignments a;
    for (const auto &p : params.items()) {
        a[p.key()] = p.value().is_string() ? p.value().get<std::string>() : p.value().dump();
    }
    return assignments_text(a);
}

void print_nest(const nlohmann::json &report, const Plan &plan) {
    fmt::print("{}\n", paint(Colour::kDim, fmt::format("{}  {}  {}", plan.script, params_of(report), plan.targets.front())));
    for (const auto &line : beside_source(report["nest"], plan.script, output_width())) {
        const size_t bar = line.find("  | ");
        fmt::print("{}{}\n", line.substr(0, bar), bar == std::string::npos ? "" : paint(Colour::kDim, line.substr(bar)));
    }
}

void print_steps(const nlohmann::json &report, const Plan &plan) {
    Lines before = naive_nest(plan);
    fmt::print("{}\n", paint(Colour::kBold, "before the first word"));
    for (const auto &line : before) {
        fmt::print("    {}\n", line);
    }
    int number = 0;
    for (const auto &step : report["steps"]) {
        const std::string word = step.value("word", "");
        fmt::print("\n{}\n", paint(Colour::kBold, fmt::format("{}. {}:{}  {}{}", ++number, step.value("file", ""), step.value("line", 0),
                                                              word.empty() ? "" : word + ":  ", step.value("source", ""))));
        const Lines after = lines_of(step["nest"]);
        if (after.empty()) {
            fmt::print("    (Halide cannot show the loops in this state)\n");
            continue;
        }
        const auto changes = diff(before, after);
        for (const auto &change : changes) {
            if (change.mark != ' ') {
                fmt::print("{}\n",
                           paint(change.mark == '+' ? Colour::kGreen : Colour::kRed, fmt::format("  {} {}", change.mark, change.text)));
            }
        }
        if (before == after) {
            fmt::print("    (the loops stay as they are)\n");
        }
        before = after;
    }
}

// Each pass over the kernels, its times in all their forms added up.
void print_passes(const nlohmann::json &report) {
    std::vector<std::pair<std::string, double>> passes;
    for (const auto &run : report["passes"]) {
        const std::string name = run.at("pass");
        auto it = std::find_if(passes.begin(), passes.end(), [&](const auto &p) { return p.first == name; });
        if (it == passes.end()) {
            it = passes.insert(passes.end(), {name, 0});
        }
        it->second += run.at("seconds").get<double>();
    }
    for (const auto &p : passes) {
        fmt::print("{:<22} {:8.2f} ms\n", p.first, 1e3 * p.second);
    }
}

void print_after(const nlohmann::json &report, const std::string &pass, const Plan &plan) {
    std::vector<std::string> names;
    bool found = false;
    for (const auto &run : report["passes"]) {
        if (std::find(names.begin(), names.end(), run.at("pass")) == names.end()) {
            names.push_back(run.at("pass"));
        }
        if (run.contains("after")) {
            found = true;
            fmt::print("{}\n{}\n",
                       paint(Colour::kBold, fmt::format("{}, for {}, after {}", run.at("kernel").get<std::string>(),
                                                        run.at("form").get<std::string>(), pass)),
                       run.at("after").get<std::string>());
        }
    }
    if (!found && names.empty()) {
        throw Failure(fmt::format("{}: error: no pass goes over its kernels: those on tensor cores are printed at once", plan.script));
    }
    if (!found) {
        throw UsageError(fmt::format("--after {}: no such pass went over these kernels; there are {}\n  {}", pass, join(names, ", "),
                                     did_you_mean(pass, names)));
    }
}

void show(const ShowOptions &o) {
    o.check_database({o.schedule});
    GenerateRequest request = o.request(o.op, o.schedule);
    request.emit = {"c_header"};  // scheduled and lowered, without LLVM
    request.steps = o.step;
    request.passes = o.passes || !o.after.empty();
    request.after = o.after;
    if (request.target.empty()) {
        request.target = kDefaultTargets;
    }
    request.target = split(request.target, ',').front();
    const Plan plan = make_plan(request);
    if (request.passes && !is_cuda(request.target)) {
        throw UsageError("--passes and --after show the passes over CUDA kernels; add --target cuda");
    }
    if (plan.script.empty()) {
        throw UsageError("show needs a schedule: name a Lua file with --schedule");
    }
    Progress progress;
    progress.say("scheduling " + plan.op);
    const Generated result = run_generator(plan);
    progress.say("");
    if (o.json && result.report.is_object()) {
        fmt::print("{}\n", result.report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    if (!result.ok) {
        // It died of a schedule that was applied: the steps are what to look at.
        if (o.step && !o.json && result.report.is_object() && result.report.value("ok", false) && result.report.contains("steps")) {
            print_steps(result.report, plan);
        }
        throw Failure(result.error);
    }
    if (!result.report.is_object() || !result.report.contains(o.step ? "steps" : "nest")) {
        throw Failure(fmt::format("{}: error: the plugin {} reported no loop nest", plan.script, plan.inputs.at(1)));
    }
    if (o.json) {
        return;
    }
    if (!result.notes.empty()) {
        fmt::print(stderr, "{}\n", result.notes);
    }
    if (request.passes) {
        o.after.empty() ? print_passes(result.report) : print_after(result.report, o.after, plan);
    } else {
        o.step ? print_steps(result.report, plan) : print_nest(result.report, plan);
    }
}

}  // namespace

void add_show(CLI::App &app) {
    auto o = std::make_shared<ShowOptions>();
    CLI::App *cmd = app.add_subcommand("show", "The Lua lines beside the loop nest that they made");
    cmd->add_option("op", o->op, "The op, as `halyard list` names it")->required()->type_name("OP");
    cmd->add_option("--schedule", o->schedule, "A Lua file, or the name of one that ships (unfused)")->type_name("FILE|NAME");
    cmd->add_flag("--step", o->step, "Word by word: each word, then the loops that it changed");
    cmd->add_flag("--passes", o->passes, "With --target cuda: the passes over its kernels in their order, and their times");
    cmd->add_option("--after", o->after, "With --target cuda: the kernels as a pass left them")->type_name("PASS");
    cmd->add_flag("--json", o->json, "The report as the plugin wrote it");
    o->add(*cmd, "The instruction set to show; the first of several [avx512]");
    leaves_out(*cmd, "--step", {"--passes", "--after"});
    leaves_out(*cmd, "--passes", {"--after"});
    put_in_group(*cmd, group::kSchedule, {"--schedule"});
    put_in_group(*cmd, group::kOutput, {"--step", "--passes", "--after", "--json"});
    cmd->footer("\nExamples:\n"
                "  halyard show rms_norm\n"
                "  halyard show rms_norm --schedule unfused --set rows=16\n"
                "  halyard show softmax --step | less\n"
                "  halyard show softmax --target cuda --after reuse_in_registers");
    cmd->callback([o] { show(*o); });
}

}  // namespace halyard
