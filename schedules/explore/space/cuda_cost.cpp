#include "explore/space/cuda_cost.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/gpu.h"

namespace halyard::explore {

namespace {

using Names = std::vector<std::string>;

// Registers of a thread beside its values: indices, pointers, predicates. NVRTC 12 for sm_90a: tiles of 128 x 128 f32 sums in
// shared memory 100, predicted 104; a tile of 8 channels by 4 pixels of a depthwise convolution 80, predicted 80.
constexpr int64_t kAddresses = 24, kTensorAddresses = 40;
using Limits = Multiprocessor;

class Kernel {
public:
    Kernel(const CudaKernel &k, const Description &d, const CudaPlaces &places, const GpuFigures &machine)
        : k_(k), d_(d), places_(places), m_(machine), f_(*d.func(k.func)) {
        all_ = k.inside;
        all_.push_back(k.func);
    }

    CudaResources resources() const {
        CudaResources r;
        r.threads = threads();
        r.registers = registers();
        r.shared = shared();
        if (r.registers <= register_limit() && r.shared <= shared_limit()) {
            KernelResources taken;
            taken.registers = int(tensor() ? registers_at_launch(r.registers) : r.registers);
            taken.shared_bytes = int(r.shared);
            r.resident = occupancy(m_.capability, taken, int(r.threads), 0).blocks;
        }
        return r;
    }

    double seconds() const {
        const CudaResources r = resources();
        if (r.resident == 0) {
            throw Failure(fmt::format("{}: a block of {} threads takes {} registers of a thread and {} bytes of shared memory; "
                                      "there are {} and {}",
                                      k_.func, r.threads, r.registers, r.shared, register_limit(), shared_limit()));
        }
        const double n = blocks(), at_once = std::min(n, double(m_.multiprocessors) * double(r.resident));
        const double busy = std::min(1.0, at_once * double(r.threads) / (m_.multiprocessors * kBusyThreads));
        // Work that is bound by units waits for the last wave.
        const double waves = std::ceil(n / m_.multiprocessors) * m_.multiprocessors / n;
        return kLaunchSeconds + std::max({bytes() / m_.copy / std::max(busy, 1e-3), tensor_seconds() * waves,
                                          instructions() / m_.reached_flops() / std::max(busy, 1e-3)});
    }

private:
    int64_t number(const std::string &name) const {
        return k_.number(name);
    }
    const CudaProduct &product() const {
        return places_.products.at(k_.products[0]);
    }
    bool tensor() const {
        return k_.form == CudaKernel::kTensorTiles || k_.form == CudaKernel::kTensorWindows;
    }
    bool shared_tiles() const {
        return k_.form == CudaKernel::kSharedTiles || k_.form == CudaKernel::kPanels;
    }
    int64_t tile_rows() const {
        return k_.form == CudaKernel::kTensorWindows ? number("tile_w") * number("tile_h") * number("tile_n") : number("rows");
    }

    // That multiply on the tensor cores, 64 rows each; one more fetches.
    int64_t warpgroups() const {
        return (tile_rows() + 63) / 64;
    }

    int64_t threads() const {
        return tensor() ? 128 * (warpgroups() + 1) : shared_tiles() ? 256 : std::max<int64_t>(number("threads"), 1);
    }

    // Sums and what is loaded for them at once, in registers of 32 bits.
    int64_t registers() const {
        const int64_t products = int64_t(k_.products.size());
        switch (k_.form) {
        case CudaKernel::kTensorTiles:
        case CudaKernel::kTensorWindows: return kTensorAddresses + 64 * number("columns") * products / 128;
        case CudaKernel::kSharedTiles:
        case CudaKernel::kPanels:
            return kAddresses + (number("rows") * number("columns") * products / 16 + number("rows") + number("columns")) / 16;
        case CudaKernel::kThreadTiles: return kAddresses + number("rows") * number("columns") * 3 / 2 + number("columns");
        case CudaKernel::kTransposed: return kAddresses + number("tile") * number("tile") / number("threads");
        case CudaKernel::kVectors: return kAddresses + number("unroll") * vector() * inputs();
        case CudaKernel::kRows:
        case CudaKernel::kReduced: return kAddresses + number("unroll") * number("vector") * inputs();
        default: return kAddresses + lists();
        }
    }

    int64_t vector() const {
        return std::clamp<int64_t>(16 / std::max(f_.bytes, 1), 2, 8);
    }

    // Large ones that are read for each element.
    int64_t inputs() const {
        std::set<std::string> read;
        for (const auto &name : all_) {
            for (size_t stage = 0; stage < d_.func(name)->stages.size(); stage++) {
                for (const Read &r : places_.graph->reads(name, int(stage))) {
                    if (std::find(all_.begin(), all_.end(), r.func) == all_.end() && size(r.func) * 4 > f_.size()) {
                        read.insert(r.func);
                    }
                }
            }
        }
        return std::clamp<int64_t>(int64_t(read.size()), 1, 4);
    }

    // What a thread keeps of its own.
    int64_t lists() const {
        double n = 0;
        for (const auto &name : k_.form == CudaKernel::kThreads ? all_ : Names{}) {
            double elements = double(d_.func(name)->bytes) / 4;
            for (const auto &dim : d_.func(name)->dims) {
                const bool loop = std::find(k_.loops.begin(), k_.loops.end(), dim) != k_.loops.end();
                elements *= loop ? 1 : d_.func(name)->extent(dim);
            }
            n += name == k_.func && !k_.copy ? 0 : elements;
        }
        return int64_t(std::min(n, 1e4));
    }

    // Of each thread, before warpgroups that fetch give theirs to those that multiply.
    int64_t registers_at_launch(int64_t registers) const {
        return (warpgroups() * registers + 40) / (warpgroups() + 1);
    }

    int64_t shared_limit() const {
        return multiprocessor(m_.capability).shared_of_block();
    }

    int64_t register_limit() const {
        if (tensor()) {
            return warpgroups() == 1 ? Limits::kRegistersOfThread : warpgroups() == 2 ? 240 : 160;
        }
        const int64_t resident = std::max<int64_t>(number("resident"), 1);
        return std::min<int64_t>(Limits::kRegistersOfThread, Limits::kRegisters / (resident * threads()));
    }

    int64_t shared() const {
        switch (k_.form) {
        case CudaKernel::kTensorTiles:
            return number("stages") * 128 * (number("rows") + number("columns") * int64_t(k_.products.size())) + 128 * number("rows");
        case CudaKernel::kTensorWindows:
            return number("stages") * 128 * (tile_rows() + number("columns")) + 2 * tile_rows() * number("columns");
        case CudaKernel::kSharedTiles:
        case CudaKernel::kPanels: return (number("rows") + number("columns") + 8) * number("depth") * 4 * int64_t(k_.products.size());
        case CudaKernel::kTransposed: return number("tile") * (number("tile") + 1) * d_.func(k_.products[0])->bytes;
        case CudaKernel::kRows: {
            double held = 0;
            for (const auto &input : k_.held) {
                held += f_.extent("col") * d_.buffers.at(input).bytes;
            }
            return int64_t(held) + 4 * threads() / 32;
        }
        default: return 0;
        }
    }

    double extents(const Names &dims) const {
        double n = 1;
        for (const auto &dim : dims) {
            n *= f_.extent(dim);
        }
        return n;
    }
    double tiles(const std::string &dim, int64_t tile) const {
        return std::ceil(f_.extent(dim) / double(std::max<int64_t>(tile, 1)));
    }

    double blocks() const {
        const Names rest(f_.dims.empty() ? f_.dims.begin() : f_.dims.begin() + 1, f_.dims.end());
        switch (k_.form) {
        case CudaKernel::kTensorTiles: return tiles("row", number("rows")) * tiles("col", number("columns"));
        case CudaKernel::kTensorWindows:
            return tiles("w", number("tile_w")) * tiles("h", number("tile_h")) * tiles("n", number("tile_n")) * f_.extent("g") *
                   tiles("o", number("columns"));
        case CudaKernel::kSharedTiles:
        case CudaKernel::kPanels: {
            const Func &sums = *d_.func(k_.products[0]);
            double n = std::ceil(sums.extent(product().row) / double(number("rows"))) *
                       std::ceil(sums.extent(product().col) / double(number("columns")));
            for (const auto &dim : product().others) {
                n *= sums.extent(dim);
            }
            return n;
        }
        case CudaKernel::kThreadTiles: {
            const int64_t lanes = number("lanes");
            return std::ceil(tiles(product().col, number("columns")) / double(lanes)) *
                   std::ceil(tiles(product().row, number("rows")) / (double(number("threads")) / double(lanes))) *
                   extents(product().others);
        }
        case CudaKernel::kTransposed:
            return tiles(f_.dims[0], number("tile")) * tiles(f_.dims[1], number("tile")) *
                   extents(Names(f_.dims.begin() + 2, f_.dims.end()));
        case CudaKernel::kVectors:
            return tiles(f_.dims[0], vector() * number("lanes")) *
                   std::ceil(extents(rest) / double(number("threads") / number("lanes") * number("unroll")));
        case CudaKernel::kRows: return extents(k_.loops);
        case CudaKernel::kReduced: return extents(f_.dims);
        case CudaKernel::kThreads: return std::ceil(extents(k_.loops) / double(number("threads")));
        default: return std::ceil(extents(f_.dims) / double(number("threads")));
        }
    }

    double size(const std::string &name) const {
        if (const Func *f = d_.func(name)) {
            return f->size();
        }
        const auto b = d_.buffers.find(name);
        double bytes = b == d_.buffers.end() ? 0 : b->second.bytes;
        for (const int64_t e : b == d_.buffers.end() ? std::vector<int64_t>{} : b->second.extents) {
            bytes *= double(e);
        }
        return bytes;
    }

    // What is read and stored once; in place, for each time that an update goes over it.
    double bytes() const {
        double bytes = f_.size();
        std::set<std::string> seen(all_.begin(), all_.end());
        for (const auto &name : all_) {
            for (size_t stage = 0; stage < d_.func(name)->stages.size(); stage++) {
                for (const Read &r : places_.graph->reads(name, int(stage))) {
                    bytes += seen.insert(r.func).second ? size(r.func) : 0;
                }
            }
            for (size_t u = 1; k_.form == CudaKernel::kInPlace && u < f_.stages.size(); u++) {
                bytes += 2 * f_.bytes * f_.stages[u].elements;
            }
        }
        return bytes;
    }

    // What sticks out of the last tiles is computed in vain.
    double padding() const {
        if (!tensor() && !shared_tiles()) {
            return 1;
        }
        const double tile = double(tile_rows()) * double(number("columns"));
        return std::max(1.0, blocks() * tile / d_.func(k_.products[0])->pure().elements);
    }

    double tensor_seconds() const {
        double flops = 0;
        for (const auto &name : tensor() ? k_.products : Names{}) {
            flops += 2 * padding() * d_.func(name)->stages[1].elements;
        }
        return flops / m_.reached_tensor_flops();
    }

    double instructions() const {
        double n = 0;
        for (const auto &name : all_) {
            const Func &f = *d_.func(name);
            const bool product = std::find(k_.products.begin(), k_.products.end(), name) != k_.products.end();
            for (size_t stage = 0; stage < f.stages.size() && !(product && tensor()); stage++) {
                // Without shared memory every operand is a load for each tile of a thread.
                const double rows = double(std::max<int64_t>(number("rows"), 1));
                const double columns = double(std::max<int64_t>(number("columns"), 1));
                const double loads = !product ? 1 : shared_tiles() ? 0.15 : 1 / rows + 1 / columns;
                n += product ? padding() * f.stages[stage].elements * (1 + 4 * loads)
                             : std::max(places_.graph->cost(name, int(stage)), 0.5) * f.stages[stage].elements;
            }
        }
        return n;
    }

    const CudaKernel &k_;
    const Description &d_;
    const CudaPlaces &places_;
    const GpuFigures &m_;
    const Func &f_;
    Names all_;
};

}  // namespace

GpuFigures cuda_machine() {
    return gpu() ? gpu_figures_here() : gpu_figures_for("");
}

CudaResources cuda_resources(const CudaKernel &k, const Description &d, const CudaPlaces &places, const GpuFigures &m) {
    return Kernel(k, d, places, m).resources();
}

double predict(const CudaKernel &k, const Description &d, const CudaPlaces &places, const GpuFigures &m) {
    return Kernel(k, d, places, m).seconds();
}

}  // namespace halyard::explore
