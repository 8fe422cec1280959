#include "pick.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include "cpu.h"
#include "diagnostics.h"
#include "failure.h"
#include "generator_params.h"
#include "paths.h"
#include "process.h"
#include "script.h"
#include "targets.h"
#include "text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

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

// Entries of this machine and these compilers in the order of preference.
std::vector<Entry> candidates(Database &database, const GenerateRequest &request, const Dims &shape, int threads) {
    Filter f;
    f.op = request.op;
    f.shape = shape_key(shape);
    f.machine = this_machine();
    f.compilers = these_compilers();
    f.threads = threads;
    f.ok = true;
    std::vector<Entry> found = database.entries(f);
    const Assignments params = beside_defaults(request, request.params);
    const std::string target = join(resolve_targets(request.target.empty() ? kDefaultTargets : request.target), ",");
    const std::string generator =
        request.generator.empty() ? "" : fs::path(request.generator).filename().string();
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](const Entry &e) {
                                   return beside_defaults(request, parse_assignments(e.key.params)) != params ||
                                          e.key.generator != generator ||
                                          e.script_hash != script_hash(e.candidate);
                               }),
                found.end());
    const auto rank = [&](const Entry &e) {
        return std::make_tuple(e.key.threads != cpu().processors, -e.key.threads, e.key.target != target,
                               e.measured.least);
    };
    std::stable_sort(found.begin(), found.end(),
                     [&](const Entry &a, const Entry &b) { return rank(a) < rank(b); });
    return found;
}

}  // namespace

std::string script_file(const Entry &entry) {
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
    if (!e.candidate.folder.empty()) {
        request.lib_dirs = {e.candidate.folder, fs::path(e.candidate.folder).parent_path().string()};
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
        const auto better = [&] { return std::make_tuple(!e.measured.ok(), e.measured.least) <
                                         std::make_tuple(!best->measured.ok(), best->measured.least); };
        best = !best || better() ? &e : best;
    }
    if (ids.size() > 1) {
        throw UsageError(fmt::format("\"{}\" begins {} schedules of {}: {}", id, ids.size(), database.path(),
                                     quoted_list(ids)));
    }
    return *best;
}

Pick pick(const std::string &path, const GenerateRequest &request, const Dims &shape, int threads) {
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
    Database database(path);
    const auto known = candidates(database, request, shape, threads);
    std::string refused;
    for (const Entry &e : known) {
        GenerateRequest with = with_entry(request, e);
        for (const auto &param : e.candidate.params) {
            with.params[param.first] = param.second;  // what was measured, also where the request says otherwise
        }
        std::string why_not;
        try {
            // A request whose own parameters the shipped schedule does not take is the caller's word for them.
            Assignments wanted = beside_defaults(request, request.params);
            try {
                wanted = interface_of(request);
            } catch (const Failure &) {
            }
            why_not = differences(wanted, interface_of(with));
        } catch (const ScriptError &error) {
            continue;  // not for this target
        } catch (const Failure &) {
            continue;
        }
        if (why_not.empty()) {
            p.found = true;
            p.request = with;
            p.why = fmt::format("schedule {} of {}: {} with {} thread(s) at {} on this machine ({}{}){}", e.candidate.id(),
                                path, microseconds(e.measured.least), e.key.threads, size, e.candidate.origin,
                                e.measured.whole ? "" : ", timed briefly", refused);
            return p;
        }
        if (refused.empty()) {
            refused = fmt::format("\n  {} ({}) is faster but wants other arguments; to have it:{}", e.candidate.id(),
                                  microseconds(e.measured.least), why_not);
        }
    }
    p.why = fmt::format("the shipped schedule: {} knows {} for {} on this machine with these compilers{}", path,
                        known.empty() ? "none" : "none that fits", size, refused);
    return p;
}

}  // namespace halyard::explore
