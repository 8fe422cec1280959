// A comparison for a terminal and for programs.

#include <algorithm>

#include <fmt/format.h>

#include "explore/compare/compare.h"
#include "explore/store/entry.h"
#include "explain/explain_device_table.h"
#include "explain/explain_device_words.h"
#include "explain/explain_words.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard::explore {

std::string machine_text(const Comparison &c) {
    return c.gpu ? device_text(*c.gpu) : fmt::format("{} · {} thread(s)", this_machine(), c.task.threads);
}

const char *const kBelowFloor = "* The measured time is below the floor: bandwidths and peaks were measured while the machine was busy "
                                "(explain --measure-again), or what a call reads is in a faster cache than its size says.";

bool any_below_floor(const Comparison &c) {
    return c.measured && std::any_of(c.alternatives.begin(), c.alternatives.end(), [](const Alternative &a) {
               return !a.failed() && a.explained && a.seconds() < a.explained->warm_floor;
           });
}

std::string checked_text(const Alternative &a) {
    std::string text = a.measured.status == Status::kPending ? "not run" : status_name(a.measured.status);
    if (a.measured.ok() && !a.measured.reference.empty()) {
        text += ", as " + a.measured.reference;
    }
    return a.measured.message.empty() ? text : text + ": " + a.measured.message;
}

namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

// "3 at root, 4 fused, 1 inlined"
std::string fusion_text(const Explained &e) {
    int root = 0, fused = 0, inlined = 0;
    for (const auto &f : fusion_of(e)) {
        (f.second == "root" ? root : f.second == "inlined" ? inlined : fused)++;
    }
    return fmt::format("{} / {} / {}", root, fused, inlined);
}

json alternative_json(const Comparison &c, const Alternative &a) {
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
    if (a.measured.ok() && (!c.gpu || (a.explained && a.explained->warm.measured))) {
        j["seconds"] = a.seconds();
        j["against_best"] = &a == &c.alternatives.front() ? "" : verdict(c, c.alternatives.front(), a);
    }
    if (a.turns.contest) {
        j["middle_half"] = {a.turns.timing().lower, a.turns.timing().upper};
        j["rounds"] = a.turns.timing().samples;
        j["noise"] = a.turns.contest->noise;
    }
    if (a.explained && c.gpu) {
        j["predicted"] = a.explained->warm.predicted;
        j["floor"] = a.explained->warm_floor;
        j["limit"] = a.explained->device_limit;
        j["bytes"] = {{"memory", a.explained->warm.bytes[kDram].both()}, {"L2", a.explained->warm.bytes[kL2].both()}};
        j["fusion"] = fusion_of(*a.explained);
        j["explained"] = schedule_json(*a.explained, *c.gpu);
    } else if (a.explained) {
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

std::string middle_half(const Alternative &a) {
    if (!a.turns.contest) {
        return "-";
    }
    const Timing &t = a.turns.timing();
    return fmt::format("-{:.0f} +{:.0f} %", 100 * (1 - t.lower / t.median), 100 * (t.upper / t.median - 1));
}

// "1.23x" as long, or "tie".
std::string compared_text(const Comparison &c, const Alternative &a, const Alternative *best) {
    if (&a == best) {
        return "best";
    }
    const bool turns = c.measured && a.turns.with(best->turns);
    const double times =
        turns ? a.turns.contest->ratio(best->turns.place, a.turns.place).times : c.seconds(a) / std::max(c.seconds(*best), 1e-12);
    return turns && a.turns.contest->tie(best->turns.place, a.turns.place) ? "tie" : fmt::format("{:.2f}x as long", times);
}

// What a call moves and computes: a level of memory each on the host.
Row work_cells(const Comparison &c, const Explained &e) {
    Row cells;
    if (!c.gpu) {
        for (const Bytes &b : e.warm.bytes) {
            cells.push_back(b.both() < 0.5 ? "-" : bytes_text(b.both()));
        }
        cells.push_back(limit_name(e.warm.limit));
        return cells;
    }
    const double tensor = tensor_flops_of(e);
    return {fmt::format("{:g}", launches_of(e)),   bytes_text(e.warm.bytes[kDram].both()), bytes_text(e.warm.bytes[kL2].both()),
            tensor > 0 ? flops_text(tensor) : "-", flops_text(e.flops - tensor),           e.device_limit};
}

// The kernels of each, and whether they compute what they should.
void print_device(const Comparison &c) {
    for (const auto &a : c.alternatives) {
        if (a.explained) {
            fmt::print("\n{} {}\n", paint(Colour::kBold, a.name), paint(Colour::kDim, "(" + checked_text(a) + ")"));
            print_kernels(*a.explained);
        }
    }
}

}  // namespace

std::vector<Row> comparison_rows(const Comparison &c) {
    const Row work = c.gpu ? Row{"launches", "memory", "L2", "tensor flops", "flops", "limit"} : Row{"L1", "L2", "L3", "DRAM", "limit"};
    Row head = {"schedule", "predicted", "measured", "middle half", "against best", "floor"};
    head.insert(head.end(), work.begin(), work.end());
    head.emplace_back("root/fused/inlined");
    std::vector<Row> rows = {head};
    const Alternative *best = c.alternatives.empty() ? nullptr : &c.alternatives.front();
    for (const auto &a : c.alternatives) {
        if (a.failed()) {
            rows.push_back({a.name, "-", status_name(a.measured.status)});
            continue;
        }
        const bool timed = c.gpu ? a.explained && a.explained->warm.measured : true;
        const bool below = a.explained && timed && a.seconds() < a.explained->warm_floor;
        Row row = {a.name, a.explained ? seconds_text(a.explained->warm.predicted) : "-", timed ? seconds_text(a.seconds()) : "-",
                   middle_half(a), compared_text(c, a, best)};
        if (a.explained) {
            row.push_back(seconds_text(a.explained->warm_floor) + (below ? "*" : ""));
            const Row cells = work_cells(c, *a.explained);
            row.insert(row.end(), cells.begin(), cells.end());
            row.push_back(fusion_text(*a.explained));
        }
        rows.push_back(row);
    }
    return rows;
}

void print_comparison(const Comparison &c) {
    fmt::print("{}\n", paint(Colour::kBold, fmt::format("{}  {}  {}", c.task.op, compared_shape(c),
                                                        c.gpu ? c.gpu->name : fmt::format("{} thread(s)", c.task.threads))));
    print_rows(comparison_rows(c));
    for (const auto &a : c.alternatives) {
        if (a.failed()) {
            fmt::print("{}: {}: {}\n", a.name, status_name(a.measured.status), a.measured.message);
        }
    }
    if (c.gpu) {
        print_device(c);
    }
    for (const auto &line : about_turns(c)) {
        fmt::print("{}\n", paint(starts_with(line, "Warning") ? Colour::kYellow : Colour::kDim, line));
    }
    if (any_below_floor(c)) {
        fmt::print("{}\n", paint(Colour::kDim, kBelowFloor));
    }
    if (!c.why.empty()) {
        fmt::print("\n{}\n", paint(Colour::kBold, "Why " + c.alternatives.front().name));
    }
    for (const auto &line : c.why) {
        fmt::print("  {}\n", line);
    }
    if (c.gpu) {
        fmt::print("\n{}\n", paint(Colour::kDim, device_text(*c.gpu)));
    }
}

json comparison_json(const Comparison &c) {
    json alternatives = json::array();
    for (const auto &a : c.alternatives) {
        alternatives.push_back(alternative_json(c, a));
    }
    json j = {{"op", c.task.op},           {"shape", shape_key(c.task.shape)}, {"params", c.task.params},      {"target", c.task.target},
              {"machine", this_machine()}, {"threads", c.task.threads},        {"alternatives", alternatives}, {"why", c.why},
              {"turns", about_turns(c)}};
    if (c.gpu) {
        j["machine"] = c.gpu->name;
        j["device"] = device_json(*c.gpu);
        j["measured"] = c.measured;
    }
    return j;
}

}  // namespace halyard::explore
