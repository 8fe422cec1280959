#include "kernel/generate.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <regex>

#include <fmt/format.h>

#include "kernel/capture.h"
#include "kernel/compile_failure.h"
#include "kernel/emit_names.h"
#include "kernel/failure.h"
#include "kernel/finish.h"
#include "kernel/finish_process.h"
#include "kernel/generator_notes.h"
#include "kernel/generator_params.h"
#include "kernel/generator_run.h"
#include "kernel/lint_sizes.h"
#include "kernel/header_text.h"
#include "kernel/heads.h"
#include "kernel/json_text.h"
#include "kernel/outputs.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/process_limits.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "language/script.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

std::string place_of(const std::vector<std::string> &targets) {
    return target_features(targets.front()).count("cuda") > 0 ? "cuda" : "cpu";
}

// The name of a C function, since it goes into a header and into symbols.
void check_function(const std::string &name) {
    const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (letters.find(name.empty() ? ' ' : name[0]) == std::string::npos ||
        name.find_first_not_of(letters + "0123456789") != std::string::npos) {
        throw UsageError(fmt::format("--name \"{}\" is not the name of a C function", name));
    }
}

void check_head(const Plan &plan, const ScriptHeader &head) {
    if (head.op != plan.op) {
        throw Failure(fmt::format("{}: error: this schedule is for \"{}\", not for \"{}\"", plan.script, head.op, plan.op));
    }
    const std::string place = place_of(plan.targets);
    if (!head.target.empty() && head.target != place) {
        throw Failure(
            fmt::format("{}: error: this schedule is for {}, but the target is {}", plan.script, head.target, plan.targets.front()));
    }
}

// What the schedule leaves open among the parameters of the generator is chosen there.
void choose_params(Plan &plan, const ScriptHeader &head) {
    for (const auto &t : head.params) {
        if (t.is_generator_param && !t.choices.empty() && plan.params.count(t.name)) {
            plan.set.insert({t.name, t.value});
        }
    }
}

void merge_params(Plan &plan, const ScriptHeader &head) {
    for (const auto &declared : head.generator) {
        plan.declared.insert(declared.first);
        const auto given = plan.params.find(declared.first);
        if (given == plan.params.end()) {
            plan.params.insert(declared);
        } else if (given->second != declared.second) {
            const auto tunable =
                std::find_if(head.params.begin(), head.params.end(), [&](const Tunable &t) { return t.name == declared.first; });
            const bool open = tunable != head.params.end() && !tunable->choices.empty();
            throw Failure(fmt::format("{}: error: --param {}={} contradicts the schedule, which declares {}=\"{}\"\n  {}", plan.script,
                                      given->first, given->second, declared.first, declared.second,
                                      open ? fmt::format("choose it in the schedule: --set {}={}", given->first, given->second)
                                           : "take another schedule, or leave the parameter out"));
        }
    }
}

std::string fallback_message(std::string text) {
    text = trim(text);
    for (bool more = true; more;) {
        more = false;
        for (const char *prefix : {"Unhandled exception:", "User error:", "Internal error:", "Error:", "error:"}) {
            if (starts_with(text, prefix)) {
                text = trim(text.substr(std::string(prefix).size()));
                more = true;
            }
        }
    }
    // Halide answers an unknown target with every name it knows; the first line is the message.
    if (starts_with(text, "Did not understand Halide target")) {
        text = trim(text.substr(0, text.find('\n')));
    }
    // What a script printed is in it.
    constexpr size_t kMostInError = 4000;
    Capture kept(kMostInError);
    kept.add(text.data(), text.size());
    return kept.text();
}

void replace_all(std::string &text, const std::string &old, const std::string &with) {
    for (size_t at = text.find(old); !old.empty() && at != std::string::npos; at = text.find(old, at + with.size())) {
        text.replace(at, old.size(), with);
    }
}

// Settings in a comment: whatever else could end it, or draw the next line into it, is an underline.
std::string comment_text(const Assignments &settings) {
    std::string text = assignments_text(settings, ":");
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c >= 127 || (!std::isalnum(c) && !std::strchr(" .,:+-_/", c)); }, '_');
    return text;
}

// Halide makes the include guard from the whole path of the file, and copies our parameters, among which are paths, into
// the schedule's header. What is written must not depend on where it was built.
void remove_paths(const std::string &directory, const Plan &plan) {
    for (const auto &file : outputs_in(directory, plan.function, ".h")) {
        std::string header = read_file(file.string(), kMostText);
        const std::string params = "// with autoscheduler_params=";
        if (const size_t at = header.find(params); at != std::string::npos) {
            const size_t begin = at + params.size();
            std::string kept = plan.script.empty() ? header.substr(begin, header.find('\n', begin) - begin) : "autoscheduler=Lua";
            for (const auto &[name, values] : {std::pair("set", &plan.set), std::pair("facts", &plan.facts)}) {
                kept += plan.script.empty() || values->empty() ? "" : fmt::format(" {}={}", name, comment_text(*values));
            }
            header.replace(begin, header.find('\n', begin) - begin, kept);
        }
        const std::string intro = "#ifndef ";
        if (starts_with(header, intro + "HALIDE_")) {
            std::string guard = "HALYARD_GENERATED_" + file.filename().string();
            std::replace_if(
                guard.begin(), guard.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
            replace_all(header, header.substr(intro.size(), header.find('\n') - intro.size()), guard);
        }
        write_file(file.string(), header);
    }
}

std::string place_text(const Plan &plan) {
    return plan.script.empty() ? plan.executable : plan.script;
}

// Who finds the disk full may be anybody, and blames what he was at. To blame is the folder above `directory`, where all goes; "" where
// the message is of something else.
std::string full_disk_text(const std::string &message, const std::string &directory) {
    for (const int error : {ENOSPC, EDQUOT}) {
        const std::string reason = std::strerror(error);
        if (message.find(reason) != std::string::npos) {
            return fmt::format("{}: error: {}\n  free some there, or have another folder taken: -o, HALYARD_CACHE, TMPDIR",
                               fs::path(directory).parent_path().string(), reason);
        }
    }
    return "";
}

std::string failure_text(const Failure &failure, const std::string &directory) {
    const std::string full = full_disk_text(failure.what(), directory);
    return full.empty() ? failure.what() : full;
}

std::string error_text(const Plan &plan, const ProcessResult &result, const ProcessOptions &options, const nlohmann::json &report,
                       const nlohmann::json &last, const std::string &directory) {
    if (report.is_object() && report.contains("error") && report["error"].contains("text")) {
        return report["error"]["text"].get<std::string>();
    }
    const std::string message = fallback_message(result.err);
    if (const std::string full = full_disk_text(message, directory); !full.empty()) {
        return full;
    }
    if (result.timed_out || result.signal != 0 || ran_out_of_memory(result, options)) {
        return death_text(plan, result, options, report, last, message);
    }
    if (const std::string explained = explain_param_error(plan, message); !explained.empty()) {
        return explained;
    }
    // Not about the script: a plugin that does not load, an unknown target.
    if (message.find(": error: ") != std::string::npos || starts_with(message, "Failed to load") ||
        starts_with(message, "Did not understand Halide target")) {
        return message;
    }
    return fmt::format("{}: error: {}", place_text(plan),
                       message.empty() ? "the generator " + describe_end(result, plan.timeout) : message);
}

nlohmann::json read_report(const std::string &path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
        return nullptr;
    }
    return parse_if_json(read_file(path, kMostText));
}

void check_devices(const std::string &devices) {
    static const std::regex architecture("sm_[1-9][0-9]{1,2}[af]?|emulator");
    for (const auto &d : split(devices, ',')) {
        if (!std::regex_match(d, architecture)) {
            throw UsageError(fmt::format("\"{}\" is no architecture of a CUDA device; write sm_80, sm_90a and the like with commas, "
                                         "or emulator to have the host run them",
                                         d));
        }
    }
}

// Ours, written by the plugin.
const std::string kCudaSource = "cuda";

// Several targets can be built only into a library (or an object), so one is made on the side.
std::vector<std::string> emit_of(const Plan &plan) {
    std::vector<std::string> emit = plan.emit;
    emit.erase(std::remove(emit.begin(), emit.end(), kCudaSource), emit.end());
    const auto has = [&](const char *name) { return std::find(emit.begin(), emit.end(), name) != emit.end(); };
    if (emit.empty()) {
        emit.emplace_back("c_header");
    }
    if (plan.targets.size() > 1 && !has("static_library") && !has("object")) {
        emit.emplace_back("static_library");
    }
    // What the finishing step starts from. Whether it is needed shows when the schedule has run.
    if (!plan.script.empty() && !has("bitcode") && place_of(plan.targets) == "cpu") {
        emit.emplace_back("bitcode");
    }
    return emit;
}

// What the generator is started with: everything of ours stands in the plugin's request.
GeneratorRun generator_run(const Plan &plan, const std::string &directory, const std::string &report, bool with_source) {
    GeneratorRun run;
    run.executable = plan.executable;
    run.generator = plan.op;
    run.function = plan.function;
    run.directory = directory;
    run.emit = emit_of(plan);
    run.targets = plan.targets;
    run.params = plan.params;
    run.options = compiler_options(plan.timeout);
    run.blame = blame_of(plan);
    if (plan.script.empty()) {
        return run;
    }
    run.request = {{"script", plan.script},     {"report", report},    {"lib", plan.lib_dirs}, {"finish", plan.finish},
                   {"function", plan.function}, {"set", plan.set},     {"facts", plan.facts},  {"steps", plan.steps},
                   {"passes", plan.passes},     {"after", plan.after}, {"apart", plan.apart}};
    if (!plan.sizes.empty()) {
        run.request["sizes"] = plan.sizes;
        run.request["caches"] = plan.caches;
    }
    if (!plan.lint.empty()) {
        run.request["lint"] = plan.lint;
    }
    if (place_of(plan.targets) == "cuda") {
        run.request["devices"] = plan.devices;
        run.request["constant"] = plan.constant;
        if (with_source) {
            run.request["cuda"] = (fs::path(directory) / (plan.function + ".cu")).string();
        }
    }
    return run;
}

// Of what the generator left, makes what was asked for.
void complete(const Plan &plan, const std::string &directory, const nlohmann::json &report) {
    const auto asked = [&](const std::string &e) { return std::find(plan.emit.begin(), plan.emit.end(), e) != plan.emit.end(); };
    if (!plan.script.empty() && !report.is_object()) {
        throw Failure(fmt::format("{}: error: the plugin's report is not there, or not whole", plan.script));
    }
    remove_paths(directory, plan);
    if (asked("c_header")) {
        describe_header(directory, plan.function, plan.op, plan.params, report);
    }
    if (plan.finish && report.is_object() && report.value(kFinishField, false)) {
        finish_in_process(directory, plan.function, plan.timeout);
    }
    std::error_code ignored;
    if (!asked("static_library")) {
        fs::remove(fs::path(directory) / (plan.function + ".a"), ignored);
    }
    if (!asked("bitcode")) {
        for (const auto &file : outputs_in(directory, plan.function, ".bc")) {
            fs::remove(file);
        }
    }
    if (!asked("c_header")) {
        fs::remove(fs::path(directory) / (plan.function + ".h"), ignored);
    }
}

}  // namespace

std::string assignments_text(const Assignments &assignments, const std::string &equals) {
    std::vector<std::string> items;
    for (const auto &a : assignments) {
        items.push_back(a.first + equals + a.second);
    }
    return join(items, ",");
}

Assignments parse_options(const std::vector<std::string> &items, const std::string &option) {
    Assignments result;
    for (const auto &item : items) {
        const size_t eq = item.find('=');
        if (eq == std::string::npos || eq == 0) {
            throw UsageError(fmt::format("{} {}: write {} name=value", option, item, option));
        }
        result[item.substr(0, eq)] = item.substr(eq + 1);
    }
    return result;
}

Plan make_plan(const GenerateRequest &request) {
    Plan plan;
    plan.op = request.op;
    plan.function = request.function.empty() ? request.op : request.function;
    plan.emit = request.emit;
    plan.set = request.set;
    plan.facts = request.facts;
    plan.params = request.params;
    plan.steps = request.steps;
    plan.passes = request.passes;
    plan.after = request.after;
    plan.sizes = request.sizes;
    plan.caches = request.caches;
    plan.lib_dirs = request.lib_dirs;
    plan.lib_dirs.push_back(paths().schedules);
    plan.timeout = request.timeout;
    check_function(plan.function);
    plan.devices = devices_to_build(request.target, request.devices);
    check_devices(plan.devices);
    plan.targets = resolve_targets(request.target.empty() ? kDefaultTargets : request.target);

    const bool cuda = place_of(plan.targets) == "cuda";
    if (!cuda && !plan.devices.empty()) {
        throw UsageError("--devices is for CUDA; add --target cuda");
    }
    plan.constant = request.constant;
    if (!cuda && !plan.constant.empty()) {
        throw UsageError("--constant is for CUDA; add --target cuda");
    }
    check_emit(plan.emit, plan.targets);
    plan.apart = request.generator.empty();
    if (plan.apart) {
        find_op(request.op);
        plan.executable = require_piece(paths().generators, "the generator of every op");
    } else {
        plan.executable = fs::absolute(request.generator).string();
        if (!fs::exists(plan.executable)) {
            throw Failure(fmt::format("{}: error: there is no such generator executable", request.generator));
        }
    }
    // A generator that knows nothing of Halyard may schedule itself.
    const bool own = !request.generator.empty() && request.schedule.empty() && schedules_of(request.op).empty();
    plan.script = own ? "" : find_schedule(request.op, request.schedule, place_of(plan.targets));
    plan.inputs = {plan.executable};
    if (plan.script.empty()) {
        if (!plan.set.empty()) {
            throw UsageError("--set needs a schedule that has the parameter");
        }
        return plan;
    }
    ScriptOptions options;
    options.set = plan.set;
    options.params = plan.params;
    options.facts = plan.facts;
    options.lib_dirs = plan.lib_dirs;
    options.target = plan.targets.front();
    const ScriptHeader head = read_head(plan.script, options, plan.timeout);
    plan.line = head.line;
    check_head(plan, head);
    choose_params(plan, head);
    merge_params(plan, head);
    plan.inputs.push_back(require_piece(paths().plugin, "the Halide plugin"));
    plan.inputs.insert(plan.inputs.end(), head.files.begin(), head.files.end());
    plan.lint = request.lint ? lint_sizes(plan, request.generator.empty(), request.lint_shape) : "";
    return plan;
}

Generated generate(const Plan &plan, const std::string &directory) {
    const std::string report = (fs::path(directory) / ".report.json").string();
    const bool with_source = std::find(plan.emit.begin(), plan.emit.end(), kCudaSource) != plan.emit.end();
    const GeneratorRun run = generator_run(plan, directory, report, with_source);
    Generated generated;
    ProcessResult result;
    try {
        result = run_generator(run);
    } catch (const Failure &e) {
        generated.error = failure_text(e, directory);
        return generated;
    }

    try {
        generated.report = read_report(report);
        const nlohmann::json last = read_report(report + ".last");
        std::error_code ignored;
        fs::remove(report, ignored);
        fs::remove(report + ".last", ignored);
        if (!result.ok()) {
            generated.error = error_text(plan, result, run.options, generated.report, last, directory);
            return generated;
        }
        generated.notes = generator_notes(plan, result.err);
        if (generated.report.is_object()) {
            generated.slow = generated.report.value("notes", std::vector<std::string>());
        }
        complete(plan, directory, generated.report);
        generated.ok = true;
    } catch (const Failure &e) {
        generated.error = failure_text(e, directory);
    } catch (const nlohmann::json::exception &e) {
        generated.error = fmt::format("{}: error: the report of the generator is not what the plugin writes", place_text(plan));
    }
    return generated;
}

}  // namespace halyard
