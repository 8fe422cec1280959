// A comparison for a terminal and for programs.

#include <algorithm>

#include <fmt/format.h>

#include "compare.h"
#include "entry.h"
#include "explain_words.h"
#include "terminal.h"
#include "text.h"

namespace halyard::explore {

namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

// Columns as wide as their widest cell, the first to the left.
void print_rows(const std::vector<Row> &rows) {
    std::vector<size_t> widths;
    for (const auto &row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); i++) {
            widths[i] = std::max(widths[i], columns(row[i]));
        }
    }
    for (size_t r = 0; r < rows.size(); r++) {
        std::string line;
        for (size_t i = 0; i < rows[r].size(); i++) {
            const std::string blanks(widths[i] - columns(rows[r][i]), ' ');
            line += i == 0 ? rows[r][i] + blanks : "  " + blanks + rows[r][i];
        }
        fmt::print("{}\n", paint(r == 0 ? Colour::kBold : Colour::kNone, trim(line)));
    }
}

// "3 at root, 4 fused, 1 inlined"
std::string fusion_text(const Explained &e) {
    int root = 0, fused = 0, inlined = 0;
    for (const auto &f : fusion_of(e)) {
        (f.second == "root" ? root : f.second == "inlined" ? inlined : fused)++;
    }
    return fmt::format("{} / {} / {}", root, fused, inlined);
}

json alternative_json(const Alternative &a) {
    json j = {{"name", a.name},
              {"id", a.candidate.id()},
              {"origin", a.candidate.origin},
              {"lua", a.candidate.lua},
              {"params", a.candidate.params},
              {"set", a.candidate.set},
              {"measured", to_json(a.measured)},
              {"seconds", nullptr},
              {"predicted", nullptr},
              {"floor", nullptr},
              {"bytes", nullptr},
              {"fusion", nullptr}};
    if (a.measured.ok()) {
        j["seconds"] = a.seconds();
    }
    if (a.explained) {
        const Explained &e = *a.explained;
        j["predicted"] = e.warm.predicted;
        j["floor"] = e.warm_floor;
        j["limit"] = limit_name(e.warm.limit);
        j["bytes"] = json::object();
        for (int l = 0; l < kLevels; l++) {
            j["bytes"][kLevelNames[l]] = e.warm.bytes[size_t(l)].both();
        }
        j["fusion"] = fusion_of(e);
    }
    return j;
}

}  // namespace

void print_comparison(const Comparison &c) {
    fmt::print("{}\n", paint(Colour::kBold, fmt::format("{}  {}  {} thread(s)", c.task.op, shape_key(c.task.shape),
                                                        c.task.threads)));
    std::vector<Row> rows = {{"schedule", "predicted", "measured", "of best", "floor", "L1", "L2", "L3", "DRAM",
                              "limit", "root/fused/inlined"}};
    const double best = c.alternatives.empty() ? 0 : c.alternatives.front().seconds();
    for (const auto &a : c.alternatives) {
        if (!a.measured.ok()) {
            rows.push_back({a.name, "-", status_name(a.measured.status)});
            continue;
        }
        Row row = {a.name, a.explained ? seconds_text(a.explained->warm.predicted) : "-", seconds_text(a.seconds()),
                   fmt::format("{:.2f}x", a.seconds() / std::max(best, 1e-12))};
        if (a.explained) {
            const Explained &e = *a.explained;
            row.push_back(seconds_text(e.warm_floor));
            for (const Bytes &b : e.warm.bytes) {
                row.push_back(b.both() < 0.5 ? "-" : bytes_text(b.both()));
            }
            row.push_back(limit_name(e.warm.limit));
            row.push_back(fusion_text(e));
        }
        rows.push_back(row);
    }
    print_rows(rows);
    for (const auto &a : c.alternatives) {
        if (!a.measured.ok()) {
            fmt::print("{}: {}: {}\n", a.name, status_name(a.measured.status), a.measured.message);
        }
    }
    if (!c.why.empty()) {
        fmt::print("\n{}\n", paint(Colour::kBold, "Why " + c.alternatives.front().name));
    }
    for (const auto &line : c.why) {
        fmt::print("  {}\n", line);
    }
}

json comparison_json(const Comparison &c) {
    json alternatives = json::array();
    for (const auto &a : c.alternatives) {
        alternatives.push_back(alternative_json(a));
    }
    return {{"op", c.task.op},
            {"shape", shape_key(c.task.shape)},
            {"params", c.task.params},
            {"target", c.task.target},
            {"machine", this_machine()},
            {"threads", c.task.threads},
            {"alternatives", alternatives},
            {"why", c.why}};
}

}  // namespace halyard::explore
