#include "pairs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <set>

namespace ops_test {

namespace {

using Row = std::vector<size_t>;     // a value for each choice
using Pair = std::array<size_t, 4>;  // choice, value, choice, value

std::set<Pair> pairs_of(const Row &row) {
    std::set<Pair> pairs;
    for (size_t a = 0; a < row.size(); a++) {
        for (size_t b = a + 1; b < row.size(); b++) {
            pairs.insert({a, row[a], b, row[b]});
        }
    }
    return pairs;
}

std::set<Pair> every_pair(const std::vector<Choice> &choices) {
    std::set<Pair> pairs;
    for (size_t a = 0; a < choices.size(); a++) {
        for (size_t b = a + 1; b < choices.size(); b++) {
            for (size_t v = 0; v < choices[a].values.size(); v++) {
                for (size_t w = 0; w < choices[b].values.size(); w++) {
                    pairs.insert({a, v, b, w});
                }
            }
        }
    }
    return pairs;
}

}  // namespace

std::vector<Assignments> all_pairs(const std::vector<Choice> &choices) {
    std::mt19937 random(1);
    std::set<Pair> missing = every_pair(choices);
    std::vector<Assignments> rows;
    while (!missing.empty()) {
        // The best of some random rows that hold a missing pair.
        Row best;
        size_t best_gain = 0;
        for (int trial = 0; trial < 100; trial++) {
            Row row;
            for (const auto &choice : choices) {
                row.push_back(random() % choice.values.size());
            }
            const Pair &pair = *std::next(missing.begin(), long(random() % missing.size()));
            row[pair[0]] = pair[1];
            row[pair[2]] = pair[3];
            size_t gain = 0;
            for (const auto &p : pairs_of(row)) {
                gain += missing.count(p);
            }
            if (gain > best_gain) {
                best = row;
                best_gain = gain;
            }
        }
        for (const auto &p : pairs_of(best)) {
            missing.erase(p);
        }
        Assignments assignments;
        for (size_t c = 0; c < choices.size(); c++) {
            assignments[choices[c].name] = choices[c].values[best[c]];
        }
        rows.push_back(assignments);
    }
    return rows;
}

std::vector<Assignments> with_every_value(const std::vector<Assignments> &all, const Wanted &wanted,
                                          const std::vector<Assignments> &given) {
    using Value = std::pair<std::string, std::string>;
    std::set<Value> missing;
    for (const Assignments &assignments : all) {
        std::copy_if(assignments.begin(), assignments.end(), std::inserter(missing, missing.end()),
                     [&](const auto &value) { return wanted(value.first, value.second); });
    }
    const auto take = [&](const Assignments &assignments) {
        for (const auto &value : assignments) {
            missing.erase(value);
        }
    };
    std::vector<Assignments> kept = given;
    std::for_each(given.begin(), given.end(), take);
    while (!missing.empty()) {
        const auto gain = [&](const Assignments &a) {
            return std::count_if(a.begin(), a.end(), [&](const auto &value) { return missing.count(Value(value)) > 0; });
        };
        const auto best = std::max_element(all.begin(), all.end(), [&](const auto &a, const auto &b) { return gain(a) < gain(b); });
        take(*best);
        kept.push_back(*best);
    }
    // Of the first ones some bring nothing that the later ones have not.
    const auto is_needed = [&](size_t place) {
        return std::any_of(kept[place].begin(), kept[place].end(), [&](const Value &value) {
            const auto has = [&](const Assignments &a) { return a.count(value.first) > 0 && a.at(value.first) == value.second; };
            return wanted(value.first, value.second) && std::count_if(kept.begin(), kept.end(), has) == 1;
        });
    };
    for (size_t place = given.size(); place < kept.size();) {
        if (is_needed(place)) {
            place++;
        } else {
            kept.erase(kept.begin() + long(place));
        }
    }
    return kept;
}

}  // namespace ops_test
