#include "explore/space/halide.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/gpu.h"
#include "kernel/json_text.h"
#include "language/lua_text.h"
#include "kernel/outputs.h"
#include "kernel/process.h"
#include "explore/space/query.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

// What Anderson2021 has in mind where no device is here: an H100.
constexpr int kMultiprocessors = 132;

int parallelism(const Task &task) {
    return !is_cuda(task.target) ? task.threads : gpu() ? gpu()->multiprocessors : kMultiprocessors;
}

std::string sizes_text(const Description &d) {
    std::vector<std::string> items;
    for (const auto &[name, extents] : d.sizes) {
        std::vector<std::string> numbers;
        for (const int64_t e : extents) {
            numbers.push_back(std::to_string(e));
        }
        items.push_back(name + ":" + join(numbers, "x"));
    }
    return join(items, ",");
}

std::string output_of(const Task &task, const Description &d) {
    for (const auto &f : d.funcs) {
        if (f.second.output) {
            return f.first;
        }
    }
    throw Failure(task.op + ": error: the generator has no output");
}

// What the plugin says of a script. Null where it did not get to say something.
json report_of(const Task &task, json request, const std::string &folder, bool &timed_out) {
    const std::string report = folder + "/report.json";
    fs::remove(report);
    request["report"] = report;
    const ProcessResult r = run_plugin(task, {}, folder, request);
    timed_out = r.timed_out;
    if (r.timed_out || !fs::exists(report)) {
        return nullptr;
    }
    json said = parse_if_json(read_file(report, kMostText));
    return said.is_object() ? said : json();
}

std::string error_of(const json &report) {
    return report.contains("error") ? report["error"].value("message", "") : "the generator ended before it said why";
}

json report_of_script(const Task &task, const std::string &lua, const std::string &folder, bool &timed_out) {
    const std::string script = folder + "/" + task.op + ".lua";
    write_file(script, lua);
    return report_of(task, {{"script", script}}, folder, timed_out);
}

// A nest in which Funcs that copy another one have the name of that. Halide leaves counters out of what it prints, and what stands behind
// them: of a generator that is made once more that is the ending of copies.
json with_names_of_copied(json nest) {
    for (auto &line : nest) {
        std::string text = line.at("text");
        for (const char *ending : {"_clone", "_wrapper", "_in"}) {
            for (size_t at = text.find(ending); at != std::string::npos; at = text.find(ending, at)) {
                const size_t end = text.find_first_of(" :(", at);
                text.erase(at, (end == std::string::npos ? text.size() : end) - at);
            }
        }
        line["text"] = text;
    }
    return nest;
}

// Why a text is not what was to be said in words; "" where it is.
std::string difference(const Task &task, const json &theirs, const std::string &lua, const std::string &folder, bool &timed_out,
                       bool made_again = false) {
    const json ours = report_of_script(task, lua, folder, timed_out);
    if (timed_out) {
        return "its words take too long";
    }
    if (!ours.is_object() || !ours.contains("nest")) {
        return "its words are refused: " + error_of(ours);
    }
    const auto nest = [&](const json &of) { return nest_without_names(made_again ? with_names_of_copied(of.at("nest")) : of.at("nest")); };
    return nest(theirs) != nest(ours) ? "its words give other loops" : "";
}

// What the plugin says of what a generator schedules itself: its loops and, where there are words for it, statements. Throws where it has none.
json own_report(const Task &task, const std::string &folder) {
    need_own(task.op, task.generator, task.target);
    bool timed_out = false;
    const json theirs = report_of(task, {{"own", task.op}, {"params", task.params}}, folder, timed_out);
    if (timed_out) {
        throw Failure(fmt::format("{}: error: its own schedule takes longer than {:.0f} s", task.op, task.limits.build_seconds));
    }
    if (!theirs.is_object() || !theirs.contains("nest")) {
        throw Failure(fmt::format("{}: error: the generator ended while it scheduled itself", task.op));
    }
    if (!theirs.contains("problem") && theirs.at("statements").get<std::string>().empty()) {
        throw Failure(fmt::format("{}: error: the generator schedules nothing itself, where no autoscheduler is asked "
                                  "(!using_autoscheduler())\n  leave own out",
                                  task.op));
    }
    return theirs;
}

}  // namespace

std::vector<std::string> halide_schedulers(const Task &task) {
    return is_cuda(task.target) ? std::vector<std::string>{"Anderson2021"}
                                : std::vector<std::string>{"Mullapudi2016", "Li2018", "Adams2019"};
}

std::vector<std::string> nest_without_names(const json &nest) {
    std::map<std::string, size_t> funcs;
    const auto number = [&](const std::string &name) { return funcs.emplace(name, funcs.size()).first->second; };
    std::vector<std::string> lines;
    for (const auto &l : nest) {
        const std::string text = l.at("text");
        const size_t begin = std::min(text.find_first_not_of(' '), text.size());
        const std::string indent = text.substr(0, begin), rest = text.substr(begin);
        const size_t space = std::min(rest.find(' '), rest.size()), call = rest.find("(...)");
        const std::string first = rest.substr(0, space);
        if (first == "produce" || first == "consume" || first == "store") {
            lines.push_back(fmt::format("{}{} {}", indent, first, number(rest.substr(space + 1))));
        } else if (call != std::string::npos) {
            lines.push_back(fmt::format("{}{} = ...", indent, number(rest.substr(0, call) + ":")));
        } else {
            // "parallel row in [0, 7]:" and "for col:"
            const size_t name = rest.find_first_of(" :<", space + 1);
            lines.push_back(indent + first + (name == std::string::npos ? "" : rest.substr(name)));
        }
    }
    return lines;
}

HalideSchedule halide_schedule(const Task &task, const std::string &scheduler) {
    const auto begin = Clock::now();
    const auto left = [&] {
        Task t = task;
        t.limits.build_seconds -= std::chrono::duration<double>(Clock::now() - begin).count();
        t.limits.build_seconds = std::max(t.limits.build_seconds, 1.0);
        return t;
    };
    const Description d = describe_pipeline(task, {});
    HalideSchedule s;
    s.candidate.origin = scheduler;
    s.candidate.lua = lua_head(task.op, is_cuda(task.target) ? "cuda" : "cpu",
                               {fmt::format("{} as Halide's {} schedules it.", task.op, scheduler)}, {}, "k") +
                      fmt::format("    {}:autoschedule(\"{}\", \"{}\", {})\n", lua_field_of_k(output_of(task, d)), scheduler, sizes_text(d),
                                  parallelism(task)) +
                      lua_tail();
    const TemporaryDirectory work(temporary_root());
    const json theirs = report_of_script(left(), s.candidate.lua, work.path(), s.timed_out);
    if (s.timed_out) {
        s.problem = fmt::format("{} takes longer than {:.0f} s", scheduler, task.limits.build_seconds);
        return s;
    }
    if (!theirs.is_object() || !theirs.contains("lua") || !theirs.contains("nest")) {
        s.problem = theirs.is_object() && theirs.contains("lua_problem") ? theirs["lua_problem"].get<std::string>() : error_of(theirs);
        return s;
    }
    const std::string lua = theirs["lua"];
    s.problem = difference(left(), theirs, lua, work.path(), s.timed_out);
    if (s.problem.empty()) {
        s.candidate.lua = lua;
    }
    return s;
}

const char *const kOwn = "own";

Candidate own_candidate() {
    Candidate c;
    c.own = true;
    c.origin = "the generator's own schedule";
    return c;
}

void need_own(const std::string &op, const std::string &generator, const std::string &target) {
    if (generator.empty()) {
        throw UsageError(
            fmt::format("own is what a --generator schedules itself; {} has schedules in Lua, which `halyard list {}` names", op, op));
    }
    if (!target.empty() && is_cuda(target)) {
        throw UsageError("own is for the host: a generator's own kernels for CUDA need Halide's runtime; port its schedule to Lua");
    }
}

void check_own(const Task &task) {
    own_report(task, TemporaryDirectory(temporary_root()).path());
}

OwnSchedule own_schedule(const Task &task) {
    const TemporaryDirectory work(temporary_root());
    const json theirs = own_report(task, work.path());
    OwnSchedule s;
    if (theirs.contains("problem")) {
        s.problem = theirs.at("problem");
        return s;
    }
    const std::string lua = lua_head(task.op, "cpu", {task.op + " as its generator schedules it in C++."}, {}, "k") +
                            theirs.at("statements").get<std::string>() + lua_tail();
    bool timed_out = false;
    s.problem = difference(task, theirs, lua, work.path(), timed_out, true);
    if (s.problem.empty()) {
        s.lua = lua;
    }
    return s;
}

}  // namespace halyard::explore
