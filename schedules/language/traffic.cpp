#include "language/traffic.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "language/footprint.h"

namespace halyard {

namespace {

// Accesses of a part of the tree that count: `first` and `last` loop run.
struct Part {
    size_t first_access, last_access;
    int first_loop, last_loop;
};

Part part_of(const Node &n, bool one_iteration) {
    return {n.first_access, n.last_access, n.first_loop + (n.kind == Node::kLoop && one_iteration), n.last_loop};
}

class Model {
public:
    Model(const LoopTree &tree) : tree_(tree) {}

    /** By array, in whole lines; only of stores or of all. */
    std::map<int, Region> regions(const Part &p, bool stores_only) const {
        std::map<int, Region> regions;
        for (size_t i = p.first_access; i < p.last_access; i++) {
            const Access &a = tree_.accesses[i];
            if (counts(a) && (a.store || !stores_only)) {
                regions[a.array].add(Region::of(a, p.first_loop, p.last_loop));
            }
        }
        return regions;
    }

    bool counts(const Access &a) const {
        return !tree_.arrays[size_t(a.array)].in_registers && !a.streamed;
    }

    // No more than there is, and all of it where the index is not known.
    double limited(int array, double bytes) const {
        const Array &a = tree_.arrays[size_t(array)];
        const double whole = (std::ceil(double(a.elements) * a.element_bytes / double(kLine)) + 1) * double(kLine);
        return a.elements > 0 ? std::min(bytes, whole) : bytes;
    }

    double footprint(const Part &p) const {
        const auto key = std::make_tuple(p.first_access, p.last_access, p.first_loop, p.last_loop);
        const auto known = footprints_.find(key);
        if (known != footprints_.end()) {
            return known->second;
        }
        double sum = 0;
        for (const auto &r : regions(p, false)) {
            sum += limited(r.first, r.second.bytes());
        }
        return footprints_[key] = sum;
    }

    // Every line once, for the stage that touches it first. A stage that adds nothing to the
    // lines of those before it moves nothing.
    Movement first_touch(const Part &p) const {
        Movement m;
        std::map<int, Region> all, stored;
        std::map<std::pair<int, int>, std::vector<const Access *>> by_stage;
        std::vector<std::pair<int, int>> order;
        for (size_t i = p.first_access; i < p.last_access; i++) {
            const Access &a = tree_.accesses[i];
            if (counts(a)) {
                auto &list = by_stage[{a.stage, a.array}];
                if (list.empty()) {
                    order.emplace_back(a.stage, a.array);
                }
                list.push_back(&a);
            }
        }
        for (const auto &key : order) {
            Region &seen = all[key.second], &written = stored[key.second];
            const double read_before = limited(key.second, seen.bytes()), written_before = limited(key.second, written.bytes());
            for (const Access *a : by_stage[key]) {
                const Region r = Region::of(*a, p.first_loop, p.last_loop);
                seen.add(r);
                if (a->store) {
                    written.add(r);
                }
            }
            Moved moved;
            moved.read = std::max(0.0, limited(key.second, seen.bytes()) - read_before);
            moved.written = std::max(0.0, limited(key.second, written.bytes()) - written_before);
            m[key] += moved;
        }
        return m;
    }

    Movement misses(const Node &n, double capacity) const {
        Movement m;
        if (n.first_access == n.last_access) {
            return m;
        }
        if (footprint(part_of(n, false)) <= capacity || n.kind == Node::kStatement) {
            m = first_touch(part_of(n, false));
        } else if (n.kind == Node::kLoop) {
            if (footprint(part_of(n, true)) <= capacity) {
                m = first_touch(part_of(n, false));
            } else {
                m = sequence(n, capacity);
                scale(m, n.extent);
            }
        } else {
            m = sequence(n, capacity);
        }
        scale(m, n.times);
        return m;
    }

private:
    static void scale(Movement &m, double factor) {
        for (auto &e : m) {
            e.second.read *= factor;
            e.second.written *= factor;
        }
    }

    // One after the other. What a child finds of an earlier one's data: an element at place t (0 to 1)
    // of both was last used after the rest of the earlier one, what lies between, and as much of this one.
    Movement sequence(const Node &n, double capacity) const {
        std::vector<const Node *> children;
        for (const Node &c : n.children) {
            if (c.first_access != c.last_access) {
                children.push_back(&c);
            }
        }
        Movement all;
        for (size_t j = 0; j < children.size(); j++) {
            Movement m = misses(*children[j], capacity);
            const Part mine = part_of(*children[j], false);
            const double size = footprint(mine);
            const auto my_regions = regions(mine, false);
            double between = 0;
            std::set<int> done;
            for (size_t i = j; i-- > 0;) {
                const Part its = part_of(*children[i], false);
                const double its_size = footprint(its);
                if (between + std::min(size, its_size) <= capacity) {
                    const double kept = fraction_within(its_size, size, capacity - between);
                    for (const auto &r : regions(its, false)) {
                        const auto same = my_regions.find(r.first);
                        if (same == my_regions.end() || !done.insert(r.first).second) {
                            continue;
                        }
                        Region both = r.second;
                        both.add(same->second);
                        const double shared = r.second.bytes() + same->second.bytes() - both.bytes();
                        const double found = kept * std::clamp(shared / same->second.bytes(), 0.0, 1.0);
                        for (auto &e : m) {
                            if (e.first.second == r.first) {
                                // Lines that are still there are not loaded, and those that were dirty
                                // already are written back once for both.
                                e.second.read *= 1 - found;
                            }
                        }
                    }
                }
                between += its_size;
            }
            for (const auto &e : m) {
                all[e.first] += e.second;
            }
        }
        return all;
    }

    // How much of t in [0, 1] has (1 - t) * before + t * now <= capacity.
    static double fraction_within(double before, double now, double capacity) {
        if (std::max(before, now) <= capacity) {
            return 1;
        }
        if (std::min(before, now) > capacity || before == now) {
            return 0;
        }
        const double t = std::clamp((capacity - before) / (now - before), 0.0, 1.0);
        return now > before ? t : 1 - t;
    }

    const LoopTree &tree_;
    mutable std::map<std::tuple<size_t, size_t, int, int>, double> footprints_;
};

// Executions of everything: work, instructions that load and store, iterations.
class Counter {
public:
    Counter(const LoopTree &tree, Traffic &t, const Model &model) : tree_(tree), traffic_(t), model_(model) {}

    void count(const Node &n, double times) {
        times *= n.times;
        if (n.kind == Node::kLoop) {
            LoopCount *l = nullptr;
            if (n.digit || (!path_.empty() && path_.back()->digit)) {
                // The parts of a fused loop are one loop.
                l = !traffic_.loops.empty() && !path_.empty() && path_.back()->digit ? &traffic_.loops.back() : nullptr;
            }
            if (!l) {
                traffic_.loops.push_back({n.name, n.occurrence, -1, times, times, n.parallel, false, 0});
                l = &traffic_.loops.back();
            }
            l->iterations *= n.extent;
            l->footprint = model_.footprint(part_of(n, true));
            l->innermost = n.last_loop == n.first_loop + 1;
            const size_t index = traffic_.loops.size() - 1;
            path_.push_back(&n);
            seen_.emplace_back();
            for (const Node &c : n.children) {
                count(c, times * n.extent);
            }
            seen_.pop_back();
            path_.pop_back();
            traffic_.loops[index].stage = owner(n.name);
        } else if (n.kind == Node::kStatement) {
            statement(n, times);
        } else {
            for (const Node &c : n.children) {
                count(c, times);
            }
        }
    }

private:
    // FUNC.sN.VAR
    int owner(const std::string &loop) const {
        for (size_t i = 0; i < tree_.stages.size(); i++) {
            const StageName &s = tree_.stages[i];
            const std::string prefix = s.func + ".s" + std::to_string(s.update) + ".";
            if (loop.compare(0, prefix.size(), prefix) == 0) {
                return int(i);
            }
        }
        return -1;
    }

    void statement(const Node &n, double times) {
        StageTraffic &stage = traffic_.stages[size_t(n.stage)];
        stage.work.flops += n.work.flops * times;
        stage.work.scalar_flops += n.work.scalar_flops * times;
        stage.work.instructions += n.work.instructions * times;
        stage.work.calls += n.work.calls;
        if (stage.around.empty()) {
            for (const Node *p : path_) {
                if (owner(p->name) != n.stage && (stage.around.empty() || stage.around.back() != p->name)) {
                    stage.around.push_back(p->name);
                }
            }
        }
        for (size_t i = n.first_access; i < n.last_access; i++) {
            const Access &a = tree_.accesses[i];
            const Array &array = tree_.arrays[size_t(a.array)];
            const double bytes = double(a.bytes) * a.part * times;
            (a.store ? stage.registers.written : stage.registers.read) += bytes;
            if (a.store) {
                stage.elements += bytes / array.element_bytes;
                stage.masked += double(a.bytes) * (1 - a.part) * times / array.element_bytes;
            } else {
                traffic_.loaded[{n.stage, a.array}] += bytes / array.element_bytes;
            }
            if (array.in_registers) {
                continue;
            }
            // Broadcasts load one element. Loads that the loop repeats are one load before it; the same
            // load twice in an iteration is one.
            double hoisted = 1;
            for (auto l = path_.rbegin(); l != path_.rend(); ++l) {
                const bool moves = std::any_of(a.steps.begin(), a.steps.end(), [&](const Access::Step &s) { return s.loop == (*l)->loop; });
                if (moves || (*l)->children.size() > 1) {
                    break;
                }
                hoisted *= std::max((*l)->extent, 1.0);
                break;  // the compiler does it for the innermost loop
            }
            double width = array.element_bytes * a.part;
            for (const auto &s : a.steps) {
                width *= s.loop < 0 ? double(s.count) : 1;
            }
            if (!seen_.empty() && !seen_.back().insert(key(a)).second) {
                continue;
            }
            (a.store ? stage.l1.written : stage.l1.read) += width * times / hoisted;
            stage.streamed += a.streamed ? width * times / hoisted : 0;
        }
    }

    static std::vector<int64_t> key(const Access &a) {
        std::vector<int64_t> k = {a.array, a.store, a.base, a.known};
        for (const auto &s : a.steps) {
            k.insert(k.end(), {s.loop, s.stride, s.count});
        }
        return k;
    }

    const LoopTree &tree_;
    Traffic &traffic_;
    const Model &model_;
    std::vector<const Node *> path_;
    std::vector<std::set<std::vector<int64_t>>> seen_;
};

}  // namespace

double footprint(const LoopTree &tree, const Node &node, int array, bool one_iteration) {
    const Model model(tree);
    const Part p = part_of(node, one_iteration);
    if (array < 0) {
        return model.footprint(p);
    }
    const auto regions = model.regions(p, false);
    const auto r = regions.find(array);
    return r == regions.end() ? 0 : model.limited(array, r->second.bytes());
}

Traffic executions(const LoopTree &tree) {
    Traffic t;
    t.stages.resize(tree.stages.size());
    for (size_t i = 0; i < tree.stages.size(); i++) {
        t.stages[i].name = tree.stages[i];
    }
    const Model model(tree);
    Counter(tree, t, model).count(tree.root, 1);
    return t;
}

Traffic traffic(const LoopTree &tree, const CacheSizes &caches) {
    Traffic t = executions(tree);
    const Model model(tree);
    const Part whole = part_of(tree.root, false);
    t.footprint = model.footprint(whole);
    t.touched.resize(tree.arrays.size());
    for (const auto &r : model.regions(whole, false)) {
        t.touched[size_t(r.first)] = model.limited(r.first, r.second.bytes());
    }
    const struct {
        double capacity;
        Moved StageTraffic::*first, StageTraffic::*repeated;
        bool is_last;
    } levels[] = {
        {caches.l1, &StageTraffic::l2, &StageTraffic::l2_warm, false},
        {caches.l2, &StageTraffic::l3, &StageTraffic::l3_warm, false},
        {caches.l3 > 0 ? caches.l3 : caches.l2, &StageTraffic::memory, &StageTraffic::memory_warm, true},
    };
    // What the kernel allocates comes back to the same place in the next call, and is in the cache if
    // it and the arguments fit, whichever arguments they are.
    for (const auto &level : levels) {
        const Movement m = model.misses(tree.root, level.capacity);
        for (const auto &e : m) {
            StageTraffic &stage = t.stages[size_t(e.first.first)];
            const bool argument = tree.arrays[size_t(e.first.second)].argument;
            if (argument || t.footprint > level.capacity) {
                stage.*level.first += e.second;
            }
            if (t.footprint > level.capacity) {
                stage.*level.repeated += e.second;
            }
        }
        if (level.is_last) {
            t.memory = m;
        }
    }
    std::set<int> stored;
    for (const Access &a : tree.accesses) {
        const Array &array = tree.arrays[size_t(a.array)];
        if (a.store && !array.argument && !array.on_stack && stored.insert(a.array).second) {
            t.stages[size_t(a.stage)].allocated += double(array.elements) * array.element_bytes;
        }
    }
    for (size_t i = 0; i < t.stages.size(); i++) {
        std::map<int, Region> regions;
        for (const Access &a : tree.accesses) {
            if (a.stage == int(i) && model.counts(a)) {
                regions[a.array].add(Region::of(a, 0, tree.root.last_loop));
            }
        }
        for (const auto &r : regions) {
            t.stages[i].footprint += model.limited(r.first, r.second.bytes());
        }
    }
    return t;
}

}  // namespace halyard
