#include <algorithm>
#include <cmath>
#include <map>

#include "language/lint.h"
#include "language/lint_work.h"

namespace halyard {

namespace {

bool is_thread(const Node &loop) {
    return loop.name.compare(0, 11, ".thread_id_") == 0;
}

class Device : public LintWork {
public:
    explicit Device(const LintView &v) : LintWork(v) {}

    std::vector<LintNote> notes;

    // Work outside of any kernel.
    void add_host_work() {
        std::map<std::string, double> funcs;
        for (const Spot &s : spots) {
            const bool kernel = std::any_of(s.loops.begin(), s.loops.end(), [](const Node *l) { return l->block; });
            if (!kernel) {
                funcs[stage(s).func] += s.cost;
            }
        }
        for (const auto &[func, cost] : funcs) {
            if (cost > kWorthALine * total) {
                const std::string f = "k." + v.view.name_of(func);
                notes.push_back(
                    note(func, "", "",
                         f + " runs on the host, and what it computes is copied to the device: give it blocks and threads, with " + f +
                             ":gpu_tile(...), or compute it in a kernel, with " + f + ":compute_at(...)"));
            }
        }
    }

    // Kernels that leave most of a device idle.
    void add_small() {
        constexpr double kWorthADevice = 1e7;  // instructions of one thread each
        constexpr double kFewBlocks = 16, kFewThreads = 32;
        struct Kernel {
            double cost = 0, blocks = 1, threads = 1;
        };
        std::map<const Node *, Kernel> kernels;
        for (const Spot &s : spots) {
            const auto first = std::find_if(s.loops.begin(), s.loops.end(), [](const Node *l) { return l->block; });
            if (first == s.loops.end() || is_product(s)) {
                continue;
            }
            double blocks = 1, threads = 1;
            for (const Node *l : s.loops) {
                blocks *= l->block ? l->extent : 1;
                threads *= is_thread(*l) ? l->extent : 1;
            }
            Kernel &k = kernels[*first];
            k.cost += s.cost;
            k.blocks = blocks;
            k.threads = std::max(k.threads, threads);
        }
        for (const auto &[loop, k] : kernels) {
            if (k.cost < kWorthADevice || k.cost < kWorthALine * total) {
                continue;
            }
            const std::string func = func_of(*loop), f = "k." + v.view.name_of(func);
            if (k.blocks < kFewBlocks) {
                notes.push_back(note(func, "", "",
                                     f + " runs in " + count_text(k.blocks) + (k.blocks == 1 ? " block" : " blocks") +
                                         ", and a device has a hundred multiprocessors and more: say gpu_blocks of more loops, or split "
                                         "them smaller"));
            } else if (k.threads < kFewThreads) {
                notes.push_back(note(func, "", "",
                                     f + " has blocks of " + count_text(k.threads) + (k.threads == 1 ? " thread" : " threads") +
                                         ", and a warp is 32: say gpu_threads of a loop of 32 to 1024 turns"));
            }
        }
    }

    // Threads beside each other whose elements are not.
    void add_uncoalesced() {
        constexpr int64_t kSector = 32;
        constexpr double kHalfAWarp = 16, kMuch = 0.4;
        struct Apart {
            double moved = 0, apart = 0;
            const Access *worst = nullptr;
        };
        std::map<int, Apart> stages;
        double all = 0;
        for (const Spot &s : spots) {
            const auto x = std::find_if(s.loops.begin(), s.loops.end(), [](const Node *l) { return l->name == ".thread_id_x"; });
            if (is_product(s)) {
                continue;
            }
            for_each_access(s, [&](const Access &a) {
                if (v.tree.arrays[size_t(a.array)].in_kernel) {
                    return;
                }
                const double moved = s.times * double(a.bytes) / double(element_bytes(a));
                all += moved;
                if (x == s.loops.end() || (*x)->extent < kHalfAWarp || threads_that_run(s, **x) < 2) {
                    return;
                }
                Apart &stage = stages[s.node->stage];
                stage.moved += moved;
                // A vector of half a sector is a load that wastes little.
                const bool whole = a.bytes >= kSector / 2 && lane_stride(a) == element_bytes(a);
                if (a.known && a.exact && !whole && std::abs(stride(a, (*x)->loop)) >= kSector && !stays_in_l1(s, a, **x)) {
                    stage.apart += moved;
                    stage.worst =
                        !stage.worst || std::abs(stride(a, (*x)->loop)) > std::abs(stride(*stage.worst, (*x)->loop)) ? &a : stage.worst;
                    distance_[&a] = std::abs(stride(a, (*x)->loop));
                }
            });
        }
        for (const auto &[number, apart] : stages) {
            if (apart.worst && apart.apart > kMuch * all && all * kBytes > kLittleMoved) {
                const StageName &stage = v.tree.stages[size_t(number)];
                const std::string array = v.view.name_of(v.tree.arrays[size_t(apart.worst->array)].name);
                notes.push_back(note(stage.func, "", "",
                                     name(stage) + (apart.worst->store ? " stores to " : " reads ") + array +
                                         " with neighbouring threads " + std::to_string(distance_[apart.worst]) +
                                         " bytes apart: say gpu_threads first of the loop along the "
                                         "innermost dimension of " +
                                         array));
            }
        }
    }

private:
    static constexpr double kBytes = 4, kLittleMoved = 1 << 20;

    // Whether a thread goes on to all that lies between it and its neighbour, and L1 holds that of a block: then each line comes once.
    static bool stays_in_l1(const Spot &s, const Access &a, const Node &thread) {
        constexpr double kL1 = 128 << 10;
        std::map<int64_t, double> own;
        for (const Node *l : s.loops) {
            if (!l->block && !is_thread(*l)) {
                const int64_t step = std::abs(stride(a, l->loop));
                own[step] = std::max(own[step], l->extent);
            }
        }
        int64_t covered = a.bytes;
        for (const auto &[step, extent] : own) {
            covered += step > 0 && step <= covered ? step * int64_t(extent - 1) : 0;
        }
        const int64_t apart = std::abs(stride(a, thread.loop));
        return covered >= apart && double(apart) * thread.extent <= kL1;
    }

    // Threads side by side that a guard leaves, over all blocks.
    static double threads_that_run(const Spot &s, const Node &thread) {
        double iterations = 1;
        for (const Node *l : s.loops) {
            iterations *= l->extent;
        }
        return thread.extent * s.times / iterations;
    }

    std::map<const Access *, int64_t> distance_;
};

}  // namespace

std::vector<LintNote> lint_device(const LintView &view) {
    Device device(view);
    device.add_host_work();
    device.add_recomputed(device.notes, true);
    device.add_uncoalesced();
    device.add_sums_in_memory(device.notes);
    device.add_small();
    return device.notes;
}

}  // namespace halyard
