#include "language/lint.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "language/lint_work.h"

namespace halyard {

namespace {

class Host : public LintWork {
public:
    explicit Host(const LintView &v) : LintWork(v) {}

    std::vector<LintNote> notes;

    // Loops over single elements, where another order or none would have them in lanes.
    void add_scalar() {
        struct Scalar {
            double cost = 0;
            const Node *loop = nullptr;
            int64_t bytes = 4;
            bool sum = false;
        };
        std::map<int, Scalar> stages;
        std::map<int, double> whole;
        for (const Spot &s : spots) {
            const Access *store = store_of(s);
            whole[s.node->stage] += s.cost;
            if (s.vector || is_product(s) || !store || !store->known) {
                continue;
            }
            const int64_t size = element_bytes(*store);
            const Node *along = nullptr;
            bool sum = false;
            for (const Node *l : s.loops) {
                if (!is_own(s, *l) || l->extent < kShort) {
                    continue;
                }
                const int64_t step = stride(*store, l->loop);
                if (step > 0 && step <= kUnrolled * size) {
                    along = l;
                    sum = false;
                } else if (step == 0 && stage(s).update > 0 && (!along || sum) && reads_along(s, *l)) {
                    along = l;
                    sum = true;
                }
            }
            if (along) {
                Scalar &scalar = stages[s.node->stage];
                scalar.cost += s.cost;
                scalar.loop = along;
                scalar.bytes = size;
                scalar.sum = sum;
            }
        }
        for (const auto &[number, scalar] : stages) {
            if (scalar.cost > kWorthALine * total && scalar.cost > whole[number] / 2) {
                const StageName &stage = v.tree.stages[size_t(number)];
                const std::string loop = loop_name(*scalar.loop);
                notes.push_back(note(stage.func, loop, "",
                                     name(stage) + " takes one element at a time over \"" + loop + "\" (" +
                                         count_text(scalar.loop->extent) + " of them): say " + name(stage) +
                                         (scalar.sum ? ":atomic()" : "") + ":vectorize(\"" + loop + "\", " +
                                         std::to_string(std::max<int64_t>(v.vector_bytes / scalar.bytes, 2)) + ")"));
            }
        }
    }

    // Lanes that lie apart in memory, where there is a loop along which most lie side by side.
    void add_strided() {
        struct Strided {
            double cost = 0;
            const Node *loop = nullptr;
            int64_t apart = 0;
            int array = 0;
            bool store = false;
        };
        std::map<int, Strided> stages;
        for (const Spot &s : spots) {
            if (!s.vector || is_product(s)) {
                continue;
            }
            int now = 0;
            const Access *worst = nullptr;
            for_each_access(s, [&](const Access &a) {
                if (is_apart(a, lane_stride(a))) {
                    now++;
                    worst = !worst || std::abs(lane_stride(a)) > std::abs(lane_stride(*worst)) ? &a : worst;
                }
            });
            for (const Node *l : s.loops) {
                if (!worst || !is_own(s, *l) || l->extent < kShort) {
                    continue;
                }
                int then = 0;
                for_each_access(s, [&](const Access &a) { then += is_apart(a, stride(a, l->loop)); });
                if (then < now && stride(*worst, l->loop) == element_bytes(*worst)) {
                    Strided &strided = stages[s.node->stage];
                    strided.cost += s.cost;
                    strided.loop = l;
                    strided.apart = std::abs(lane_stride(*worst));
                    strided.array = worst->array;
                    strided.store = worst->store;
                }
            }
        }
        for (const auto &[number, strided] : stages) {
            if (strided.cost > kWorthALine * total) {
                const StageName &stage = v.tree.stages[size_t(number)];
                const std::string loop = loop_name(*strided.loop);
                notes.push_back(note(stage.func, "", "",
                                     name(stage) + (strided.store ? " stores lanes of " : " loads lanes of ") +
                                         v.view.name_of(v.tree.arrays[size_t(strided.array)].name) + " that are " +
                                         std::to_string(strided.apart) + " bytes apart: vectorize \"" + loop +
                                         "\", along which they lie side by side"));
            }
        }
    }

    // Loops that run over lines of memory, and come back for the rest of each when the first is no longer in the cache.
    void add_order() {
        constexpr int64_t kLine = 64;
        struct Order {
            double cost = 0;
            const Node *inner = nullptr, *outer = nullptr;
        };
        std::map<int, Order> stages;
        for (const Spot &s : spots) {
            const Node *inner = s.loops.empty() ? nullptr : s.loops.back();
            if (is_product(s) || reload_of(s) || !inner || !is_own(s, *inner) || inner->digit || inner->extent * kLine < v.l1) {
                continue;
            }
            int jumps = 0, all = 0;
            const Node *outer = nullptr;
            for_each_access(s, [&](const Access &a) {
                all++;
                const int64_t width = lane_stride(a) != 0 || a.bytes == element_bytes(a) ? a.bytes : element_bytes(a);
                if (!a.known || std::abs(stride(a, inner->loop)) < kLine || width >= kLine) {
                    return;
                }
                for (const Node *l : s.loops) {
                    if (l != inner && is_own(s, *l) && std::abs(stride(a, l->loop)) == width && l->extent >= 2) {
                        outer = l;
                        jumps++;
                        return;
                    }
                }
            });
            if (outer && 2 * jumps > all) {
                Order &order = stages[s.node->stage];
                order.cost += s.cost;
                order.inner = inner;
                order.outer = outer;
            }
        }
        for (const auto &[number, order] : stages) {
            if (order.cost > kWorthALine * total) {
                const StageName &stage = v.tree.stages[size_t(number)];
                const std::string inner = loop_name(*order.inner), outer = loop_name(*order.outer);
                notes.push_back(note(stage.func, inner, "",
                                     name(stage) + " goes from line to line of memory in \"" + inner + "\", its innermost loop: say " +
                                         name(stage) + ":reorder(\"" + outer + "\", \"" + inner + "\")"));
            }
        }
    }

    // Nests of which no loop is parallel, of what takes a millisecond.
    void add_serial() {
        constexpr double kWorthThreads = 4e6;
        std::map<std::string, Group> nests;
        double all = 0;
        for (const Spot &s : spots) {
            all += s.cost;
            const bool parallel = std::any_of(s.loops.begin(), s.loops.end(), [](const Node *l) { return l->parallel; });
            if (!parallel && !s.loops.empty()) {
                Group &g = nests[func_of(*s.loops.front())];
                g.cost += s.cost;
                g.first = !g.first || s.loops.size() > g.first->loops.size() ? &s : g.first;
            }
        }
        for (const auto &[func, nest] : nests) {
            if (nest.cost < kWorthThreads || nest.cost < kWorthALine * all) {
                continue;
            }
            for (const Node *l : nest.first->loops) {
                const Access *store = store_of(*nest.first);
                const bool pure = func != stage(*nest.first).func || (store && (!store->known || stride(*store, l->loop) != 0));
                if (func_of(*l) == func && l->extent >= 2 && pure) {
                    const std::string loop = loop_name(*l), update = update_of(*l);
                    notes.push_back(note(func, "", "",
                                         "k." + v.view.name_of(func) + update + " runs on one thread: say k." + v.view.name_of(func) +
                                             update + ":parallel(\"" + loop + "\")"));
                    break;
                }
            }
        }
    }

    // Sums of an innermost loop that are more than there are registers.
    void add_spilled() {
        struct Body {
            std::set<std::pair<int, int64_t>> sums;
            double bytes = 0, cost = 0;
            int stage = 0;
        };
        std::map<int, Body> bodies;
        for (const Spot &s : spots) {
            const Access *store = store_of(s);
            if (s.loops.empty() || is_product(s) || !reload_of(s) || !is_own(s, *s.loops.back()) || s.loops.back()->extent < 2 ||
                stride(*store, s.loops.back()->loop) != 0) {
                continue;
            }
            Body &body = bodies[s.loops.back()->loop];
            body.cost += s.cost;
            body.stage = s.node->stage;
            if (body.sums.insert({store->array, store->base}).second) {
                body.bytes += std::max<double>(double(store->bytes), s.vector ? v.vector_bytes : 0);
            }
        }
        std::map<int, double> told;
        for (const auto &[loop, body] : bodies) {
            const double vectors = std::ceil(body.bytes / v.vector_bytes);
            if (vectors > 2 * v.registers && body.cost > kWorthALine * total && told.emplace(body.stage, vectors).second) {
                const StageName &stage = v.tree.stages[size_t(body.stage)];
                notes.push_back(note(stage.func, "", "",
                                     name(stage) + " adds to " + count_text(vectors) + " vectors in its innermost loop, and there are " +
                                         std::to_string(v.registers) + " registers: unroll less of it, so that the tile is " +
                                         std::to_string(v.registers * 3 / 4) + " vectors or fewer"));
            }
        }
    }

private:
    static constexpr int64_t kUnrolled = 8;
    static constexpr double kShort = 8;  // loops of fewer iterations have nothing to gain

    static std::string update_of(const Node &loop) {
        const size_t s = loop.name.find(".s");
        const int n = s == std::string::npos ? 0 : std::atoi(loop.name.c_str() + s + 2);
        return n > 0 ? ":update(" + std::to_string(n - 1) + ")" : "";
    }

    bool reads_along(const Spot &s, const Node &loop) const {
        bool along = false;
        for_each_access(s, [&](const Access &a) { along = along || (!a.store && stride(a, loop.loop) == element_bytes(a)); });
        return along;
    }

    bool is_apart(const Access &a, int64_t step) const {
        return a.known && std::abs(step) > 4 * element_bytes(a);
    }
};

}  // namespace

std::vector<LintNote> lint_host(const LintView &view) {
    Host host(view);
    host.add_recomputed(host.notes, false);
    host.add_scalar();
    host.add_strided();
    host.add_order();
    host.add_sums_in_memory(host.notes);
    host.add_spilled();
    host.add_serial();
    return host.notes;
}

}  // namespace halyard
