#include "explain/gpu_figures.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/gpu.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// Of what a memory's maker promises, a copy reaches this much, as on an H200 (docs/notes/2026-11-schedule-figures.md).
constexpr double kCopied = 0.885;

// NVIDIA's data sheets and architecture white papers: dense rates at boost clock. Of the L2 they have but the A100's, 5120
// bytes a clock: the others' is that, or what follows from it by size.
const std::vector<GpuFigures> &documented() {
    static const std::vector<GpuFigures> all = [] {
        std::vector<GpuFigures> gpus;
        const auto add = [&](const char *name, int capability, int multiprocessors, double memory, double l2_mib, double l2, double flops,
                             double tensor, double tensor8) {
            GpuFigures g;
            g.name = name;
            g.capability = capability;
            g.multiprocessors = multiprocessors;
            g.memory = memory * 1e9;
            g.copy = kCopied * g.memory;
            g.l2_bytes = l2_mib * (1 << 20);
            g.l2 = l2 * 1e12;
            g.flops = flops * 1e12;
            g.tensor_flops = tensor * 1e12;
            g.tensor_ops = tensor8 * 1e12;
            gpus.push_back(g);
        };
        add("NVIDIA H200", 90, 132, 4800, 50, 9, 66.9, 989, 1979);
        add("NVIDIA H100 PCIe", 90, 114, 2039, 50, 8, 51.2, 756, 1513);
        add("NVIDIA H100", 90, 132, 3352, 50, 9, 66.9, 989, 1979);
        add("NVIDIA A100", 80, 108, 2039, 40, 7.2, 19.5, 312, 624);
        add("NVIDIA L40S", 89, 142, 864, 96, 6, 91.6, 362, 733);
        add("NVIDIA B200", 100, 148, 8000, 126, 18, 75, 2250, 4500);
        add("NVIDIA GeForce RTX 5090", 120, 170, 1792, 96, 9, 104.8, 209.5, 838);
        return gpus;
    }();
    return all;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

int rounded_up(int value, int step) {
    return (value + step - 1) / step * step;
}

}  // namespace

std::string GpuFigures::architecture() const {
    return fmt::format("sm_{}{}", capability, capability == 90 ? "a" : "");
}

GpuFigures gpu_figures(const std::string &name) {
    const std::string wanted = lower(name), whole = wanted.substr(0, wanted.find(','));
    std::vector<std::string> names;
    const GpuFigures *best = nullptr;  // the plainest that the name may mean, else the most special that it has in it
    for (const auto &g : documented()) {
        names.push_back(g.name);
        const std::string known = lower(g.name);
        const bool meant = !whole.empty() && known.find(whole) != std::string::npos;
        const bool best_meant = best && lower(best->name).find(whole) != std::string::npos;
        if (meant && (!best_meant || g.name.size() < best->name.size())) {
            best = &g;
        } else if (!meant && !best_meant && whole.find(known) != std::string::npos && (!best || g.name.size() > best->name.size())) {
            best = &g;
        }
    }
    if (best) {
        return *best;
    }
    throw UsageError(fmt::format("--gpu \"{}\": what such a device can do is not known here; there are {}", name, join(names, ", ")));
}

GpuFigures gpu_figures_for(const std::string &architecture) {
    for (const auto &g : documented()) {
        const std::string number = std::to_string(g.capability);
        if (architecture.empty() || architecture == "sm_" + number || architecture == "sm_" + number + "a") {
            GpuFigures found = g;
            found.assumed = true;
            return found;
        }
    }
    throw UsageError(fmt::format("what a device of {} can do is not known here; name one with --gpu", architecture));
}

GpuFigures gpu_figures_here() {
    if (!gpu()) {
        throw Failure("there is no CUDA device here");
    }
    try {
        GpuFigures g = gpu_figures(gpu()->name);
        g.multiprocessors = gpu()->multiprocessors;
        g.capability = gpu()->capability;
        return g;
    } catch (const UsageError &) {
    }
    // Of an unknown one those of its generation, by its multiprocessors.
    const auto &all = documented();
    const auto same = std::find_if(all.begin(), all.end(), [](const GpuFigures &o) { return o.capability / 10 == gpu()->capability / 10; });
    GpuFigures g = same == all.end() ? all.front() : *same;
    g.capability = gpu()->capability;
    const double part = double(gpu()->multiprocessors) / g.multiprocessors;
    g.name = gpu()->name;
    g.multiprocessors = gpu()->multiprocessors;
    for (double *rate : {&g.memory, &g.copy, &g.l2, &g.flops, &g.tensor_flops, &g.tensor_ops}) {
        *rate *= part;
    }
    g.l2_bytes = gpu()->l2 > 0 ? double(gpu()->l2) : g.l2_bytes;
    return g;
}

// As NVIDIA's occupancy calculator does it: a warp's registers in units of 256, a quarter of the warps each on one of four
// register files of 16384; shared memory in units of 128 bytes, and 1 KiB of each block for the system.
Occupancy occupancy(int capability, const KernelResources &r, int threads, int dynamic_shared_bytes) {
    const Multiprocessor limits = multiprocessor(capability);
    const int warps = std::max((threads + 31) / 32, 1);
    Occupancy o;
    o.threads = limits.threads;
    o.blocks = limits.blocks;
    o.limit = "blocks";
    const auto at_most = [&](int blocks, const char *limit) {
        if (blocks < o.blocks) {
            o.blocks = blocks;
            o.limit = limit;
        }
    };
    at_most(limits.threads / 32 / warps, "threads");
    if (r.registers > 0) {
        at_most(4 * (16384 / rounded_up(r.registers * 32, 256)) / warps, "registers");
    }
    at_most(limits.shared_bytes / rounded_up(r.shared_bytes + dynamic_shared_bytes + limits.kReservedShared, 128), "shared memory");
    return o;
}

}  // namespace halyard
