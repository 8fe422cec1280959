#include "command/explore_compare.h"

#include <filesystem>

#include <fmt/format.h>

#include "command/commands.h"
#include "explore/space/halide.h"
#include "explore/store/database.h"
#include "command/explore_device.h"
#include "kernel/failure.h"
#include "explore/measure/pack.h"
#include "kernel/place.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

// Explanations are of scripts.
explore::Candidate own_in_words(const explore::Task &task) {
    explore::Candidate c = explore::own_candidate();
    const explore::OwnSchedule s = explore::own_schedule(task);
    if (s.lua.empty()) {
        throw Failure(
            fmt::format("{}: error: its own schedule is not in words: {}\n  --beside own times it in a search", task.op, s.problem));
    }
    c.own = false;
    c.lua = s.lua;
    return c;
}

std::string place_of(const std::string &target) {
    return is_cuda(target) ? "cuda" : "cpu";
}

// Shows it, and keeps what was measured here.
void finish(const ExploreOptions &o, const explore::Task &task, const explore::Comparison &c, bool measured_here) {
    if (o.keep && measured_here) {
        explore::Database database(o.database());
        for (const auto &a : c.alternatives) {
            database.record(task, a.candidate, a.measured);
        }
    }
    show_comparison(c, o.json, o.html);
    for (const auto &a : c.alternatives) {
        if (a.failed()) {
            if (!o.html.empty()) {
                print_error(fmt::format("{}: {}: {}", a.name, explore::status_name(a.measured.status), a.measured.message));
            }
            throw ExitCode{1};
        }
    }
}

}  // namespace

std::vector<explore::Contender> contenders_of(const CommonOptions &options, const explore::Task &task,
                                              const std::vector<std::string> &schedules) {
    std::vector<explore::Contender> contenders;
    const std::string place = place_of(task.target);
    for (const auto &name : schedules) {
        if (name == explore::kOwn) {
            contenders.push_back({name, own_in_words(task)});
            continue;
        }
        const GenerateRequest request = options.request(task.op, name, &task.shape);
        const std::string file = find_schedule(task.op, request.schedule, place);
        explore::Contender c;
        c.name = schedule_name(file);
        c.file = file;
        c.candidate.origin = name.empty() ? c.name : name;
        c.candidate.set = request.set;
        for (const auto &p : request.params) {
            if (task.params.count(p.first) == 0) {
                c.candidate.params.insert(p);
            }
        }
        if (file.empty()) {
            c.candidate.lua = fmt::format("return schedule \"{}\" {{ target = \"{}\", apply = function() end }}\n", task.op, place);
        } else {
            c.candidate.lua = read_file(file, size_t(1) << 20);  // as the language has it
            c.candidate.folder = fs::absolute(file).parent_path().lexically_normal().string();
            // What ships, and what the database holds, requires nothing but the library.
            if (request.lib_dirs.empty() && !ends_with(name, ".lua") && name.find('/') == std::string::npos) {
                c.candidate.folder.clear();
            }
        }
        contenders.push_back(std::move(c));
    }
    return contenders;
}

void show_comparison(const explore::Comparison &comparison, bool json, const std::string &html) {
    if (!html.empty()) {
        write_output(html, explore::comparison_html(comparison));
    }
    if (json && !html.empty()) {
        fmt::print(stderr, "{}\n", html);
    }
    if (json) {
        fmt::print("{}\n", comparison_json(comparison).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else if (html.empty()) {
        print_comparison(comparison);
    } else {
        fmt::print("{}\n", html);
    }
}

void explore_compare(const ExploreOptions &o, explore::Task task) {
    Progress progress;
    const auto say = [&](const std::string &what) { progress.say(what); };
    if (!is_cuda(task.target)) {
        const explore::Comparison c = explore::compare(task, contenders_of(o, task, o.compare), say);
        progress.say("");
        finish(o, task, c, true);
        return;
    }
    if (o.threads > 1) {
        throw UsageError("--threads is for the host, not for CUDA");
    }
    const auto contenders = contenders_of(o, task, o.compare);
    const explore::OnDevice device = compared_device(o, o.machine, task);
    const explore::Comparison c = explore::compare_on_device(task, contenders, device, say);
    if (!o.folder.empty()) {
        std::vector<explore::Candidate> candidates;
        for (const auto &a : c.alternatives) {
            if (!a.failed()) {
                candidates.push_back(a.candidate);
            }
        }
        if (!candidates.empty()) {
            explore::write_pack(task, candidates, o.folder, say);
        }
        progress.say("");
        fmt::print(stderr,
                   "{} schedules in {}; there: ./measure, here then: halyard db import {}/results.jsonl, and the same "
                   "again\n",
                   candidates.size(), o.folder, o.folder);
    }
    progress.say("");
    finish(o, task, c, device.measure);
}

}  // namespace halyard
