#include "explore/space/cost.h"

#include <algorithm>

#include "explore/space/graph.h"

namespace halyard::explore {

namespace {

constexpr double kPerCycle = 2;        // instructions of arithmetic
constexpr double kTaskSeconds = 2e-7;  // to hand a task to a thread

double bandwidth(const Machine &m, double bytes) {
    for (const MemoryLevel &l : m.levels) {
        if (l.bytes > 0 && bytes <= double(l.bytes) * (l.name == "L3" ? 1 : m.threads)) {
            return l.read;
        }
    }
    return m.levels.empty() ? 1e10 : m.levels.back().read;
}

class Predict {
public:
    Predict(const Description &d, const Plan &plan, const Machine &m) : d_(d), plan_(plan), m_(m), graph_(d, inlined(plan)) {}

    double seconds() {
        double arithmetic = 0, moved = 0, tasks = 0;
        for (const auto &name : plan_.order) {
            const Func &f = *d_.func(name);
            const Placed &p = plan_.placed.at(name);
            const double again = computed_again(name);
            for (int s = 0; s < int(f.stages.size()); s++) {
                arithmetic += again * instructions(f, p, s);
            }
            const double bytes = p.place == Place::kRoot ? f.size() : once(f, p);
            const double rate = bandwidth(m_, bytes);
            moved += again * f.size() * (f.output ? 1 : 2) / rate;
            if (const auto n = plan_.nests.find(name); n != plan_.nests.end() && !n->second.job.empty()) {
                tasks += n->second.levels.back().extent;
            }
        }
        for (const auto &b : d_.buffers) {
            double bytes = b.second.bytes;
            for (const int64_t e : b.second.extents) {
                bytes *= double(e);
            }
            moved += bytes / bandwidth(m_, bytes);
        }
        const double in_order = arithmetic / (kPerCycle * std::max(m_.hertz, 1e9));
        return std::max(in_order / m_.threads, moved) + tasks * kTaskSeconds / m_.threads;
    }

private:
    static std::set<std::string> inlined(const Plan &plan) {
        std::set<std::string> names;
        for (const auto &p : plan.placed) {
            if (p.second.place == Place::kInlined) {
                names.insert(p.first);
            }
        }
        return names;
    }

    // Also because that in which it is computed is.
    double computed_again(const std::string &name) const {
        const Placed &p = plan_.placed.at(name);
        return p.recomputed * (p.place == Place::kAt && p.in != name ? computed_again(p.in) : 1);
    }

    static double once(const Func &f, const Placed &p) {
        double bytes = f.bytes;
        for (const auto &dim : p.region) {
            bytes *= dim.second;
        }
        return bytes;
    }

    double instructions(const Func &f, const Placed &p, int s) const {
        const Stage &stage = f.stages[size_t(s)];
        double times = 1;
        for (const Loop &l : stage.loops) {
            times *= l.extent;
        }
        const auto n = plan_.nests.find(f.name);
        bool lanes = !p.vector.empty() || (n != plan_.nests.end() && n->second.stage == s && !n->second.vector.empty());
        double loads = 1;
        if (s > 0) {
            const UpdateBody &u = p.updates.size() >= size_t(s) ? p.updates[size_t(s) - 1] : UpdateBody();
            // What the tile unit takes; without one the runtime multiplies element by element.
            lanes = (u.kind != UpdateBody::kPlain && u.kind != UpdateBody::kMma && u.kind != UpdateBody::kPrivate) ||
                    (n != plan_.nests.end() && n->second.stage == s && !n->second.vector.empty());
            if (const double rate = product_rate(u, f); rate > 0) {
                return 2 * times / rate * kPerCycle * std::max(m_.hertz, 1e9) * m_.threads;
            }
            if (u.kind == UpdateBody::kTile || u.kind == UpdateBody::kDots) {
                double rows = 1;
                for (const auto &dim : p.region) {
                    rows *= dim.first == u.vector ? 1 : dim.second;
                }
                const double columns = u.vector.empty() ? 1 : p.region.at(u.vector) / d_.lanes();
                loads = (rows + columns) / (rows * columns);
            } else if (u.kind == UpdateBody::kLanes) {
                loads = 1 + 1.0 / double(u.accumulators);
            }
        }
        return times * (graph_.cost(f.name, s) + loads) / (lanes ? d_.lanes() : 1);
    }

    // Operations a second of the instructions for the groups of a product; 0 where it has none.
    double product_rate(const UpdateBody &u, const Func &f) const {
        const ProductRates &r = f.types[0] == "int32_t" ? m_.bytes : m_.bf16;
        const double tiles = u.group == 1 ? r.tiles / kProductsOfF32 : r.tiles;
        return u.kind == UpdateBody::kMma ? tiles : u.kind == UpdateBody::kTile && u.dot ? r.dots : 0;
    }

    const Description &d_;
    const Plan &plan_;
    const Machine &m_;
    const Graph graph_;
};

}  // namespace

double predict(const Description &description, const Plan &plan, const Machine &machine) {
    return Predict(description, plan, machine).seconds();
}

}  // namespace halyard::explore
