#include "command/bench_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

nlohmann::json record(const BenchRow &row, const char *cache, const Timing &timing, double floor) {
    return {{"op", row.op},
            {"shape", row.shape},
            {"type", row.type},
            {"target", row.target},
            {"schedule", row.schedule},
            {"threads", row.threads},
            {"seconds", timing.median},
            {"floor_seconds", floor},
            {"roof_fraction", floor / timing.median},
            {"peer", nullptr},
            {"peer_seconds", nullptr},
            {"ratio", nullptr},
            {"cache", cache}};
}

std::string time_text(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.4g} us", seconds * 1e6)
           : seconds < 1  ? fmt::format("{:.4g} ms", seconds * 1e3)
                          : fmt::format("{:.4g} s", seconds);
}

std::vector<std::string> cells(const BenchRow &r) {
    const double work = r.arithmetic_bound ? r.flops : r.bytes;
    const char *unit = r.arithmetic_bound ? "GFLOP/s" : "GB/s";
    const auto rate = [&](const Timing &t) { return fmt::format("{:.4g} {}", work / t.median * 1e-9, unit); };
    const auto percent = [](double x) { return fmt::format("{:.0f}%", 100 * x); };
    return {r.op,
            r.shape,
            r.type,
            r.schedule,
            std::to_string(r.threads),
            time_text(r.warm.median),
            time_text(r.warm.minimum),
            percent(r.warm.spread),
            rate(r.warm),
            percent(r.warm_floor / r.warm.median),
            time_text(r.cold.median),
            time_text(r.cold.minimum),
            percent(r.cold.spread),
            rate(r.cold),
            percent(r.cold_floor / r.cold.median)};
}

}  // namespace

nlohmann::json table_json(const std::vector<BenchRow> &rows) {
    nlohmann::json records = nlohmann::json::array();
    for (const auto &row : rows) {
        records.push_back(record(row, "warm", row.warm, row.warm_floor));
        records.push_back(record(row, "cold", row.cold, row.cold_floor));
    }
    return records;
}

void print_table(const std::vector<BenchRow> &rows) {
    std::vector<std::vector<std::string>> table = {{"op", "shape", "type", "schedule", "threads", "warm", "min", "spread", "rate",
                                                    "% of roof", "cold", "min", "spread", "rate", "% of roof"}};
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
}

}  // namespace halyard
