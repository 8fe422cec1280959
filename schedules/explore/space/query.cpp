#include "explore/space/query.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/generator_params.h"
#include "kernel/generator_run.h"
#include "kernel/heads.h"
#include "kernel/json_text.h"
#include "kernel/outputs.h"
#include "kernel/own_op.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/process_limits.h"
#include "explore/space/product.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "language/script.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

std::string executable_of(const Task &task) {
    return task.generator.empty() ? require_piece(paths().generators, "the generator of every op") : fs::absolute(task.generator).string();
}

bool is_number(const std::string &s) {
    return !s.empty() && s.size() < 10 && s.find_first_not_of("0123456789") == std::string::npos;
}

const Op *registered(const std::string &name) {
    for (const Op &op : registry()) {
        if (op.name == name) {
            return &op;
        }
    }
    return nullptr;
}

bool mentions(const std::string &expression, const std::string &name) {
    return std::regex_search(expression, std::regex("\\b" + name + "\\b"));
}

// Parameters of the task and of the schedule, and of the generator's own what is left.
Assignments all_params(const Task &task, const Assignments &params) {
    Assignments all = params;
    all.insert(task.params.begin(), task.params.end());
    for (const auto &p : generator_params(executable_of(task), task.op)) {
        all.emplace(p.name, p.value);
    }
    return all;
}

// "x:4096x64,y:4096x64"
std::string sizes_text(const Task &task, const Assignments &params) {
    const Op *op = task.generator.empty() ? registered(task.op) : nullptr;
    return op ? sizes_text(*op, with_params(*op, task.shape, all_params(task, params))) : own_sizes_text(task.shape);
}

// Schedules that name these serve one value of them; a search leaves them as the caller has them.
bool says_what_is_computed(const std::string &param) {
    return param == "type" || param == "tf32";
}

// What schedules of the op choose is theirs to say: the layout of weights, the form of an algorithm.
std::set<std::string> chosen_by_schedules(const std::string &op) {
    std::set<std::string> chosen;
    std::vector<std::string> scripts;
    for (const auto &file : schedules_of(op)) {
        scripts.push_back(file.path);
    }
    for (const auto &head : read_heads(scripts)) {
        if (!head.ok) {
            throw ScriptError(head.error);
        }
        for (const auto &g : head.header.generator) {
            chosen.insert(g.first);
        }
    }
    return chosen;
}

// The values with which the kernel takes the same arguments: another layout of weights is the caller's to choose.
void add_forms(const Task &task, const GeneratorParam &p, std::vector<FreeParam> &result) {
    FreeParam free{p.name, {}, p.value, false};
    const auto arguments = [&](const std::string &value) {
        std::map<std::string, std::vector<int64_t>> extents;
        for (const auto &b : describe_pipeline(task, {{p.name, value}}).buffers) {
            extents[b.first] = b.second.extents;
        }
        return extents;
    };
    const auto own = arguments(p.value);
    for (const auto &value : p.choices) {
        try {
            if (value == p.value || arguments(value) == own) {
                free.values.push_back(value);
            }
        } catch (const Failure &) {
            // not together with the other parameters
        }
    }
    if (free.values.size() > 1) {
        result.push_back(std::move(free));
    }
}

std::vector<FreeParam> find_free_params(const Task &task) {
    std::vector<FreeParam> result;
    const Op *op = task.generator.empty() ? registered(task.op) : nullptr;
    if (!op) {
        return result;
    }
    const std::set<std::string> chosen = chosen_by_schedules(task.op);
    for (const auto &p : generator_params(executable_of(task), task.op)) {
        if (task.params.count(p.name)) {
            continue;
        }
        if (!p.choices.empty()) {
            if (chosen.count(p.name) && !says_what_is_computed(p.name)) {
                add_forms(task, p, result);
            }
            continue;
        }
        if (!is_number(p.value)) {
            continue;
        }
        bool fixed = mentions(op->flops, p.name);
        for (const auto &a : op->arguments) {
            for (const auto &e : a.extents) {
                fixed = fixed || (a.output && mentions(e, p.name));
            }
            fixed = fixed || a.name == p.name;
        }
        if (fixed) {
            continue;
        }
        FreeParam free{p.name, {}, p.value, true};
        // Tiles on a GPU have 64 rows and columns and more, where those on the host have 16 to 48.
        const int64_t own = std::stoll(p.value), most = is_cuda(task.target) && own >= 16 ? 8 * own : 2 * own;
        for (const int64_t v : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 2048}) {
            // Whole vectors stay whole.
            const bool whole = own % 16 != 0 || v % 16 == 0;
            if (whole && 2 * v >= own && v <= most) {
                free.values.push_back(std::to_string(v));
            }
        }
        if (!free.values.empty()) {  // 0 turns a form of the algorithm off, and stays
            result.push_back(std::move(free));
        }
    }
    return result;
}

}  // namespace

std::vector<FreeParam> free_params(const Task &task) {
    // Each form of an algorithm is a run of the generator.
    static std::map<std::string, std::vector<FreeParam>> known;
    std::string key = task.op + "\n" + task.generator + "\n" + task.target + "\n" + assignments_text(task.params);
    for (const auto &d : task.shape) {
        key += fmt::format("\n{}={}", d.first, d.second);
    }
    const auto found = known.find(key);
    return found != known.end() ? found->second : known[key] = find_free_params(task);
}

Assignments declared_params(const Task &task) {
    Assignments result;
    const Op *op = task.generator.empty() ? registered(task.op) : nullptr;
    if (!op) {
        return result;
    }
    const std::set<std::string> chosen = chosen_by_schedules(task.op);
    for (const auto &p : generator_params(executable_of(task), task.op)) {
        for (const auto &a : op->arguments) {
            for (const auto &e : a.extents) {
                if (a.output && is_number(p.value) && !op->argument(p.name) && !task.params.count(p.name) && mentions(e, p.name)) {
                    result[p.name] = p.value;
                }
            }
        }
        if (chosen.count(p.name) && !task.params.count(p.name) && !says_what_is_computed(p.name)) {
            result.emplace(p.name, p.value);
        }
    }
    return result;
}

ProcessResult run_plugin(const Task &task, const Assignments &params, const std::string &folder, const nlohmann::json &request) {
    GeneratorRun run;
    run.executable = executable_of(task);
    run.generator = task.op;
    run.function = task.op;
    run.directory = folder;
    run.emit = {"c_header"};
    run.targets = {resolve_targets(task.target.empty() ? "host" : task.target).front()};
    run.params = params;
    run.params.insert(task.params.begin(), task.params.end());
    run.request = request;
    run.options = compiler_options(task.limits.build_seconds);
    run.blame = [&](const std::string &name, const std::string &value) {
        return task.params.count(name) && !params.count(name)
                   ? fmt::format("--param {}={}", name, value)
                   : fmt::format("{}: error: the schedule's generator parameter {}", task.op, printable(name + "=" + value));
    };
    return run_generator(run);
}

namespace {

Description describe(const Task &task, const Assignments &params, const GivenScript *script) {
    const TemporaryDirectory work(temporary_root());
    const std::string file = (fs::path(work.path()) / "description.json").string();
    nlohmann::json request = {{"describe", file}, {"sizes", sizes_text(task, params)}};
    if (script) {
        request["script"] = script->file;
        request["lib"] = script->lib_dirs;
        request["set"] = script->set;
    }
    const ProcessResult r = run_plugin(task, params, work.path(), request);
    if (!fs::exists(file)) {
        throw Failure(fmt::format("{}: error: the generator {}\n{}", task.op, describe_end(r, task.limits.build_seconds), trim(r.err)));
    }
    const auto json = parse_json(read_file(file, kMostText));
    if (json.contains("error")) {
        throw Failure(json.at("error").get<std::string>());
    }
    Description d = read_description(json);
    add_copies(d);
    return d;
}

}  // namespace

Description describe_pipeline(const Task &task, const Assignments &params, const GivenScript *script) {
    if (script) {
        return describe(task, params, script);  // which a search may have written anew
    }
    // Of a large pipeline it takes seconds.
    static std::map<std::string, Description> known;
    std::string key =
        task.op + "\n" + task.generator + "\n" + task.target + "\n" + assignments_text(task.params) + "\n" + assignments_text(params);
    for (const auto &d : task.shape) {
        key += fmt::format("\n{}={}", d.first, d.second);
    }
    const auto found = known.find(key);
    return found != known.end() ? found->second : known.emplace(key, describe(task, params, nullptr)).first->second;
}

std::string algorithm_of(const Task &task) {
    return task.generator.empty() ? "" : describe_pipeline(task, {}).algorithm;
}

}  // namespace halyard::explore
