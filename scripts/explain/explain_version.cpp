#include "explain/explain_version.h"

#include <fmt/format.h>

namespace halyard {

namespace {

using nlohmann::json;

// Of a rule that is long to read, only the numbers.
std::string with_sizes(const json &version, const std::string &condition) {
    constexpr size_t kLong = 200;
    const std::string rule = version.at(condition), here = version.at(condition == "when" ? "with_sizes" : "fails_with_sizes");
    return rule.size() > kLong ? fmt::format("{}, with the sizes put into a rule that --json has", here)
                               : fmt::format("{}, here {}", rule, here);
}

std::string why_not(const json &version) {
    return version.contains("cost") ? fmt::format("it costs more, {}", version.at("cost").get<int64_t>())
                                    : "this does not hold: " + with_sizes(version, "fails");
}

}  // namespace

std::vector<std::string> about_version(const Explained &e) {
    if (e.version.is_null()) {
        return {};
    }
    const json &all = e.version.at("versions");
    const size_t taken = e.version.at("taken");
    const json &version = all.at(taken);
    const std::string set = version.at("set");
    const std::string rule = version.contains("cost")   ? fmt::format("taken because it costs least, {}", version.at("cost").get<int64_t>())
                             : version.contains("when") ? "taken because " + with_sizes(version, "when")
                                                        : "taken because it is the last, for calls that none before it is for";
    std::vector<std::string> lines = {
        fmt::format("Version {} of {}: {}; {}.", taken + 1, all.size(), set.empty() ? "the defaults" : set, rule)};
    for (size_t first = 0, next = 0; first < taken; first = next) {
        const std::string why = why_not(all[first]);
        for (next = first + 1; next < taken && why_not(all[next]) == why;) {
            next++;
        }
        const std::string which = next == first + 1   ? fmt::format("Version {} is", next)
                                  : next == first + 2 ? fmt::format("Versions {} and {} are", first + 1, next)
                                                      : fmt::format("Versions {} to {} are", first + 1, next);
        lines.push_back(fmt::format("{} not taken because {}.", which, why));
    }
    return lines;
}

}  // namespace halyard
