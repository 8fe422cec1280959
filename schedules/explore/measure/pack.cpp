#include "explore/measure/pack.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "explore/measure/candidate_process.h"
#include "explore/store/entry.h"
#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "kernel/process.h"
#include "explore/measure/reference.h"
#include "explore/measure/travelling_command.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 1;
const char *const kList = "pack.json", *const kResults = "results.jsonl";
constexpr double kTurnSeconds = 0.5;  // a candidate
constexpr size_t kMostInTurns = 6;
constexpr double kNear = 1.15;  // times the best: who is timed again in turns with it

std::string dumped(const json &j, int indent = -1) {
    return j.dump(indent, ' ', false, json::error_handler_t::replace);
}

json read_list(const std::string &folder) {
    const fs::path file = fs::path(folder) / kList;
    if (!fs::exists(file)) {
        return {{"format", kFormat}, {"tasks", json::array()}};
    }
    const json list = parse_if_json(read_file(file.string()));
    if (!list.is_object() || list.value("format", 0) != kFormat || !list.contains("tasks")) {
        throw Failure(fmt::format("{}: error: this is no list of `halyard explore --export` of this version\n  name another "
                                  "folder",
                                  file.string()));
    }
    return list;
}

// The command, and what starts it there.
void add_command(const std::string &folder) {
    copy_command(folder);
    write_program(folder + "/measure",
                  "#!/bin/sh\n# Checks and times what is in this folder, on a machine with a GPU: results.jsonl is for\n"
                  "# `halyard db import`.\ncd \"$(dirname \"$0\")\" || exit\n"
                  "LD_LIBRARY_PATH=$PWD/lib exec bin/halyard measure .\n");
}

// What is read there is the library, and the runtime beside it where it has one.
void strip_folder(const fs::path &directory) {
    const fs::path library = directory / "kernel.so";
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(directory)) {
        if (entry.path() != library && entry.path() != runtime_beside(library.string())) {
            files.push_back(entry.path());
        }
    }
    for (const auto &file : files) {
        if (fs::is_directory(fs::symlink_status(file))) {
            remove_folder(file.string());
        } else {
            fs::remove(file);
        }
    }
    if (!fs::exists(runtime_beside(library.string()))) {  // strip takes the names of what no linker has made
        run_process({"strip", "-s", library.string()});   // where there is no strip it is only larger
    }
}

// "softmax cols=4096,rows=64 mine.lua threads=256": its op and size, the schedule that it came from, its settings.
std::string description_of(const Task &task, const Candidate &c) {
    std::string text = task.op + " " + shape_key(task.shape);
    for (const std::string &part : {fs::path(c.origin).filename().string(), assignments_text(c.set)}) {
        text += part.empty() ? "" : " " + part;
    }
    return text;
}

class PackedTask {
public:
    PackedTask(const std::string &folder, const json &j)
        : folder_(folder), task_(task_from_json(j.at("task"))), entries_(j.at("entries")), references_(j.at("references")) {}

    // Runs what is not in `done`; `keep` gets each result.
    void measure(const std::set<std::string> &done, const std::function<void(const Entry &)> &keep, const Say &say) {
        const TemporaryDirectory work(temporary_root());
        std::vector<std::pair<Entry, Built>> right;
        double best = 0;
        for (const json &e : entries_) {
            Entry entry = entry_from_json(e.at("entry"));
            entry.key.machine = machine_for(task_.target);
            if (done.count(key(entry))) {
                continue;
            }
            const Built built = built_of(e);
            entry.measured = run_built(task_, built, outputs(e.at("reference"), work.path()), true, best, task_.limits.run_seconds);
            entry.measured.reference = references_.at(e.at("reference").get<size_t>()).at("name");
            entry.when = time_now();
            const Measured &m = entry.measured;
            say(fmt::format("{}: {}", description_of(task_, entry.candidate),
                            m.ok() ? fmt::format("{:.4g} us", m.least * 1e6) : std::string(status_name(m.status)) + ": " + m.message));
            keep(entry);
            if (m.ok()) {
                best = best == 0 ? m.least : std::min(best, m.least);
                right.emplace_back(std::move(entry), built);
            }
        }
        turns(right, keep, say);
    }

    static std::string key(const Entry &e) {
        return e.key.op + "\n" + e.key.shape + "\n" + e.key.params + "\n" + e.key.target + "\n" + e.candidate.id();
    }

private:
    Built built_of(const json &j) const {
        Built b;
        b.directory = (fs::path(folder_) / j.at("directory").get<std::string>()).string();
        b.params = j.at("params").get<Assignments>();
        b.measured.build_seconds = j.value("build_seconds", 0.0);
        b.measured.library_bytes = j.value("library_bytes", int64_t(0));
        return b;
    }

    // What the reference with this number gives, computed when it is first needed.
    const std::string &outputs(size_t number, const std::string &work) {
        if (outputs_.count(number) == 0) {
            const json &r = references_.at(number);
            const std::string file = fmt::format("{}/reference-{}", work, number);
            const Measured m = run_built(task_, built_of(r), file, false, 0, 10 * task_.limits.run_seconds);
            if (!m.ok()) {
                throw Failure(fmt::format("{}: error: {}, against which candidates are to be checked, does not run here: {}: {}", task_.op,
                                          r.at("name").get<std::string>(), status_name(m.status), m.message));
            }
            outputs_[number] = file;
        }
        return outputs_.at(number);
    }

    // The last word have times that were taken in turns.
    void turns(std::vector<std::pair<Entry, Built>> right, const std::function<void(const Entry &)> &keep, const Say &say) {
        std::stable_sort(right.begin(), right.end(),
                         [](const auto &a, const auto &b) { return a.first.measured.least < b.first.measured.least; });
        std::vector<Built> built;
        for (const auto &r : right) {
            if (built.size() < kMostInTurns && r.first.measured.least <= kNear * right[0].first.measured.least) {
                built.push_back(r.second);
            }
        }
        if (built.size() < 2) {
            return;
        }
        const auto times = run_in_turns(task_, built, kTurnSeconds).measured;
        for (size_t i = 0; i < times.size(); i++) {
            Measured &m = right[i].first.measured;
            if (!times[i].ok()) {
                continue;
            }
            m.least = times[i].least;
            m.lower = times[i].lower;
            m.median = times[i].median;
            m.upper = times[i].upper;
            m.samples = times[i].samples;
            say(fmt::format("{}: {:.4g} us in turns, median {:.4g}", description_of(task_, right[i].first.candidate), m.least * 1e6,
                            m.median * 1e6));
            keep(right[i].first);
        }
    }

    const std::string folder_;
    const Task task_;
    const json entries_, references_;
    std::map<size_t, std::string> outputs_;
};

// The first trusted schedule that builds.
json build_reference(const Task &task, const Assignments &params, const std::string &folder, const std::string &name) {
    const TemporaryDirectory work(temporary_root());
    std::string why;
    for (const Trusted &t : trusted_schedules(task, work.path())) {
        Candidate c;
        c.params = params;
        const Built b = build_candidate(task, folder + "/" + name, t.script, c, 5 * task.limits.build_seconds);
        if (b.measured.ok()) {
            strip_folder(b.directory);
            return {{"name", t.name}, {"directory", name}, {"params", b.params}};
        }
        why += fmt::format("\n  {}: {}", t.name, b.measured.message);
    }
    throw Failure(fmt::format("{}: error: no schedule that is known to be right builds to check candidates against{}", task.op, why));
}

// Of several of the same the last; the last line may be cut off where it was killed.
std::map<std::string, Entry> read_results(const std::string &file) {
    std::map<std::string, Entry> results;
    if (fs::exists(file)) {
        for (const auto &line : split(read_file(file), '\n')) {
            const json j = parse_if_json(line);
            if (j.is_object()) {
                Entry e = entry_from_json(j);
                results[PackedTask::key(e)] = std::move(e);
            }
        }
    }
    return results;
}

void write_results(const std::string &file, const std::map<std::string, Entry> &results) {
    std::string text;
    for (const auto &r : results) {
        text += dumped(to_json(r.second)) + "\n";
    }
    write_output(file, text);
}

}  // namespace

std::vector<Measured> write_pack(const Task &task, const std::vector<Candidate> &candidates, const std::string &given, const Say &say) {
    const std::string folder = fs::absolute(given).lexically_normal().string();
    fs::create_directories(folder);
    json list = read_list(folder);
    size_t number = list.at("tasks").size();
    const auto own_name = [&] { return fmt::format("{}.{}", task.op, number); };
    while (fs::exists(fs::symlink_status(fs::path(folder) / own_name()))) {
        number++;  // of a run that was killed before it could say so in the list
    }
    const TemporaryDirectory work(folder);  // what is half done goes with it
    std::vector<std::string> names, directories;
    for (size_t i = 0; i < candidates.size(); i++) {
        names.push_back(fmt::format("{}/{}", own_name(), i));
        directories.push_back(work.path() + "/" + names.back());
    }
    say(fmt::format("building {} candidates", candidates.size()));
    const std::vector<Built> built = build_candidates(task, directories, candidates, 0);
    json entries = json::array(), references = json::array();
    std::map<std::string, size_t> of_params;
    std::vector<Measured> results;
    for (size_t i = 0; i < built.size(); i++) {
        results.push_back(built[i].measured);
        if (!built[i].measured.ok()) {
            say(fmt::format("{}: {}", description_of(task, candidates[i]), built[i].measured.message));
            remove_folder(directories[i]);
            continue;
        }
        results.back().status = Status::kPending;
        strip_folder(directories[i]);
        const Assignments params = whole_params(task, built[i].params);
        const std::string key = assignments_text(params);
        if (of_params.count(key) == 0) {
            say("building what they are checked against");
            of_params[key] = references.size();
            references.push_back(build_reference(task, params, work.path(), fmt::format("{}/reference-{}", own_name(), references.size())));
        }
        const Entry entry = {key_of(task), candidates[i], results.back(), script_hash(candidates[i]), time_now()};
        entries.push_back({{"entry", to_json(entry)},
                           {"directory", names[i]},
                           {"params", built[i].params},
                           {"reference", of_params[key]},
                           {"build_seconds", built[i].measured.build_seconds},
                           {"library_bytes", built[i].measured.library_bytes}});
    }
    list.at("tasks").push_back({{"task", to_json(task)}, {"entries", entries}, {"references", references}});
    add_command(folder);
    check_signals();
    if (!entries.empty()) {
        fs::rename(work.path() + "/" + own_name(), folder + "/" + own_name());
    }
    write_output(folder + "/" + kList, dumped(list, 1) + "\n");
    return results;
}

size_t measure_pack(const std::string &folder, const Say &say) {
    if (!fs::exists(fs::path(folder) / kList)) {
        throw Failure(fmt::format("{}: error: this is no folder of `halyard explore --export`", folder));
    }
    const std::string file = (fs::path(folder) / kResults).string();
    std::map<std::string, Entry> results = read_results(file);
    write_results(file, results);
    std::set<std::string> done;
    for (const auto &r : results) {
        done.insert(r.first);
    }
    std::ofstream out(file, std::ios::app);
    const json list = read_list(folder);
    for (const json &t : list.at("tasks")) {
        try {
            PackedTask(folder, t).measure(
                done,
                [&](const Entry &e) {
                    out << dumped(to_json(e)) << std::endl;  // written, whatever happens then
                    results[PackedTask::key(e)] = e;
                },
                say);
        } catch (const Failure &e) {
            say(e.what());
        }
        check_signals();
    }
    out.close();
    if (!out) {
        throw Failure(fmt::format("{}: error: cannot be written", file));
    }
    write_results(file, results);
    return size_t(std::count_if(results.begin(), results.end(), [](const auto &r) { return r.second.measured.ok(); }));
}

}  // namespace halyard::explore
