#include "language/device_traffic.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "language/footprint.h"

namespace halyard {

namespace {

class Kernels {
public:
    explicit Kernels(const LoopTree &tree) : tree_(tree) {}

    void find(const Node &n, double times) {
        times *= n.times;
        if (n.kind == Node::kLoop && n.block) {
            found.push_back(kernel(n, times));
            return;
        }
        for (const Node &c : n.children) {
            find(c, times * (n.kind == Node::kLoop ? n.extent : 1));
        }
    }

    std::vector<KernelTraffic> found;

private:
    KernelTraffic kernel(const Node &n, double times) const {
        KernelTraffic k;
        k.loop = n.name;
        k.times = times;
        const Node *inner = &n;
        for (const Node *l = &n; l && l->kind == Node::kLoop && l->block; l = l->children.empty() ? nullptr : &l->children.front()) {
            k.blocks *= l->extent;
            inner = l;
        }
        std::map<int, std::vector<const Access *>> of_array;
        for (size_t i = n.first_access; i < n.last_access; i++) {
            const Access &a = tree_.accesses[i];
            if (!tree_.arrays[size_t(a.array)].in_kernel) {
                of_array[a.array].push_back(&a);
            }
        }
        for (const auto &a : of_array) {
            ArrayTraffic t;
            t.array = a.first;
            t.once = touched(a.second, n.first_loop, n.last_loop, true);
            t.blocks = touched(a.second, inner->first_loop + 1, inner->last_loop, false);
            t.blocks.read *= k.blocks;
            t.blocks.written *= k.blocks;
            // Lines that two blocks share are no reason for a block to load less than its part.
            t.blocks.read = std::max(t.blocks.read, t.once.read);
            t.blocks.written = std::max(t.blocks.written, t.once.written);
            k.arrays.push_back(t);
        }
        take_fused(k);
        std::map<int, StageWork> stages;
        for (const Node &c : n.children) {
            work(c, n.extent, stages);
        }
        for (auto &s : stages) {
            s.second.stage = s.first;
            k.stages.push_back(s.second);
        }
        return k;
    }

    // What blocks write is each one's own. Where the kernel seems to write less than they do together, its block loop is of
    // several that were fused, whose parts an index cannot be followed through, and reads are as little known.
    void take_fused(KernelTraffic &k) const {
        const auto whole = [&](const ArrayTraffic &t) {
            const Array &a = tree_.arrays[size_t(t.array)];
            return double(a.elements) * a.element_bytes;
        };
        const bool fused = std::any_of(k.arrays.begin(), k.arrays.end(),
                                       [&](const ArrayTraffic &t) { return t.once.written < 0.99 * std::min(whole(t), t.blocks.written); });
        for (auto &t : k.arrays) {
            if (fused) {
                t.once.read = std::max(t.once.read, std::min(whole(t), t.blocks.read));
                t.once.written = std::max(t.once.written, std::min(whole(t), t.blocks.written));
            }
        }
    }

    // What is stored there before it is read does not come from memory. Where an index is not followed, as of a window, that
    // is all of the array in the whole kernel, and in a block what is known to be touched.
    Moved touched(const std::vector<const Access *> &accesses, int first_loop, int last_loop, bool kernel) const {
        const Array &array = tree_.arrays[size_t(accesses.front()->array)];
        const double whole = double(array.elements) * array.element_bytes;
        Region loaded, stored;
        bool followed = true;
        for (const Access *a : accesses) {
            (a->store ? stored : loaded).add(Region::of(*a, first_loop, last_loop));
            followed = followed && (a->store || (a->known && a->exact));
        }
        const auto bytes = [&](const Region &r) { return whole > 0 ? std::min(r.bytes(), whole) : r.bytes(); };
        const double read = !followed && whole > 0 && kernel ? whole : bytes(loaded);
        return {accesses.front()->store ? 0 : read, bytes(stored)};
    }

    void work(const Node &n, double times, std::map<int, StageWork> &stages) const {
        times *= n.times;
        if (n.kind == Node::kStatement) {
            StageWork &w = stages[n.stage];
            w.flops += n.work.flops * times;
            int stored = -1;
            for (size_t i = n.first_access; i < n.last_access; i++) {
                const Access &a = tree_.accesses[i];
                if (a.store) {
                    stored = a.array;
                    w.elements += double(a.bytes) / tree_.arrays[size_t(a.array)].element_bytes * times;
                }
            }
            for (size_t i = n.first_access; i < n.last_access; i++) {
                const int array = tree_.accesses[i].array;
                if (array != stored) {
                    w.operand_bytes = std::max(w.operand_bytes, tree_.arrays[size_t(array)].element_bytes);
                }
            }
        }
        for (const Node &c : n.children) {
            work(c, times * (n.kind == Node::kLoop ? n.extent : 1), stages);
        }
    }

    const LoopTree &tree_;
};

}  // namespace

std::vector<KernelTraffic> kernels_of(const LoopTree &tree) {
    Kernels kernels(tree);
    kernels.find(tree.root, 1);
    return std::move(kernels.found);
}

}  // namespace halyard
