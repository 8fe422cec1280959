// halyard check: is a script right? Runs everything but the code generator.

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command/commands.h"
#include "kernel/failure.h"
#include "kernel/heads.h"
#include "command/option_table.h"
#include "command/options.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct CheckOptions : CommonOptions {
    std::vector<std::string> what;
    bool json = false, no_lint = false;
};

struct Verdict {
    std::string script, op, target, error;
    std::vector<std::string> slow;
    nlohmann::json report;
};

std::vector<std::string> scripts_of(const CheckOptions &o) {
    std::vector<std::string> scripts;
    for (const auto &w : o.what) {
        if (ends_with(w, ".lua") || w.find('/') != std::string::npos) {
            scripts.push_back(w);
            continue;
        }
        find_op(w);
        for (const auto &s : schedules_of(w)) {
            scripts.push_back(s.path);
        }
    }
    return scripts;
}

// CUDA, or the lowest x86 level that has what the script requires: a check needs no options.
std::string target_for(const ScriptHeader &head) {
    if (head.target == "cuda") {
        return head.target;
    }
    for (const auto &level : level_names()) {
        const auto features = target_features(resolve_targets(level).front());
        bool enough = level != "sse41";
        for (const auto &feature : head.requires_features) {
            enough = enough && features.count(feature) > 0;
        }
        if (enough) {
            return level;
        }
    }
    return kDefaultTargets;
}

// A C header is the cheapest output: the pipeline is scheduled and lowered, and LLVM never runs.
void check(const CheckOptions &o, Verdict &v) {
    ScriptOptions options;
    options.lib_dirs = {paths().schedules};
    const ScriptHeader head = read_head(v.script, options, o.timeout);
    v.op = head.op;
    GenerateRequest request = o.request(head.op, v.script);
    request.emit = {"c_header"};
    request.lint = !o.no_lint;
    if (request.target.empty()) {
        request.target = target_for(head);
    }
    for (const auto &target : resolve_targets(request.target)) {
        v.target = target;
        request.target = target;
        const TemporaryDirectory work(temporary_root());
        const Generated result = generate(make_plan(request), work.path());
        v.report = result.report;
        v.error = result.error;
        for (const auto &note : result.slow) {
            if (std::find(v.slow.begin(), v.slow.end(), note) == v.slow.end()) {
                v.slow.push_back(note);
            }
        }
        if (!result.ok) {
            return;
        }
    }
}

nlohmann::json to_json(const Verdict &v) {
    nlohmann::json j = {{"script", v.script},    {"op", v.op},       {"target", v.target},
                        {"ok", v.error.empty()}, {"error", nullptr}, {"notes", v.slow}};
    if (!v.error.empty()) {
        j["error"] = {{"text", v.error}};
        if (v.report.is_object() && v.report.contains("error")) {
            j["error"] = v.report["error"];
        }
    }
    return j;
}

void run(const CheckOptions &o) {
    o.check_database({});
    nlohmann::json records = nlohmann::json::array();
    bool ok = true;
    Progress progress;
    const auto scripts = scripts_of(o);
    for (size_t i = 0; i < scripts.size(); i++) {
        progress.say(fmt::format("checking {}/{} {}", i + 1, scripts.size(), scripts[i]));
        Verdict v;
        v.script = scripts[i];
        try {
            if (!std::filesystem::is_regular_file(v.script)) {
                throw Failure(fmt::format("{}: error: there is no such file", v.script));
            }
            check(o, v);
        } catch (const ScriptError &e) {
            v.error = e.what();
            const auto &d = e.diagnostic;
            v.report = {{"error",
                         {{"file", d.file},
                          {"line", d.line},
                          {"word", d.word},
                          {"message", d.message},
                          {"hint", d.hint},
                          {"inside", d.inside},
                          {"text", d.text()}}}};
        } catch (const Failure &e) {
            v.error = e.what();
        } catch (const UsageError &e) {
            // It is the script that names the op.
            v.error = fmt::format("{}: error: {}", v.script, e.what());
        }
        ok = ok && v.error.empty();
        records.push_back(to_json(v));
        if (o.json) {
            continue;
        }
        progress.say("");
        if (v.error.empty()) {
            print_notes(v.slow);
            fmt::print("{}: {}\n", v.script, paint(Colour::kGreen, "ok"));
        } else {
            print_error(v.error);
        }
    }
    if (o.json) {
        fmt::print("{}\n", records.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    if (!ok) {
        throw ExitCode{1};
    }
}

}  // namespace

void add_check(CLI::App &app) {
    auto o = std::make_shared<CheckOptions>();
    CLI::App *cmd = app.add_subcommand("check", "Check scripts: everything but the machine code");
    cmd->add_option("what", o->what, "Lua files, or ops (all their schedules)")->required()->type_name("SCRIPT|OP");
    o->add(*cmd, "Instruction sets to check for, with commas [the lowest that the script takes]");
    add_no_lint(*cmd, o->no_lint);
    cmd->add_flag("--json", o->json, "A list of records on standard output");
    put_in_group(*cmd, group::kOutput, {"--json", "--no-lint"});
    cmd->footer("\nExit code 1 if one of them is wrong.\n"
                "\nExamples:\n  halyard check my.lua\n  halyard check rms_norm softmax --target avx512 --json");
    cmd->callback([o] { run(*o); });
}

}  // namespace halyard
