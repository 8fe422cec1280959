#include "explore/store/entry.h"

#include <ctime>
#include <filesystem>
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

// As many as the language reads, and more modules than any schedule has.
constexpr size_t kMostBytes = size_t(1) << 20, kMostBytesOfAll = size_t(8) << 20, kMostModules = 1000;

// The next name in `require "NAME"` or `require("NAME")`, and behind it; "" where there is none. By hand, as a regular expression of
// the C++ library takes a piece of the stack for each character.
std::string next_required(const std::string &text, size_t &at) {
    const auto skip = [&](const char *blanks) { at = std::min(text.find_first_not_of(blanks, at), text.size()); };
    const std::string word = "require";
    while ((at = text.find(word, at)) != std::string::npos) {
        at += word.size();
        skip(" \t\r\n\v\f");
        at += at < text.size() && text[at] == '(';
        skip(" \t\r\n\v\f");
        const size_t begin = at + 1;
        if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) {
            continue;
        }
        at = begin;
        skip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");
        if (at > begin && at < text.size() && (text[at] == '"' || text[at] == '\'')) {
            return text.substr(begin, at - begin);
        }
        at = begin;
    }
    return "";
}

// Where the language finds it: a link that leads out of the folders is none. "" where there is none, which is left to its message.
std::string module_file(const std::string &name, const std::vector<std::string> &folders) {
    std::string relative = name + ".lua";
    std::replace(relative.begin(), relative.begin() + std::ptrdiff_t(name.size()), '.', '/');
    for (const auto &folder : folders) {
        const std::string path = (fs::path(folder) / relative).string();
        std::error_code error;
        if (fs::is_regular_file(path, error)) {
            const std::string real = fs::canonical(path, error).string();
            const bool inside = !error && std::any_of(folders.begin(), folders.end(), [&](const std::string &f) {
                std::error_code missing;
                const fs::path above = fs::canonical(f, missing);
                return !missing && starts_with(real, (above / "").string());
            });
            if (inside) {
                return path;
            }
        }
    }
    return "";
}

// Adds a text and what it requires, each module once, before what stands behind it.
void add_texts(Hash &hash, const std::string &lua, const std::vector<std::string> &folders) {
    struct Open {
        std::string text;
        size_t at;
    };
    hash.add(lua);
    std::vector<Open> open = {{lua, 0}};
    std::set<std::string> seen;
    for (size_t bytes = 0; !open.empty();) {
        const std::string name = next_required(open.back().text, open.back().at);
        if (name.empty()) {
            open.pop_back();
            continue;
        }
        const std::string path = seen.insert(name).second ? module_file(name, folders) : "";
        std::string text = path.empty() ? "" : beginning_of_file(path, kMostBytes + 1);
        bytes += text.size();
        if (text.size() > kMostBytes || bytes > kMostBytesOfAll || seen.size() > kMostModules) {
            hash.add("more than a schedule may be");
            return;
        }
        if (!path.empty()) {
            hash.add(text);
            open.push_back({std::move(text), 0});
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

std::string generator_key(const std::string &executable, const std::string &algorithm) {
    return fs::path(executable).filename().string() + (algorithm.empty() ? "" : "+" + algorithm);
}

Key key_of(const Task &task) {
    Key k;
    k.op = task.op;
    k.generator = task.generator.empty() ? "" : generator_key(task.generator, task.algorithm);
    k.shape = shape_key(task.shape);
    k.params = assignments_text(task.params);
    k.target = target_key(task.target);
    k.machine = task.machine.empty() ? machine_for(task.target) : task.machine;
    k.compilers = these_compilers();
    k.threads = task.threads;
    return k;
}

std::string script_hash(const Candidate &candidate) {
    std::vector<std::string> folders = candidate.module_folders();
    folders.push_back(paths().schedules);
    Hash hash;
    add_texts(hash, candidate.lua, folders);
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
        e.key.threads = threads_of(k.at("threads").get<int64_t>());
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
        check_record(e);
        return e;
    } catch (const json::exception &error) {
        throw Failure(fmt::format("this is no record of `halyard db export`: {}", error.what()));
    }
}

}  // namespace halyard::explore
