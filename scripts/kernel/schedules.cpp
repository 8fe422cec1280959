#include "kernel/schedules.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/paths.h"
#include "kernel/text.h"

namespace halyard {

namespace fs = std::filesystem;

const char *const kNoSchedule = "none";

std::vector<ScheduleFile> schedules_of(const std::string &op) {
    std::vector<ScheduleFile> found;
    for (const char *place : {"cpu", "cuda"}) {
        std::error_code error;
        for (const auto &entry : fs::directory_iterator(fs::path(paths().schedules) / place, error)) {
            const std::string name = entry.path().stem().string();
            if (entry.path().extension() == ".lua" && (name == op || starts_with(name, op + "."))) {
                found.push_back({name, place, entry.path().string()});
            }
        }
    }
    std::sort(found.begin(), found.end(),
              [](const ScheduleFile &a, const ScheduleFile &b) { return a.place != b.place ? a.place < b.place : a.name < b.name; });
    return found;
}

std::string find_schedule(const std::string &op, const std::string &wanted, const std::string &place) {
    if (wanted == kNoSchedule) {
        return "";
    }
    if (ends_with(wanted, ".lua") || wanted.find('/') != std::string::npos) {
        std::error_code error;
        if (!fs::is_regular_file(wanted, error)) {
            throw Failure(fmt::format("{}: error: there is no such file", wanted));
        }
        return wanted;
    }
    std::vector<std::string> names = {kNoSchedule};
    for (const auto &s : schedules_of(op)) {
        if (s.place != place) {
            continue;
        }
        if (s.name == wanted || s.name == op + "." + wanted || (wanted.empty() && s.name == op)) {
            return s.path;
        }
        names.push_back(s.name == op ? op : s.name.substr(op.size() + 1));
    }
    if (wanted.empty()) {
        throw Failure(fmt::format("{}/{}/{}.lua: error: the op \"{}\" has no schedule there; name one with --schedule "
                                  "(none takes the generator as it is)",
                                  paths().schedules, place, op, op));
    }
    const std::string hint = did_you_mean(wanted, names);
    throw UsageError(fmt::format("{} has no schedule \"{}\" in {}/{}; there are {}{}", op, wanted, paths().schedules, place,
                                 quoted_list(names), hint.empty() ? "" : "\n  " + hint));
}

std::string schedule_name(const std::string &path) {
    return path.empty() ? kNoSchedule : fs::path(path).stem().string();
}

}  // namespace halyard
