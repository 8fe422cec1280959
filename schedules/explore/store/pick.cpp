#include "explore/store/pick.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "explore/space/query.h"
#include "kernel/generator_params.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "explore/store/record_names.h"
#include "language/script.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 5;  // of schedules of a database, before the shipped one is taken
constexpr std::chrono::seconds kMostTime{20};

std::string microseconds(double seconds) {
    return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

// Parameters whose value is not the generator's own default: type=float32 says no more than nothing does.
Assignments beside_defaults(const GenerateRequest &request, Assignments params) {
    const std::string executable = request.generator.empty() ? paths().generators : request.generator;
    static std::map<std::string, std::vector<GeneratorParam>> known;
    const std::string key = executable + "\n" + request.op;
    if (known.count(key) == 0) {
        known[key] = generator_params(executable, request.op);
    }
    for (const auto &d : known[key]) {
        const auto given = params.find(d.name);
        if (given != params.end() && given->second == d.value) {
            params.erase(given);
        }
    }
    return params;
}

// What of the generator decides how a caller has to lay out its arguments.
Assignments interface_of(const GenerateRequest &request) {
    return beside_defaults(request, make_plan(request).params);
}

// " --param panel=32" for each in which a library would not be as it is wanted.
std::string differences(const Assignments &wanted, const Assignments &got) {
    std::string text;
    for (const auto &g : got) {
        const auto w = wanted.find(g.first);
        text += w == wanted.end() || w->second != g.second ? fmt::format(" --param {}={}", g.first, g.second) : "";
    }
    for (const auto &w : wanted) {
        text += got.count(w.first) == 0 ? fmt::format(" {} as the generator has it", w.first) : "";
    }
    return text;
}

std::string target_of(const GenerateRequest &request) {
    const std::string target = request.target.empty() ? kDefaultTargets : request.target;
    return is_cuda(target) ? with_devices(target, request.devices) : target;
}

// A request whose own parameters the shipped schedule does not take is the caller's word for them.
Assignments wanted_interface(const GenerateRequest &request) {
    try {
        return interface_of(request);
    } catch (const Failure &) {
    } catch (const ScriptError &) {
    }
    return beside_defaults(request, request.params);
}

// Whether kernels that were measured for one target are those that another asks for.
bool same_devices(const std::string &measured, const std::string &target) {
    if (!is_cuda(target)) {
        return true;
    }
    return devices_of(target).empty() ? measured.find("cuda") != std::string::npos && measured.find("for emulator") == std::string::npos
                                      : measured == target_key(target);
}

// What is known of an algorithm is not handed to another one of its name.
std::string algorithm_for(const GenerateRequest &request, const Dims &shape) {
    Task task;
    task.op = request.op;
    task.generator = request.generator;
    task.shape = shape;
    task.params = request.params;
    task.target = request.target;
    try {
        return algorithm_of(task);
    } catch (const Failure &) {
        return "unknown";  // the build says why
    }
}

// Whether a record is of a task with these parameters of the generator, or those.
bool is_of(const Entry &e, const GenerateRequest &request, const Assignments &params, const Assignments &others) {
    try {
        const Assignments of = beside_defaults(request, parse_assignments(e.key.params));
        return of == params || of == others;
    } catch (const std::invalid_argument &) {
        return false;  // no parameters at all
    }
}

// "AMD EPYC 9654" of "AMD EPYC 9654, 192 processors, L3 393216 KiB", the name of a device likewise.
std::string model_of(const std::string &machine) {
    const size_t count = machine.find("processors");  // of multiprocessors too
    const size_t end = count == std::string::npos ? count : machine.rfind(", ", count);
    return machine.substr(0, end);
}

// Whether what was measured on one machine says something of another: the same model, with more or fewer of its cores, and all of the
// instructions. Times are not the same then, but which schedule is the faster one mostly is.
bool akin(const Entry &e, const std::string &own) {
    if (own.empty() || model_of(e.key.machine) != model_of(own)) {
        return false;
    }
    try {
        return is_cuda(e.key.target) || features_missing(e.key.target, cpu().level).empty();
    } catch (const UsageError &) {
        return false;  // no target at all
    }
}

// Entries of this machine, or of one of its model, and these compilers in the order of preference.
std::vector<Entry> candidates(Database &database, const GenerateRequest &request, const Dims &shape, int threads,
                              const std::string &machine) {
    const std::string target = target_of(request);
    Filter f;
    f.op = request.op;
    f.shape = shape_key(shape);
    f.compilers = these_compilers();
    f.threads = threads;
    f.ok = true;
    std::vector<Entry> found = database.entries(f);
    found.erase(std::remove_if(found.begin(), found.end(), [&](const Entry &e) { return !same_devices(e.key.target, target); }),
                found.end());
    std::string own = machine_for(target);
    for (auto e = found.rbegin(); e != found.rend() && (own.empty() || !machine.empty()); ++e) {
        if (is_cuda(target) && starts_with(e->key.machine, machine)) {
            own = e->key.machine;
            break;
        }
    }
    const Assignments params = beside_defaults(request, request.params), interface = wanted_interface(request);
    const bool own_generator = !request.generator.empty() && !found.empty();
    const std::string generator = own_generator ? generator_key(request.generator, algorithm_for(request, shape)) : "";
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](const Entry &e) {
                                   return (e.key.machine != own && !akin(e, own)) || e.key.generator != generator ||
                                          !is_of(e, request, params, interface);
                               }),
                found.end());
    const auto rank = [&](const Entry &e) {
        return std::make_tuple(e.key.machine != own, e.key.threads != cpu().processors, -e.key.threads, e.key.target != target_key(target),
                               !e.chosen, e.measured.least);
    };
    std::stable_sort(found.begin(), found.end(), [&](const Entry &a, const Entry &b) { return rank(a) < rank(b); });
    return found;
}

}  // namespace

std::string script_file(const Entry &entry) {
    check_record(entry);
    const fs::path folder = fs::path(paths().cache) / "schedules";
    const fs::path file = folder / fmt::format("{}.{}.lua", entry.key.op, entry.candidate.id());
    std::error_code ignored;
    if (!fs::exists(file, ignored) || read_file(file.string()) != entry.candidate.lua) {
        const TemporaryDirectory work(folder.string());
        const std::string part = work.path() + "/script.lua";
        write_file(part, entry.candidate.lua);
        fs::rename(part, file);
    }
    return file.string();
}

GenerateRequest with_entry(GenerateRequest request, const Entry &e) {
    request.schedule = script_file(e);
    request.params.insert(e.candidate.params.begin(), e.candidate.params.end());
    request.set.insert(e.candidate.set.begin(), e.candidate.set.end());
    if (const auto folders = e.candidate.module_folders(); !folders.empty()) {
        request.lib_dirs = folders;
    }
    return request;
}

Entry find_entry(Database &database, const std::string &id) {
    Filter f;
    f.id = id;
    const auto found = database.entries(f);
    if (id.empty() || found.empty()) {
        throw UsageError(fmt::format("{} has no schedule \"{}\"; `halyard db list` names them", database.path(), id));
    }
    std::vector<std::string> ids;
    const Entry *best = nullptr;
    for (const Entry &e : found) {
        if (std::find(ids.begin(), ids.end(), e.candidate.id()) == ids.end()) {
            ids.push_back(e.candidate.id());
        }
        const auto better = [&] {
            return std::make_tuple(!e.measured.ok(), e.measured.least) < std::make_tuple(!best->measured.ok(), best->measured.least);
        };
        best = !best || better() ? &e : best;
    }
    if (ids.size() > 1) {
        throw UsageError(fmt::format("\"{}\" begins {} schedules of {}: {}", id, ids.size(), database.path(), quoted_list(ids)));
    }
    return *best;
}

std::string machine_of(Database &database, const Filter &filter, const std::string &name, const std::string &here) {
    if (name.empty() && !here.empty()) {
        return here;
    }
    const auto known = database.entries(filter);
    for (auto e = known.rbegin(); e != known.rend(); ++e) {
        if (starts_with(e->key.machine, name)) {
            return e->key.machine;
        }
    }
    if (!name.empty()) {
        throw UsageError(fmt::format("--gpu \"{}\": {} knows no measurement of such a device for this task", name, database.path()));
    }
    return "";
}

Pick pick(const std::string &path, const GenerateRequest &request, const Dims &shape, int threads, const std::string &machine) {
    Pick p;
    p.request = request;
    std::error_code ignored;
    const std::string size = shape_key(shape);
    if (!request.set.empty()) {
        p.why = "the shipped schedule, as --set is for its parameters";
        return p;
    }
    if (!fs::exists(path, ignored)) {
        p.why = fmt::format("the shipped schedule: there is no database {}", path);
        return p;
    }
    Database database(path, Access::kRead);
    const bool cuda = is_cuda(target_of(request));
    const auto known = candidates(database, request, shape, threads, machine);
    std::string refused, given_up;
    int tried = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (const Entry &e : known) {
        check_signals();
        if (tried == kMostTries || std::chrono::steady_clock::now() - begin > kMostTime) {
            given_up = fmt::format(", of the {} that were tried", tried);
            break;
        }
        if (e.script_hash != script_hash(e.candidate)) {
            continue;
        }
        tried++;
        GenerateRequest with = with_entry(request, e);
        for (const auto &param : e.candidate.params) {
            with.params[param.first] = param.second;  // what was measured, also where the request says otherwise
        }
        for (const auto &param : parse_assignments(e.key.params)) {
            with.params.insert(param);  // what the shipped schedule declares and this one may not
        }
        std::string why_not;
        try {
            why_not = differences(wanted_interface(request), interface_of(with));
        } catch (const ScriptError &error) {
            continue;  // not for this target
        } catch (const Failure &) {
            continue;
        }
        if (why_not.empty()) {
            p.found = true;
            p.request = with;
            const std::string where =
                cuda ? fmt::format("at {} on {}", size, e.key.machine)
                     : fmt::format("with {} thread(s) at {} on {}", e.key.threads, size,
                                   e.key.machine == this_machine() ? "this machine" : "another of its model (" + e.key.machine + ")");
            p.schedule = fmt::format("schedule {} of {}", e.candidate.id(), path);
            p.why = fmt::format("{}: {} {} ({}{}){}", p.schedule, microseconds(e.measured.least), where, e.candidate.origin,
                                e.measured.whole ? "" : ", timed briefly", refused);
            return p;
        }
        if (refused.empty()) {
            refused = fmt::format("\n  {} ({}) is faster but wants other arguments; to have it:{}", e.candidate.id(),
                                  microseconds(e.measured.least), why_not);
        }
    }
    p.why = fmt::format("the shipped schedule: {} knows {} for {} on {} with these compilers{}{}", path,
                        tried == 0 ? "none" : "none that fits", size, cuda ? "such a device" : "this machine", given_up, refused);
    return p;
}

}  // namespace halyard::explore
