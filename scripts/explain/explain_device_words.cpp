#include "explain/explain_device_words.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "explain/explain_version.h"
#include "explain/explain_words.h"
#include "kernel/text.h"

namespace halyard {

namespace {

std::string times_text(double n) {
    return n == 1 ? "once" : n == 2 ? "twice" : fmt::format("{:g} times", n);
}

std::string kernels_text(double n) {
    return n == 1 ? "1 kernel" : fmt::format("{:g} kernels", n);
}

// Arrays between kernels, each once, with all that is moved of it. What is little beside the rest is no reason for anything.
std::vector<ExplainedKernel::Array> between(const Explained &e) {
    std::vector<ExplainedKernel::Array> arrays;
    for (const auto &k : e.kernels) {
        for (const auto &a : k.arrays) {
            if (a.argument) {
                continue;
            }
            const auto known = std::find_if(arrays.begin(), arrays.end(), [&](const auto &o) { return o.name == a.name; });
            if (known == arrays.end()) {
                arrays.push_back(a);
            } else {
                known->once.read += a.once.read;
                known->once.written += a.once.written;
            }
        }
    }
    constexpr double kLittle = 0.01;
    arrays.erase(std::remove_if(arrays.begin(), arrays.end(), [&](const auto &a) { return a.once.both() < kLittle * e.needed_bytes; }),
                 arrays.end());
    std::stable_sort(arrays.begin(), arrays.end(), [](const auto &a, const auto &b) { return a.once.both() > b.once.both(); });
    return arrays;
}

std::string limit_words(const std::string &limit) {
    return limit == "memory"   ? "the bandwidth of its memory"
           : limit == "L2"     ? "the bandwidth of its L2"
           : limit == "FMA"    ? "arithmetic outside of the tensor cores"
           : limit == "launch" ? "launching"
                               : limit;
}

void about_kernel(const ExplainedKernel &k, const GpuFigures &gpu, std::vector<std::string> &lines) {
    if (k.resources && k.occupancy.blocks == 0) {
        lines.push_back(fmt::format("{} does not fit a multiprocessor: too many {}.", k.name, k.occupancy.limit));
    }
    if (k.resources && k.resources->stack_bytes > 0) {
        lines.push_back(fmt::format("A thread of {} has {} of local memory: arrays with computed indices, or registers that "
                                    "were spilled.",
                                    k.name, bytes_text(k.resources->stack_bytes)));
    }
    if (k.blocks() < gpu.multiprocessors) {
        lines.push_back(fmt::format("{} has {} for {} multiprocessors: {:.0f} % of them have nothing to do.", k.name,
                                    k.blocks() == 1 ? "1 block" : fmt::format("{} blocks", k.blocks()), gpu.multiprocessors,
                                    100 - 100.0 * k.blocks() / gpu.multiprocessors));
    } else if (k.busy < 0.95 && k.resources) {
        lines.push_back(fmt::format("{} keeps {} of {} threads of a multiprocessor busy, as {} let no more than {} of its "
                                    "blocks stay: {:.0f} % of the bandwidth is in reach.",
                                    k.name, k.occupancy.blocks * k.threads(), k.occupancy.threads, k.occupancy.limit, k.occupancy.blocks,
                                    100 * k.busy));
    }
}

}  // namespace

std::string grid_text(const std::array<int, 3> &g) {
    return g[2] > 1 ? fmt::format("{} x {} x {}", g[0], g[1], g[2]) : g[1] > 1 ? fmt::format("{} x {}", g[0], g[1]) : std::to_string(g[0]);
}

std::string resident_text(const ExplainedKernel &k) {
    return k.resources ? fmt::format("{} ({})", k.occupancy.blocks, k.occupancy.limit) : "-";
}

std::string shared_text(const ExplainedKernel &k) {
    const int bytes = k.dynamic_shared_bytes + (k.resources ? k.resources->shared_bytes : 0);
    return bytes == 0 ? "-" : bytes < 1024 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} KiB", bytes / 1024.0);
}

std::string device_text(const GpuFigures &gpu) {
    return fmt::format("{}{}: a copy moves {:.2f} TB/s ({}), tensor cores {:.0f} TFLOP/s in 16 bits, FMA {:.3g}, {} "
                       "multiprocessors",
                       gpu.name, gpu.assumed ? " (assumed; --gpu names another)" : "", gpu.copy / 1e12,
                       gpu.copy_measured ? "measured here" : fmt::format("of {:.2f} documented", gpu.memory / 1e12),
                       gpu.tensor_flops / 1e12, gpu.flops / 1e12, gpu.multiprocessors);
}

std::vector<std::string> about_schedule(const Explained &e, const GpuFigures &gpu) {
    std::vector<std::string> lines;
    std::string first = fmt::format("Predicted {}, limited by {}", seconds_text(e.warm.predicted), limit_words(e.device_limit));
    if (e.warm.measured) {
        first += fmt::format("; measured {} {} ({:.2f} of the prediction)", seconds_text(*e.warm.measured), e.measured_where,
                             *e.warm.measured / e.warm.predicted);
    } else {
        first += "; not measured";
    }
    const bool below = e.warm.measured && *e.warm.measured < e.warm_floor;
    lines.push_back(first + fmt::format("; the floor is {}.{}", seconds_text(e.warm_floor),
                                        below ? " It is below the floor: what is read again may be in the L2, or the device copies faster "
                                                "than is taken here."
                                              : ""));
    lines.push_back(fmt::format("A call launches {} and moves {} of device memory, of which the arguments are {}.",
                                kernels_text(launches_of(e)), bytes_text(e.warm.bytes[kDram].both()), bytes_text(e.needed_bytes)));
    for (const auto &line : about_version(e)) {
        lines.push_back(line);
    }
    for (const auto &a : between(e)) {
        lines.push_back(fmt::format("{} goes through memory from kernel to kernel: {} written, {} read{}.", a.name,
                                    bytes_text(a.once.written), bytes_text(a.once.read), a.in_l2 ? ", which the L2 keeps" : ""));
    }
    for (const auto &k : e.kernels) {
        if (k.predicted > 0.05 * e.warm.predicted) {
            about_kernel(k, gpu, lines);
        }
    }
    for (const auto &s : e.stages) {
        if (s.recomputed.value_or(1) > 1.02 && s.flops > 0.01 * e.flops) {
            lines.push_back(fmt::format("{} is computed {:.2f} times over.", s.name, *s.recomputed));
        }
    }
    // Conversions of operands are nothing to the tensor cores.
    for (const auto &i : e.inlined) {
        if (i.times > 1.02 && !i.free && tensor_flops_of(e) == 0) {
            lines.push_back(fmt::format("{} is inlined and computed {:.4g} times for each element.", i.func, i.times));
        }
    }
    return lines;
}

std::vector<std::string> compare(const Explained &a, const Explained &b, const GpuFigures &gpu) {
    std::vector<std::string> lines;
    const double predicted = b.warm.predicted / a.warm.predicted;
    const bool measured = a.warm.measured && b.warm.measured;
    const double ratio = !measured                         ? predicted
                         : a.warm_turns.with(b.warm_turns) ? a.warm_turns.contest->ratio(a.warm_turns.place, b.warm_turns.place).times
                                                           : *b.warm.measured / *a.warm.measured;
    const bool tie = measured ? !differ(a.warm_turns, b.warm_turns, ratio) : std::abs(ratio - 1) < 0.05;
    std::string line = predicted_text(a.schedule, b.schedule, predicted);
    if (measured) {
        line += "; measured, " + measured_text(a, b, a.warm_turns, b.warm_turns, ratio);
        line += !tie && (ratio - 1) * (predicted - 1) < 0 && std::abs(ratio - predicted) > 0.1 ? ": the prediction is wrong here" : "";
    }
    lines.push_back(line + ".");

    const double mine = a.warm.bytes[kDram].both(), its = b.warm.bytes[kDram].both(), saved = its - mine;
    if (std::abs(saved) < 0.02 * std::max(its, 1.0)) {
        lines.push_back(fmt::format("Both move the same {} of device memory.", bytes_text(mine)));
    } else {
        lines.push_back(fmt::format("It moves {} {} of device memory ({} against {}): {} at {:.2f} TB/s.", bytes_text(std::abs(saved)),
                                    saved > 0 ? "less" : "more", bytes_text(mine), bytes_text(its),
                                    seconds_text(std::abs(saved) / gpu.copy), gpu.copy / 1e12));
    }
    std::set<std::string> stored;
    for (const auto &array : between(a)) {
        stored.insert(array.name);
    }
    for (const auto &array : between(b)) {
        if (stored.count(array.name) == 0) {
            lines.push_back(fmt::format("{} stays on the chip, which {} writes to memory ({}) and reads again ({}){}.", array.name,
                                        b.schedule, bytes_text(array.once.written), bytes_text(array.once.read),
                                        array.in_l2 ? ", though the L2 keeps it" : ""));
        }
    }
    const double fewer = launches_of(b) - launches_of(a);
    if (fewer != 0) {
        lines.push_back(fmt::format("It launches {} against {:g}.", kernels_text(launches_of(a)), launches_of(b)));
    }
    const double on_tensor = tensor_flops_of(a), others_tensor = tensor_flops_of(b);
    if ((on_tensor > 0) != (others_tensor > 0)) {
        lines.push_back(
            fmt::format("{} multiplies on tensor cores, {} does not.", (on_tensor > 0 ? a : b).schedule, (on_tensor > 0 ? b : a).schedule));
    }
    for (const auto &s : a.stages) {
        if (s.recomputed.value_or(1) > 1.02 && s.flops > 0.01 * a.flops) {
            lines.push_back(fmt::format("For that it computes {} {}.", s.name, times_text(std::round(100 * *s.recomputed) / 100)));
        }
    }
    for (const auto &i : a.inlined) {
        const bool stored_there = std::any_of(b.stages.begin(), b.stages.end(), [&](const auto &s) { return s.func == i.func; });
        if (stored_there && i.times > 1.02 && !i.free && on_tensor == 0) {
            lines.push_back(
                fmt::format("For that it computes {} {} for each element.", i.func, times_text(std::round(100 * i.times) / 100)));
        }
    }
    const char *basis = measured ? "" : " (predicted)";
    lines.push_back(tie         ? fmt::format("It is a tie{}.", basis)
                    : ratio > 1 ? fmt::format("{} pays: {:.2f} times as fast{}.", a.schedule, ratio, basis)
                                : fmt::format("{} does not pay: {} is {:.2f} times as fast{}.", a.schedule, b.schedule, 1 / ratio, basis));
    return lines;
}

}  // namespace halyard
