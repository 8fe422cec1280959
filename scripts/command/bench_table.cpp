#include "command/bench_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct State {
    const char *cache;
    const Timing &timing;
    double floor, times, noise;
    bool tie;
    const std::string &verdict;
};

std::vector<State> states(const BenchRow &r) {
    return {{"warm", r.warm, r.warm_floor, r.warm_times, r.warm_noise, r.warm_tie, r.warm_verdict},
            {"cold", r.cold, r.cold_floor, r.cold_times, r.cold_noise, r.cold_tie, r.cold_verdict}};
}

nlohmann::json record(const BenchRow &row, const State &s) {
    return {{"op", row.op},
            {"shape", row.shape},
            {"type", row.type},
            {"target", row.target},
            {"schedule", row.schedule},
            {"threads", row.threads},
            {"seconds", s.timing.median},
            {"middle_half", {s.timing.lower, s.timing.upper}},
            {"samples", s.timing.samples},
            {"floor_seconds", s.floor},
            {"roof_fraction", s.floor / s.timing.median},
            {"peer", nullptr},
            {"peer_seconds", nullptr},
            {"ratio", nullptr},
            {"cache", s.cache},
            {"times", s.times},
            {"tie", s.tie},
            {"noise", s.noise},
            {"busy", row.busy}};
}

std::string time_text(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.4g} us", seconds * 1e6)
           : seconds < 1  ? fmt::format("{:.4g} ms", seconds * 1e3)
                          : fmt::format("{:.4g} s", seconds);
}

// "41.2 us", or "*41.2 us" where that is below the floor.
std::vector<std::string> cells(const BenchRow &r) {
    const double work = r.arithmetic_bound ? r.flops : r.bytes;
    const char *unit = r.arithmetic_bound ? "GFLOP/s" : "GB/s";
    std::vector<std::string> all = {r.op, r.shape, r.type, r.schedule, std::to_string(r.threads)};
    for (const State &s : states(r)) {
        const double m = s.timing.median;
        const bool below = m < s.floor;
        all.insert(all.end(),
                   {time_text(m), fmt::format("-{:.0f} +{:.0f} %", 100 * (1 - s.timing.lower / m), 100 * (s.timing.upper / m - 1)),
                    fmt::format("{:.4g} {}", work / m * 1e-9, unit), fmt::format("{}{:.0f}%", below ? "*" : "", 100 * s.floor / m)});
    }
    return all;
}

// What stands below the table: who is faster, by what, and what to think of it.
void print_verdicts(const std::vector<BenchRow> &rows) {
    std::string busy;
    bool below = false, compared = false;
    for (const auto &r : rows) {
        busy = busy.empty() ? r.busy : busy;
        for (const State &s : states(r)) {
            below = below || s.timing.median < s.floor;
            if (!s.verdict.empty()) {
                fmt::print("{}{} {}, {} thread{}, {}: {}.\n", compared ? "" : "\n", r.op, r.shape, r.threads, r.threads == 1 ? "" : "s",
                           s.cache, s.verdict);
                compared = true;
            }
        }
    }
    std::vector<std::string> notes;
    if (compared) {
        notes.emplace_back("Schedules took turns in an order drawn anew each round. In brackets: where the ratio lies in 19 of 20 runs; "
                           "noise: by how much the first schedule differed from itself in the same rounds.");
    }
    if (below) {
        notes.emplace_back("* Below the floor: the roof is a copy and a multiply-add peak that were measured at another time. Measure them "
                           "again on a quiet machine (--measure-again), or the data is in a faster cache than its size says.");
    }
    for (const auto &note : notes) {
        fmt::print("{}\n", paint(Colour::kDim, note));
    }
    if (!busy.empty()) {
        fmt::print("{}\n", paint(Colour::kYellow, "Warning: " + busy));
    }
}

}  // namespace

nlohmann::json table_json(const std::vector<BenchRow> &rows) {
    nlohmann::json records = nlohmann::json::array();
    for (const auto &row : rows) {
        for (const State &s : states(row)) {
            records.push_back(record(row, s));
        }
    }
    return records;
}

void print_table(const std::vector<BenchRow> &rows) {
    std::vector<std::vector<std::string>> table = {{"op", "shape", "type", "schedule", "threads", "warm", "middle half", "rate",
                                                    "% of roof", "cold", "middle half", "rate", "% of roof"}};
    constexpr size_t kFirstNumber = 4;
    for (const auto &row : rows) {
        table.push_back(cells(row));
    }
    std::vector<size_t> width(table.front().size());
    for (const auto &line : table) {
        for (size_t c = 0; c < line.size(); c++) {
            width[c] = std::max(width[c], columns(line[c]));
        }
    }
    for (size_t l = 0; l < table.size(); l++) {
        std::string text;
        for (size_t c = 0; c < table[l].size(); c++) {
            const std::string pad(width[c] - columns(table[l][c]), ' ');
            text += (c == 0 ? "" : "  ") + (c < kFirstNumber ? table[l][c] + pad : pad + table[l][c]);
        }
        fmt::print("{}\n", l == 0 ? paint(Colour::kBold, text) : text);
    }
    print_verdicts(rows);
}

}  // namespace halyard
