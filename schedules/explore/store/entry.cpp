#include "explore/store/entry.h"

#include <ctime>
#include <filesystem>
#include <regex>
#include <set>

#include <HalideRuntime.h>
#include <fmt/format.h>
#include <unistd.h>

#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/finish.h"
#include "kernel/gpu.h"
#include "kernel/paths.h"
#include "explore/store/record_names.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Adds a text and what it requires, each file once. A module that is not found is left to the engine's message.
void add_texts(Hash &hash, const std::string &text, const std::vector<std::string> &folders, std::set<std::string> &seen) {
    static const std::regex require("require\\s*\\(?\\s*[\"']([A-Za-z0-9_.]+)[\"']");
    hash.add(text);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), require); it != std::sregex_iterator(); ++it) {
        std::string relative = (*it)[1];
        std::replace(relative.begin(), relative.end(), '.', '/');
        for (const auto &folder : folders) {
            const std::string path = (fs::path(folder) / (relative + ".lua")).string();
            std::error_code ignored;
            if (fs::is_regular_file(path, ignored)) {
                if (seen.insert(path).second) {
                    add_texts(hash, read_file(path), folders, seen);
                }
                break;
            }
        }
    }
}

json key_json(const Key &k) {
    return {{"op", k.op},         {"generator", k.generator}, {"shape", k.shape},         {"params", k.params},
            {"target", k.target}, {"machine", k.machine},     {"compilers", k.compilers}, {"threads", k.threads}};
}

}  // namespace

std::string this_machine() {
    // Not those that this process may use: taskset makes no other machine.
    return fmt::format("{}, {} processors, L3 {} KiB", cpu().model, sysconf(_SC_NPROCESSORS_ONLN), cpu().l3 >> 10);
}

std::string machine_for(const std::string &target) {
    if (!is_cuda(target)) {
        return this_machine();
    }
    return gpu() ? fmt::format("{}, {} multiprocessors", gpu()->name, gpu()->multiprocessors) : "";
}

std::string these_compilers() {
    return fmt::format("halyard {}, halide {}.{}.{}, finish {}", HALYARD_VERSION, HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR,
                       HALIDE_VERSION_PATCH, kFinishVersion);
}

std::string shape_key(const Dims &shape) {
    std::vector<std::string> items;
    for (const auto &d : shape) {
        items.push_back(fmt::format("{}={}", d.first, d.second));
    }
    return join(items, ",");
}

Key key_of(const Task &task) {
    Key k;
    k.op = task.op;
    k.generator = task.generator.empty() ? "" : fs::path(task.generator).filename().string();
    k.shape = shape_key(task.shape);
    k.params = assignments_text(task.params);
    k.target = target_key(task.target);
    k.machine = task.machine.empty() ? machine_for(task.target) : task.machine;
    k.compilers = these_compilers();
    k.threads = task.threads;
    return k;
}

std::string script_hash(const Candidate &candidate) {
    std::vector<std::string> folders;
    if (!candidate.folder.empty()) {
        folders = {candidate.folder, fs::path(candidate.folder).parent_path().string()};
    }
    folders.push_back(paths().schedules);
    Hash hash;
    std::set<std::string> seen;
    add_texts(hash, candidate.lua, folders, seen);
    return hash.hex();
}

std::string time_now() {
    char text[32];
    const std::time_t t = std::time(nullptr);
    std::tm utc = {};
    gmtime_r(&t, &utc);
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

json to_json(const Entry &e) {
    const Candidate &c = e.candidate;
    return {{"key", key_json(e.key)},
            {"candidate",
             {{"id", c.id()},
              {"lua", c.lua},
              {"params", c.params},
              {"set", c.set},
              {"origin", c.origin},
              {"predicted", c.predicted},
              {"decisions", c.decisions},
              {"folder", c.folder}}},
            {"measured", to_json(e.measured)},
            {"script_hash", e.script_hash},
            {"when", e.when}};
}

Entry entry_from_json(const json &j) {
    try {
        Entry e;
        const json &k = j.at("key"), &c = j.at("candidate");
        e.key.op = k.at("op");
        e.key.generator = k.at("generator");
        e.key.shape = k.at("shape");
        e.key.params = k.at("params");
        e.key.target = k.at("target");
        e.key.machine = k.at("machine");
        e.key.compilers = k.at("compilers");
        e.key.threads = k.at("threads");
        e.candidate.lua = c.at("lua");
        e.candidate.params = c.at("params").get<Assignments>();
        e.candidate.set = c.at("set").get<Assignments>();
        e.candidate.origin = c.at("origin");
        e.candidate.predicted = c.at("predicted");
        e.candidate.decisions = c.at("decisions");
        e.candidate.folder = c.at("folder");
        e.measured = measured_from_json(j.at("measured"));
        e.script_hash = j.at("script_hash");
        e.when = j.at("when");
        check_names(e);
        return e;
    } catch (const json::exception &error) {
        throw Failure(fmt::format("this is no record of `halyard db export`: {}", error.what()));
    }
}

}  // namespace halyard::explore
