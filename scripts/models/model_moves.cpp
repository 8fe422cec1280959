#include "models/model_moves.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace halyard {

using nlohmann::json;

double prior_gain(const std::string &kind) {
    static const std::map<std::string, double> parts = {{"set", 0.06}, {"variant", 0.04}, {"join", 0.05}, {"split", 0.03}, {"op", 0.02}};
    const auto found = parts.find(kind);
    return found == parts.end() ? 0 : found->second;
}

GroupTimes by_group(const json &report, const ModelTimes &times) {
    std::map<std::string, double> made;
    size_t call = 0;
    for (const auto &g : report.at("groups")) {
        const bool is_call = !g.value("kernel", "").empty();
        made[g.at("name")] = is_call && call < times.calls.size() ? times.calls[call] : 0;
        call += is_call;
    }
    return made;
}

double sum(const GroupTimes &times, const json &names) {
    double total = 0;
    for (const auto &n : names) {
        const auto found = times.find(n.get<std::string>());
        total += found == times.end() ? 0 : found->second;
    }
    return total;
}

double noise(const json &moves, const GroupTimes &before, const GroupTimes &after) {
    std::set<std::string> touched;
    for (const auto &m : moves) {
        for (const char *of : {"old", "new"}) {
            for (const auto &n : m.at(of)) {
                touched.insert(n.get<std::string>());
            }
        }
    }
    std::vector<double> off;
    for (const auto &[name, old] : before) {
        const auto now = after.find(name);
        if (touched.count(name) == 0 && now != after.end() && old > 1e-6 && now->second > 0) {
            off.push_back(std::abs(1 - now->second / old));
        }
    }
    std::sort(off.begin(), off.end());
    return off.empty() ? 0 : std::min(off[off.size() * 4 / 5], 0.3);
}

std::string kind_of(const json &move) {
    return move.at("kind").get<std::string>() + ":" + move.value("name", "") + move.value("variant", "") + move.value("op", "");
}

std::string text_of(const json &m) {
    const std::string kind = m.at("kind");
    const auto &names = m.at("old");
    const size_t each = kind == "join" ? 2 : 1, count = names.size() / each;
    std::string what = names[0];
    if (kind == "join") {
        what += " with " + names[1].get<std::string>();
    }
    const std::string more = count > 1 ? fmt::format(" and {} more", count - 1) : "";
    const std::string how = kind == "set"       ? fmt::format("{} = {}, was {}", m.at("name").get<std::string>(),
                                                              m.at("value").get<std::string>(), m.at("was").get<std::string>())
                            : kind == "variant" ? "variant " + m.at("variant").get<std::string>()
                            : kind == "op"      ? (m.at("op") == "graph" ? "the general generator" : "an op of Halyard")
                            : kind == "join"    ? "together"
                                                : "in two";
    return fmt::format("{}{}: {}", what, more, how);
}

}  // namespace halyard
