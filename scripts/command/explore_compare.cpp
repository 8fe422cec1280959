#include "explore_compare.h"

#include <filesystem>

#include <fmt/format.h>

#include "commands.h"
#include "database.h"
#include "failure.h"
#include "schedules.h"
#include "targets.h"
#include "terminal.h"
#include "text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

std::string place_of(const std::string &target) {
    return is_cuda(target) ? "cuda" : "cpu";
}

}  // namespace

std::vector<explore::Contender> contenders_of(const CommonOptions &options, const explore::Task &task,
                                              const std::vector<std::string> &schedules) {
    std::vector<explore::Contender> contenders;
    const std::string place = place_of(task.target);
    for (const auto &name : schedules) {
        const GenerateRequest request = options.request(task.op, name, &task.shape);
        const std::string file = find_schedule(task.op, request.schedule, place);
        explore::Contender c;
        c.name = schedule_name(file);
        c.candidate.origin = name.empty() ? c.name : name;
        c.candidate.set = request.set;
        for (const auto &p : request.params) {
            if (task.params.count(p.first) == 0) {
                c.candidate.params.insert(p);
            }
        }
        if (file.empty()) {
            c.candidate.lua = fmt::format("return schedule \"{}\" {{ target = \"{}\", apply = function() end }}\n",
                                          task.op, place);
        } else {
            c.candidate.lua = read_file(file);
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
        write_file(html, explore::comparison_html(comparison));
    }
    if (json) {
        fmt::print("{}\n",
                   comparison_json(comparison).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else if (html.empty()) {
        print_comparison(comparison);
    } else {
        fmt::print("{}\n", html);
    }
}

void explore_compare(const CommonOptions &options, const explore::Task &task, const std::vector<std::string> &schedules,
                     bool json, const std::string &html, bool keep) {
    Progress progress;
    const explore::Comparison c = explore::compare(task, contenders_of(options, task, schedules),
                                                   [&](const std::string &what) { progress.say(what); });
    progress.say("");
    if (keep) {
        explore::Database database(options.database());
        for (const auto &a : c.alternatives) {
            database.record(task, a.candidate, a.measured);
        }
    }
    show_comparison(c, json, html);
    for (const auto &a : c.alternatives) {
        if (!a.measured.ok()) {
            throw ExitCode{1};
        }
    }
}

}  // namespace halyard
