#include "explain/explain_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "explain/explain_sentences.h"
#include "explain/explain_words.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

using Row = std::vector<std::string>;

void print_schedule(const Explained &e, bool cold) {
    fmt::print("{}\n", paint(Colour::kBold, fmt::format("{}  {}  {}  {} thread(s)  {}", e.schedule, e.shape, e.type, e.threads,
                                                        cold ? "from memory" : "in the cache")));
    std::vector<Row> rows = {{"stage", "computed at", "again", "flops", "registers r/w", "L1 r/w", "L2 r/w", "L3 r/w", "DRAM r/w", "instr",
                              "predicted", "limit", "measured", "floor"}};
    const auto time_cells = [&](Row &row, const Cost &c, double core, double floor) {
        row.push_back(core > 0 ? seconds_text(core) : "-");
        row.push_back(seconds_text(c.predicted));
        row.push_back(c.limit == kInstructions ? "instr" : limit_name(c.limit));
        row.push_back(c.measured ? seconds_text(*c.measured) : "-");
        row.push_back(seconds_text(floor));
    };
    double core = 0;
    Bytes registers;
    for (const auto &s : e.stages) {
        const Cost &c = cold ? s.cold : s.warm;
        Row row = {s.name, place_text(s), s.recomputed ? fmt::format("{:.2f}", *s.recomputed) : "-", flops_text(s.flops),
                   moved_text(s.registers)};
        for (const Bytes &b : c.bytes) {
            row.push_back(moved_text(b));
        }
        double floor = s.flops_seconds;
        for (int l = kL2; l < kLevels; l++) {
            floor = std::max(floor, c.seconds[size_t(l)]);
        }
        time_cells(row, c, s.core_seconds, floor);
        rows.push_back(row);
        core += s.core_seconds;
        registers.read += s.registers.read;
        registers.written += s.registers.written;
    }
    const Cost &c = cold ? e.cold : e.warm;
    Row row = {"all", "", "", flops_text(e.flops), moved_text(registers)};
    for (const Bytes &b : c.bytes) {
        row.push_back(moved_text(b));
    }
    time_cells(row, c, core, cold ? e.cold_floor : e.warm_floor);
    rows.push_back(row);
    print_rows(rows, 2);
}

nlohmann::json to_json(const Bytes &b) {
    return {{"read", b.read}, {"written", b.written}};
}

nlohmann::json to_json(const Cost &c, const Explained::InTurns &turns = {}) {
    nlohmann::json j = {{"predicted_seconds", c.predicted},
                        {"limit", limit_name(c.limit)},
                        {"measured_seconds", nullptr},
                        {"bytes", nlohmann::json::object()},
                        {"seconds", nlohmann::json::object()}};
    if (c.measured) {
        j["measured_seconds"] = *c.measured;
    }
    if (turns.contest) {
        j["middle_half"] = {turns.timing().lower, turns.timing().upper};
        j["rounds"] = turns.timing().samples;
    }
    for (int l = 0; l < kLevels; l++) {
        j["bytes"][kLevelNames[l]] = to_json(c.bytes[size_t(l)]);
        j["seconds"][kLevelNames[l]] = c.seconds[size_t(l)];
    }
    return j;
}

nlohmann::json stage_json(const ExplainedStage &s) {
    nlohmann::json j = {{"stage", s.name},
                        {"func", s.func},
                        {"computed_at", s.place},
                        {"flops", s.flops},
                        {"scalar_flops", s.scalar_flops},
                        {"elements", s.elements},
                        {"masked", s.masked},
                        {"footprint", s.footprint},
                        {"allocated", s.allocated},
                        {"page_fault_seconds", s.page_seconds},
                        {"registers", to_json(s.registers)},
                        {"instruction_seconds", s.core_seconds},
                        {"flops_seconds", s.flops_seconds},
                        {"from_mca", s.core_from_mca},
                        {"cycles", s.cycles},
                        {"loop", s.loop},
                        {"held_up_by", s.limit_text},
                        {"recomputed", nullptr},
                        {"warm", to_json(s.warm)},
                        {"cold", to_json(s.cold)}};
    if (s.recomputed) {
        j["recomputed"] = *s.recomputed;
    }
    if (s.line > 0) {
        j["file"] = s.file;
        j["line"] = s.line;
        j["source"] = s.source;
    }
    return j;
}

nlohmann::json schedule_json(const Explained &e, const Machine &machine) {
    nlohmann::json stages = nlohmann::json::array(), loops = nlohmann::json::array(), inlined = nlohmann::json::array();
    for (const auto &s : e.stages) {
        stages.push_back(stage_json(s));
    }
    for (const auto &l : e.loops) {
        loops.push_back({{"loop", l.name},
                         {"entries", l.entries},
                         {"iterations", l.iterations},
                         {"parallel", l.parallel},
                         {"innermost", l.innermost},
                         {"footprint", l.footprint},
                         {"cycles", l.mca.cycles},
                         {"instructions", l.mca.instructions},
                         {"held_up_by", l.mca.limit},
                         {"stage", l.stage < 0 ? "" : e.stages[size_t(l.stage)].name}});
        if (l.share) {
            loops.back()["share"] = *l.share;
        }
    }
    for (const auto &i : e.inlined) {
        inlined.push_back({{"func", i.func}, {"computed", i.times}, {"free", i.free}});
    }
    nlohmann::json j = {{"op", e.op},
                        {"schedule", e.schedule},
                        {"script", e.script},
                        {"shape", e.shape},
                        {"type", e.type},
                        {"target", e.target},
                        {"threads", e.threads},
                        {"stages", stages},
                        {"loops", loops},
                        {"inlined", inlined},
                        {"side_by_side", e.side_by_side},
                        {"nest", e.nest},
                        {"notes", e.notes},
                        {"flops", e.flops},
                        {"needed_bytes", e.needed_bytes},
                        {"footprint", e.footprint},
                        {"warm", to_json(e.warm, e.warm_turns)},
                        {"cold", to_json(e.cold, e.cold_turns)},
                        {"about", about_schedule(e, machine)}};
    j["warm"]["floor_seconds"] = e.warm_floor;
    j["cold"]["floor_seconds"] = e.cold_floor;
    j["mca"] = {{"program", e.mca_program}, {"processor", e.mca_processor}, {"error", e.mca_error}};
    j["samples"] = {{"count", e.samples}, {"error", e.sample_error}};
    j["page_faults"] = {{"count", e.counters.page_faults}, {"seconds", e.page_seconds}};
    j["counters"] = {{"available", e.counters.available}, {"why_not", e.counters.why_not}};
    if (e.counters.available) {
        j["counters"].update({{"cycles", e.counters.cycles},
                              {"instructions", e.counters.instructions},
                              {"cache_references", e.counters.cache_references},
                              {"cache_misses", e.counters.cache_misses}});
    }
    return j;
}

}  // namespace

void print_explanation(const std::vector<Explained> &all, const Machine &machine, bool cold) {
    for (const auto &e : all) {
        print_schedule(e, cold);
        print_about(e, about_schedule(e, machine));
    }
    print_comparisons(all, [&](const Explained &other) { return compare(all.front(), other, machine); });
    for (const auto &line : about_turns(all)) {
        fmt::print("{}\n", paint(starts_with(line, "Warning") ? Colour::kYellow : Colour::kDim, line));
    }
    const Explained &e = all.front();
    const auto dim = [](const std::string &line) { fmt::print("{}\n", paint(Colour::kDim, line)); };
    std::string levels;
    for (const auto &l : machine.levels) {
        levels += fmt::format("{}{} {:.0f} / {:.0f}", levels.empty() ? "" : ", ", l.name, l.read / 1e9, l.written / 1e9);
    }
    dim(fmt::format("GB/s read / written: {}; {:.0f} GFLOP/s; {:.2f} GHz", levels, machine.flops / 1e9, machine.hertz / 1e9));
    if (!e.mca_error.empty()) {
        dim("llvm-mca: " + e.mca_error);
    }
    for (const auto &x : all) {
        if (x.counters.available) {
            dim(fmt::format("counters of one call of {}: {:.3g} cycles, {:.3g} instructions, {:.3g} cache misses", x.schedule,
                            x.counters.cycles, x.counters.instructions, x.counters.cache_misses));
        }
    }
    if (!e.counters.available && !e.counters.why_not.empty()) {
        dim("no hardware counters: " + e.counters.why_not);
    }
    if (!e.sample_error.empty()) {
        dim("no measured times of stages: " + e.sample_error);
    } else if (e.samples > 0) {
        dim(fmt::format("times of stages: {} looks at the program counter, on one thread", e.samples));
    }
}

nlohmann::json explanation_json(const std::vector<Explained> &all, const Machine &machine) {
    nlohmann::json levels = nlohmann::json::array(), schedules = nlohmann::json::array();
    nlohmann::json comparison = nlohmann::json::array();
    for (const auto &l : machine.levels) {
        levels.push_back({{"name", l.name}, {"bytes", l.bytes}, {"read", l.read}, {"written", l.written}});
    }
    for (const auto &e : all) {
        schedules.push_back(schedule_json(e, machine));
    }
    for (size_t i = 1; i < all.size(); i++) {
        comparison.push_back(
            {{"schedule", all.front().schedule}, {"against", all[i].schedule}, {"sentences", compare(all.front(), all[i], machine)}});
    }
    nlohmann::json turns = nullptr;
    if (const auto &warm = all.front().warm_turns.contest) {
        const auto &cold = all.front().cold_turns.contest;
        turns = {{"about", about_turns(all)}, {"noise", {{"warm", warm->noise}, {"cold", cold->noise}}}, {"busy", warm->busy + cold->busy}};
    }
    return {{"turns", turns},
            {"machine", {{"levels", levels}, {"hertz", machine.hertz}, {"flops", machine.flops}, {"threads", machine.threads}}},
            {"schedules", schedules},
            {"comparison", comparison}};
}

}  // namespace halyard
