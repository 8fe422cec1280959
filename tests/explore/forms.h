#ifndef HALYARD_TESTS_EXPLORE_FORMS_H
#define HALYARD_TESTS_EXPLORE_FORMS_H

/** \file
 * Which of many schedules that rules write are worth a library: those with lines of a form that the others have not.
 */

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "kernel/text.h"

namespace explore_test {

/** The forms of a schedule's lines: names of Funcs, stages and loops, and numbers, are all the same. */
inline std::set<std::string> forms_of(const std::string &lua) {
    static const std::regex names("k\\.\\w+|\"(?!guard\"|shift_inwards\"|stack\"|heap\")[^\"]*\"(, *\"[^\"]*\")*|\\w+_\\w+|\\b\\d+\\b"),
        spaces("^ +");
    std::set<std::string> forms;
    for (const std::string &line : halyard::split(lua, '\n')) {
        const std::string code = std::regex_replace(line.substr(0, line.find("--")), spaces, "");
        if (!code.empty()) {
            forms.insert(std::regex_replace(code, names, "N"));
        }
    }
    return forms;
}

/** The places of those schedules that have between them the forms that more than one new line tells apart: the next one is the one that
 * brings most, until none brings two. With HALYARD_PROPOSALS=all in the environment, as of a night, those of all. */
inline std::vector<size_t> telling(const std::vector<std::string> &schedules) {
    constexpr size_t kNews = 2;
    std::vector<std::set<std::string>> forms;
    std::vector<size_t> left, taken;
    for (const std::string &lua : schedules) {
        left.push_back(forms.size());
        forms.push_back(forms_of(lua));
    }
    if (std::getenv("HALYARD_PROPOSALS")) {
        return left;
    }
    std::set<std::string> seen;
    const auto news = [&](size_t place) {
        return size_t(std::count_if(forms[place].begin(), forms[place].end(), [&](const auto &form) { return seen.count(form) == 0; }));
    };
    while (!left.empty()) {
        const auto best = std::max_element(left.begin(), left.end(), [&](size_t a, size_t b) { return news(a) < news(b); });
        if (news(*best) < kNews) {
            break;
        }
        taken.push_back(*best);
        seen.insert(forms[*best].begin(), forms[*best].end());
        left.erase(best);
    }
    return taken;
}

}  // namespace explore_test

#endif
