#include "explain/explain_device.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace halyard {

namespace {

using nlohmann::json;

constexpr double kKept = 0.5;  // an array of this part of the L2 is still there in the next kernel

std::string plain(std::string name) {
    for (char &c : name) {
        c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    }
    return name;
}

// Kernels are called OP_FUNC, and _2, _dense and others after that. The kernel of the tree with the longest name that
// fits, from `from` on; -1 for none.
int kernel_of(const json &kernels, const std::string &launched, const std::string &op, size_t from) {
    int best = -1;
    size_t longest = 0;
    for (size_t i = from; i < kernels.size(); i++) {
        const std::string name = plain(op + "_" + kernels[i].at("halide").get<std::string>());
        const bool fits = launched.compare(0, name.size(), name) == 0 && (launched.size() == name.size() || launched[name.size()] == '_');
        if (fits && name.size() > longest) {
            best = int(i);
            longest = name.size();
        }
    }
    return best;
}

Bytes bytes_of(const json &j, double times) {
    return {j.at("read").get<double>() * times, j.at("written").get<double>() * times};
}

void add(Bytes &to, const Bytes &b) {
    to.read += b.read;
    to.written += b.written;
}

void read_traffic(ExplainedKernel &k, const Explained &e, const json &from) {
    for (const auto &a : from.at("arrays")) {
        ExplainedKernel::Array array;
        array.name = a.at("name");
        array.argument = a.at("argument");
        array.bytes = a.at("bytes");
        array.once = bytes_of(a.at("once"), k.launches);
        array.blocks = bytes_of(a.at("blocks"), k.launches);
        k.arrays.push_back(array);
    }
    for (const auto &s : from.at("stages")) {
        const ExplainedStage &stage = e.stages.at(s.at("stage").get<size_t>());
        k.stages.push_back(stage.name);
        if (stage.product) {
            k.tensor_flops += 2 * k.launches * s.at("elements").get<double>();
            k.operand_bytes = s.at("operand_bytes");
        } else {
            k.flops += k.launches * s.at("flops").get<double>();
        }
    }
}

}  // namespace

void read_device_report(Explained &e, const json &report, const std::vector<Launch> &launches) {
    read_report(e, report);
    e.version = report.value("version", json());
    const json &kernels = report.at("traffic").at("kernels");
    std::map<std::tuple<std::string, std::array<int, 3>, std::array<int, 3>, int>, size_t> known;
    std::vector<ExplainedKernel> all;
    for (const Launch &l : launches) {
        const auto made = known.emplace(std::make_tuple(l.kernel, l.grid, l.block, l.shared_bytes), all.size());
        if (!made.second) {
            all[made.first->second].launches++;
            continue;
        }
        ExplainedKernel k;
        k.name = l.kernel;
        k.grid = l.grid;
        k.block = l.block;
        k.dynamic_shared_bytes = l.shared_bytes;
        k.resources = l.resources;
        all.push_back(k);
    }
    size_t next = 0;
    for (auto &k : all) {
        const int n = kernel_of(kernels, k.name, e.op, next);
        if (n < 0) {
            e.notes.push_back(k.name + " is launched, but what it moves is not known");
            continue;
        }
        next = size_t(n) + 1;
        k.func = kernels[size_t(n)].at("func");
        read_traffic(k, e, kernels[size_t(n)]);
    }
    e.kernels = std::move(all);
}

void predict_on_device(Explained &e, const GpuFigures &gpu) {
    e.warm = Cost();
    e.flops = 0;
    for (auto &s : e.stages) {
        s.warm = Cost();
    }
    std::map<std::string, double> limits;
    for (auto &k : e.kernels) {
        k.memory = k.l2 = Bytes();
        for (auto &a : k.arrays) {
            a.in_l2 = !a.argument && a.bytes > 0 && a.bytes <= kKept * gpu.l2_bytes;
            add(k.l2, a.blocks);
            if (!a.in_l2) {
                add(k.memory, a.once);
            }
        }
        if (k.resources) {
            k.occupancy = occupancy(gpu.capability, *k.resources, k.threads(), k.dynamic_shared_bytes);
        }
        // Blocks that the multiprocessors hold at once, of those that there are.
        const double held = k.resources ? double(std::max(k.occupancy.blocks, 1)) * gpu.multiprocessors : k.blocks();
        // TMA, which feeds tensor cores, keeps the memory busy with few threads.
        const double busy_threads = k.tensor_flops > 0 ? k.threads() : kBusyThreads;
        k.busy = std::min(1.0, std::min(held, double(k.blocks())) * k.threads() / (gpu.multiprocessors * busy_threads));
        const double rounds = std::ceil(double(k.blocks()) / gpu.multiprocessors) * gpu.multiprocessors / k.blocks();
        k.memory_seconds = k.memory.both() / gpu.copy / k.busy;
        k.l2_seconds = k.l2.both() / gpu.l2 / k.busy;
        k.flops_seconds = k.flops / gpu.reached_flops() * rounds;
        k.tensor_seconds = k.tensor_flops / (k.operand_bytes > 1 ? gpu.reached_tensor_flops() : gpu.reached_tensor_ops()) * rounds;
        k.launch_seconds = k.launches * kLaunchSeconds;
        const std::pair<double, const char *> parts[] = {
            {k.memory_seconds, "memory"}, {k.l2_seconds, "L2"}, {k.flops_seconds, "FMA"}, {k.tensor_seconds, "tensor cores"}};
        const auto longest =
            *std::max_element(std::begin(parts), std::end(parts), [](const auto &a, const auto &b) { return a.first < b.first; });
        k.limit = longest.first > k.launch_seconds ? longest.second : "launch";
        k.predicted = k.launch_seconds + longest.first;
        limits[k.limit] += k.predicted;
        e.warm.predicted += k.predicted;
        e.flops += k.flops + k.tensor_flops;
        add(e.warm.bytes[kL2], k.l2);
        add(e.warm.bytes[kDram], k.memory);
        e.warm.seconds[kL2] += k.l2_seconds;
        e.warm.seconds[kDram] += k.memory_seconds;
        // Its time stands at the Func whose loops it is.
        for (auto &stage : e.stages) {
            if (stage.func == k.func) {
                stage.warm.predicted += k.predicted;
                break;
            }
        }
    }
    e.device_limit = limits.empty() ? "" : std::max_element(limits.begin(), limits.end(), [](const auto &a, const auto &b) {
                                               return a.second < b.second;
                                           })->first;
}

void set_device_floor(std::vector<Explained *> all, double flops, const GpuFigures &gpu) {
    double rate = gpu.flops;
    for (const Explained *e : all) {
        for (const auto &k : e->kernels) {
            if (k.tensor_flops > 0) {
                rate = std::max(rate, k.operand_bytes > 1 ? gpu.tensor_flops : gpu.tensor_ops);
            }
        }
    }
    for (Explained *e : all) {
        e->warm_floor = std::max(e->needed_bytes / gpu.copy, flops / rate);
    }
}

double launches_of(const Explained &e) {
    double n = 0;
    for (const auto &k : e.kernels) {
        n += k.launches;
    }
    return n;
}

double tensor_flops_of(const Explained &e) {
    double n = 0;
    for (const auto &k : e.kernels) {
        n += k.tensor_flops;
    }
    return n;
}

}  // namespace halyard
