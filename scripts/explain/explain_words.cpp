#include "explain/explain_words.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "kernel/text.h"

namespace halyard {

namespace {

std::string with_unit(double value, double base, const std::vector<std::string> &units, const char *small_unit) {
    double v = value;
    std::string unit = small_unit;
    for (const auto &u : units) {
        if (std::abs(v) < base) {
            break;
        }
        v /= base;
        unit = u;
    }
    return fmt::format("{:.{}f} {}", v, unit == small_unit || std::abs(v) >= 100 ? 0 : std::abs(v) >= 10 ? 1 : 2, unit);
}

std::string percent(double part) {
    return fmt::format("{:.0f} %", 100 * part);
}

std::string limit_words(int limit) {
    return limit_name(limit) + (limit >= 0 ? " bandwidth" : "");
}

// "fits L2 (1 MiB) but not L1"
std::string fits(double footprint, const Machine &machine) {
    std::string before;
    for (const auto &l : machine.levels) {
        if (l.bytes > 0 && footprint <= double(l.bytes)) {
            return before.empty() ? fmt::format("fits {}", l.name) : fmt::format("fits {} but not {}", l.name, before);
        }
        before = l.bytes > 0 ? l.name : before;
    }
    return "fits no cache";
}

// What a call finds that is repeated on the same data.
std::string repeated(const Explained &e, const Machine &machine) {
    return fits(e.needed_bytes, machine) == "fits no cache" ? "Again on the same data, which fits no cache" : "In the cache";
}

double scalar_share(const ExplainedStage &s) {
    return s.flops > 0 ? s.scalar_flops / s.flops : 0;
}

std::string middle_half(const Explained::InTurns &turns) {
    return turns.contest
               ? fmt::format(", half of the rounds {} to {}", seconds_text(turns.timing().lower), seconds_text(turns.timing().upper))
               : "";
}

}  // namespace

std::vector<std::string> about_turns(const std::vector<Explained> &all) {
    const auto &warm = all.front().warm_turns.contest, &cold = all.front().cold_turns.contest;
    if (!warm) {
        return {};
    }
    const auto percent_of = [](const Contest &c) { return fmt::format("{:.1f} %", 100 * c.threshold()); };
    std::string line = fmt::format("Times are medians of {} rounds", all.front().warm_turns.timing().samples);
    if (all.size() > 1) {
        line += fmt::format(", in which the schedules took turns in an order drawn anew. The same schedule beside itself differed by {}{}: "
                            "less than that is a tie",
                            percent_of(*warm), cold ? fmt::format(" ({} from memory)", percent_of(*cold)) : "");
    }
    std::vector<std::string> lines = {line + "."};
    const std::string busy = !warm->busy.empty() ? warm->busy : cold ? cold->busy : "";
    if (!busy.empty()) {
        lines.push_back("Warning: " + busy);
    }
    return lines;
}

std::string below_floor(const Cost &cost, double floor) {
    return cost.measured && *cost.measured < floor
               ? "It is below the floor, which is made of bandwidths and peaks of another time: they were measured while the machine was "
                 "busy (--measure-again), or the data is in a faster cache than its size says."
               : "";
}

std::string predicted_text(const std::string &a, const std::string &b, double times) {
    if (std::abs(times - 1) < 0.02) {
        return fmt::format("{} is predicted to be as fast as {}", a, b);
    }
    return times > 1 ? fmt::format("{} is predicted to be {:.2f} times as fast as {}", a, times, b)
                     : fmt::format("{} is predicted to be {:.2f} times as fast as {}", b, 1 / times, a);
}

bool differ(const Explained::InTurns &a, const Explained::InTurns &b, double times) {
    return a.with(b) ? !a.contest->tie(a.place, b.place) : std::abs(times - 1) > 0.05;
}

std::string measured_text(const Explained &a, const Explained &b, const Explained::InTurns &of_a, const Explained::InTurns &of_b,
                          double times) {
    if (of_a.with(of_b)) {
        return of_a.contest->verdict(of_a.place, of_b.place, a.schedule, b.schedule);
    }
    return !differ(of_a, of_b, times) ? fmt::format("a tie between {} and {}", a.schedule, b.schedule)
           : times > 1                ? fmt::format("{} is {:.2f} times as fast as {}", a.schedule, times, b.schedule)
                                      : fmt::format("{} is {:.2f} times as fast as {}", b.schedule, 1 / times, a.schedule);
}

std::string bytes_text(double bytes) {
    return with_unit(bytes, 1000, {"kB", "MB", "GB", "TB"}, "B");
}

std::string seconds_text(double seconds) {
    return with_unit(seconds * 1e9, 1000, {"us", "ms", "s"}, "ns");
}

std::string flops_text(double flops) {
    return flops >= 1e12  ? fmt::format("{:.2f}T", flops / 1e12)
           : flops >= 1e9 ? fmt::format("{:.2f}G", flops / 1e9)
           : flops >= 1e6 ? fmt::format("{:.1f}M", flops / 1e6)
           : flops >= 1e3 ? fmt::format("{:.0f}k", flops / 1e3)
                          : fmt::format("{:.0f}", flops);
}

std::string moved_text(const Bytes &b) {
    return b.both() < 0.5 ? "-" : fmt::format("{} / {}", bytes_text(b.read), bytes_text(b.written));
}

std::string place_text(const ExplainedStage &s) {
    const std::string where = s.place.empty() ? "root" : s.place;
    const std::string file = std::filesystem::path(s.file).filename().string();
    return s.line > 0 ? fmt::format("{} ({}:{})", where, file, s.line) : where;
}

std::vector<std::string> about_schedule(const Explained &e, const Machine &machine) {
    std::vector<std::string> lines;
    const auto timed = [&](const std::string &state, const Cost &c, double floor, const Explained::InTurns &turns) {
        std::string line = fmt::format("{}: predicted {}, limited by {}", state, seconds_text(c.predicted), limit_words(c.limit));
        if (c.measured) {
            line += fmt::format("; measured {}{} ({:.2f} of the prediction)", seconds_text(*c.measured), middle_half(turns),
                                *c.measured / c.predicted);
        }
        const std::string below = below_floor(c, floor);
        lines.push_back(line + fmt::format("; the floor is {}.{}", seconds_text(floor), below.empty() ? "" : " " + below));
    };
    timed(repeated(e, machine), e.warm, e.warm_floor, e.warm_turns);
    timed("From memory", e.cold, e.cold_floor, e.cold_turns);

    // The loop that other stages are computed in: what it touches in one iteration decides where they find it.
    std::vector<std::string> told;
    for (const auto &s : e.stages) {
        for (const auto &l : e.loops) {
            if (l.name == s.place && std::find(told.begin(), told.end(), l.name) == told.end()) {
                told.push_back(l.name);
                lines.push_back(fmt::format("One iteration of {}, in which other stages are computed, touches {}: {}.", l.name,
                                            bytes_text(l.footprint), fits(l.footprint, machine)));
            }
        }
    }
    if (told.empty()) {
        lines.push_back(fmt::format("No stage is computed within another; the whole op touches {}: {}.", bytes_text(e.footprint),
                                    fits(e.footprint, machine)));
    }
    if (e.page_seconds > 0.02 * e.warm.predicted) {
        lines.push_back(fmt::format("A call takes {:.0f} page faults, as large arrays that it allocates come anew from the system: "
                                    "{}, {} of the prediction.",
                                    e.counters.page_faults, seconds_text(e.page_seconds), percent(e.page_seconds / e.warm.predicted)));
    }
    // What is computed more often than needed, and what that costs.
    for (const auto &s : e.stages) {
        if (s.recomputed.value_or(1) > 1.02 && s.core_seconds > 0.01 * e.warm.predicted) {
            lines.push_back(fmt::format("{} is computed {:.2f} times over; that is {} of its {}.", s.name, *s.recomputed,
                                        seconds_text(s.core_seconds * (1 - 1 / *s.recomputed)), seconds_text(s.core_seconds)));
        }
    }
    for (const auto &s : e.stages) {
        const double lanes = s.elements + s.masked;
        if (s.masked > 0.2 * lanes && s.core_seconds > 0.01 * e.warm.predicted) {
            lines.push_back(
                fmt::format("{} fills {} of the lanes that it stores; the others are masked off.", s.name, percent(s.elements / lanes)));
        }
    }
    for (const auto &i : e.inlined) {
        if (i.times > 1.02 && !i.free) {
            lines.push_back(fmt::format("{} is inlined and computed {} times for each element; what does not change in a loop the "
                                        "compiler may compute before it.",
                                        i.func, i.times < 100 ? fmt::format("{:.3g}", i.times) : fmt::format("{:.0f}", i.times)));
        }
    }
    for (const auto &group : e.side_by_side) {
        lines.push_back(fmt::format("The parallel loops of {} are one: threads take jobs of all of them and wait once, at its end. "
                                    "They are counted one after the other, as a thread does them.",
                                    join(group, ", ")));
    }
    for (const auto &s : e.stages) {
        if (s.product) {
            lines.push_back(s.name + (machine.bf16.tiles > 0
                                          ? " is multiplied in tiles, at their measured rate."
                                          : " is multiplied in tiles, which this processor has none of: the time is that of "
                                            "f32 in vectors."));
        } else if (scalar_share(s) > 0.5 && s.warm.predicted > 0.05 * e.warm.predicted) {
            lines.push_back(fmt::format("{} computes without SIMD ({} of its flops).", s.name, percent(scalar_share(s))));
        }
    }
    const auto hottest = std::max_element(e.stages.begin(), e.stages.end(), [](const ExplainedStage &a, const ExplainedStage &b) {
        return a.warm.predicted < b.warm.predicted;
    });
    if (hottest != e.stages.end() && hottest->cycles > 0) {
        lines.push_back(fmt::format("Most time goes to {}: its loop {} takes {:.1f} cycles an iteration with all data in L1 "
                                    "(llvm-mca, {}); it is held up by {}.",
                                    hottest->name, hottest->loop, hottest->cycles, e.mca_processor, hottest->limit_text));
    }
    return lines;
}

std::vector<std::string> compare(const Explained &a, const Explained &b, const Machine &machine) {
    std::vector<std::string> lines;
    const auto state = [&](const std::string &name, const Cost &x, const Cost &y, const Explained::InTurns &u,
                           const Explained::InTurns &v) {
        const double predicted = y.predicted / x.predicted;
        std::string line = fmt::format("{}: {}", name, predicted_text(a.schedule, b.schedule, predicted));
        if (x.measured && y.measured) {
            const double measured = *y.measured / *x.measured;
            line += "; measured, " + measured_text(a, b, u, v, measured);
            if (differ(u, v, measured) && (measured - 1) * (predicted - 1) < 0 && std::abs(measured - predicted) > 0.1) {
                line += ": the prediction is wrong here";
            }
        }
        line += ". ";
        // The level that matters is the one that holds up the slower of the two.
        const int level = y.limit >= 0 ? y.limit : x.limit >= 0 ? x.limit : int(kL2);
        const double saved = y.bytes[size_t(level)].both() - x.bytes[size_t(level)].both();
        const double seconds = y.seconds[size_t(level)] - x.seconds[size_t(level)];
        if (std::abs(saved) < 0.02 * std::max(y.bytes[size_t(level)].both(), 1.0)) {
            line += fmt::format("Both move the same {} between {} and what is before it.", bytes_text(x.bytes[size_t(level)].both()),
                                kLevelNames[level]);
        } else {
            line += fmt::format("It moves {} {} from and to {} ({} against {}), which is {} at the measured bandwidth.",
                                bytes_text(std::abs(saved)), saved > 0 ? "less" : "more", kLevelNames[level],
                                bytes_text(x.bytes[size_t(level)].both()), bytes_text(y.bytes[size_t(level)].both()),
                                seconds_text(std::abs(seconds)));
        }
        lines.push_back(line);
    };
    state(repeated(a, machine), a.warm, b.warm, a.warm_turns, b.warm_turns);
    state("From memory", a.cold, b.cold, a.cold_turns, b.cold_turns);

    double core_a = 0, core_b = 0, again_a = 0;
    for (const auto &s : a.stages) {
        // What both compute again, as the last rows of a tile, is not for fusing.
        const auto same = std::find_if(b.stages.begin(), b.stages.end(), [&](const ExplainedStage &t) { return t.name == s.name; });
        const double times = std::max(s.recomputed.value_or(1), 1.0);
        const double in_both = same == b.stages.end() ? 1 : std::clamp(same->recomputed.value_or(1), 1.0, times);
        core_a += s.core_seconds;
        again_a += s.core_seconds * (1 - in_both / times);
    }
    for (const auto &s : b.stages) {
        core_b += s.core_seconds;
    }
    if (core_a > 1.1 * core_b) {
        lines.push_back(
            fmt::format("The instructions of {} take longer: {} against {}.", a.schedule, seconds_text(core_a), seconds_text(core_b)));
    } else if (core_b > 1.1 * core_a) {
        lines.push_back(
            fmt::format("The instructions of {} take longer too: {} against {}.", b.schedule, seconds_text(core_b), seconds_text(core_a)));
    }
    double saved = 0;  // by less traffic, at most: levels overlap
    for (int level = kL2; level < kLevels; level++) {
        saved = std::max(saved, b.warm.seconds[size_t(level)] - a.warm.seconds[size_t(level)]);
    }
    for (const auto &s : a.stages) {
        for (const auto &t : b.stages) {
            if (s.name == t.name && scalar_share(s) > 0.5 && scalar_share(t) < 0.5 &&
                s.core_seconds > t.core_seconds + 0.05 * a.warm.predicted) {
                lines.push_back(fmt::format("{} is scalar code in {} and SIMD in {}: {} against {} of instructions. The traffic that {} "
                                            "saves in the cache is worth {} at most, which {} for it.",
                                            s.name, a.schedule, b.schedule, seconds_text(s.core_seconds), seconds_text(t.core_seconds),
                                            a.schedule, seconds_text(saved),
                                            saved > s.core_seconds - t.core_seconds ? "makes up" : "does not make up"));
            }
        }
    }
    if (b.page_seconds - a.page_seconds > 0.05 * b.warm.predicted) {
        lines.push_back(fmt::format("{} allocates arrays that {} does not have: their page faults take {}.", b.schedule, a.schedule,
                                    seconds_text(b.page_seconds - a.page_seconds)));
    }
    const double traffic_saved =
        b.warm.seconds[size_t(kL3)] + b.warm.seconds[size_t(kDram)] - a.warm.seconds[size_t(kL3)] - a.warm.seconds[size_t(kDram)];
    if (again_a > 0.02 * a.warm.predicted) {
        lines.push_back(fmt::format("Computing again what {} could store costs {}; the traffic past L2 that it saves is {}: {}.",
                                    a.schedule, seconds_text(again_a), seconds_text(std::max(traffic_saved, 0.0)),
                                    traffic_saved > again_a ? "it pays" : "it does not pay"));
    }
    // What decides, in one sentence.
    const auto verdict = [&](const std::string &name, const Cost &x, const Cost &y, const Explained::InTurns &u,
                             const Explained::InTurns &v) {
        const bool measured = x.measured && y.measured;
        const double gain = !measured   ? y.predicted / x.predicted
                            : u.with(v) ? u.contest->ratio(u.place, v.place).times
                                        : *y.measured / *x.measured;
        const char *basis = measured ? "" : " (predicted)";
        const bool tie = measured ? !differ(u, v, gain) : std::abs(gain - 1) < 0.05;
        if (!tie && gain > 1) {
            return fmt::format("{}, {} pays: {:.2f} times as fast{}.", name, a.schedule, gain, basis);
        } else if (!tie) {
            return fmt::format("{}, {} does not pay: {} is {:.2f} times as fast{}.", name, a.schedule, b.schedule, 1 / gain, basis);
        }
        return fmt::format("{}, it is a tie{}.", name, basis);
    };
    lines.push_back(verdict(repeated(a, machine), a.warm, b.warm, a.warm_turns, b.warm_turns) + " " +
                    verdict("From memory", a.cold, b.cold, a.cold_turns, b.cold_turns));
    return lines;
}

}  // namespace halyard
