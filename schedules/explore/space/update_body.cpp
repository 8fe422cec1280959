#include "explore/space/update_body.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace halyard::explore {

namespace {

class Bodies {
public:
    Bodies(const Description &d, const BodyRequest &r, Choices &choices) : d_(d), r_(r), choices_(choices), f_(*r.func), p_(*r.placed) {}

    void choose() {
        const bool own_loops = r_.nest && r_.nest->stage == 0;
        if (r_.product && r_.product->turned) {
            turn();
            return;
        }
        if (r_.product && r_.product->mma && p_.place == Place::kAt) {
            mma();
            return;
        }
        if (tiled()) {
            tile();
            return;
        }
        if (dots()) {
            return;
        }
        if (!own_loops) {
            p_.vector = first_wide();
            if (!p_.vector.empty()) {
                const double cost = r_.graph->cost(f_.name, 0);
                const auto most = int64_t(std::max(1.0, p_.region.at(p_.vector) / d_.lanes()));
                p_.vectors = p_.place == Place::kAt && !f_.reduction()
                                 ? choices_.number("vectors of " + f_.name, {1, 2, 4},
                                                   std::max<int64_t>(cost > 8 ? 2 : 1, 4 / std::max(f_.bytes, 1)), most)
                                 : 1;
            }
        }
        if (f_.reduction() && p_.place == Place::kRoot && f_.size() >= kWorthTasks && !f_.fixed) {
            for (const auto &dim : f_.dims) {
                p_.parallel = dim != p_.vector && region(dim) >= 2 ? dim : p_.parallel;
            }
        }
        for (size_t s = 1; s < f_.stages.size(); s++) {
            p_.updates.push_back(update(int(s)));
        }
    }

private:
    static constexpr double kWorthTasks = 1 << 17;  // iterations, or bytes, from which on it pays to hand them to threads

    double region(const std::string &dim) const {
        const auto it = p_.region.find(dim);
        return it == p_.region.end() ? 1 : it->second;
    }

    // A product of which a tile of registers is needed at once.
    bool tiled() const {
        if (!r_.product || p_.place != Place::kAt) {
            return false;
        }
        double elements = 1;
        for (const auto &dim : f_.dims) {
            elements *= region(dim);
        }
        return elements <= double(d_.lanes()) * d_.vector_registers && !r_.product->vector.empty() &&
               region(r_.product->vector) >= d_.lanes();
    }

    // Read as memory runs, used across it.
    void turn() {
        if (p_.place != Place::kAt) {
            p_.vector = f_.dims[0];
            return;
        }
        p_.on_stack = true;
        p_.vector = r_.product->vector;
        p_.width = int64_t(region(p_.vector));
        p_.order = {p_.vector, f_.dims[0]};
        p_.unrolled = {f_.dims[0]};
    }

    // A few sums, each of them over the SIMD lanes.
    bool dots() {
        if (!r_.product || p_.place != Place::kAt || !r_.product->vector.empty() || f_.stages.size() != 2 || !f_.stages[1].associative) {
            return false;
        }
        double elements = 1;
        UpdateBody u;
        u.kind = UpdateBody::kDots;
        for (const auto &dim : f_.dims) {
            elements *= region(dim);
            if (region(dim) > 1) {
                p_.unrolled.push_back(dim);
                if (r_.product->columns.count(dim)) {
                    p_.constant[dim] = int64_t(region(dim));
                }
            }
        }
        for (const Loop &l : f_.stages[1].loops) {
            if (l.rvar) {
                u.lanes_loop = u.lanes_loop.empty() ? l.name : u.lanes_loop;
                u.order.push_back(l.name);
            }
        }
        if (elements > 32 || u.order.size() != 1 || f_.stages[1].loop(u.lanes_loop)->extent < 2 * d_.lanes()) {
            p_.unrolled.clear();
            p_.constant.clear();
            return false;
        }
        u.unrolled = p_.unrolled;
        // The lanes of some sums are added together in half as many steps as one after the other; long sums hide it.
        const double steps = f_.stages[1].loop(u.lanes_loop)->extent / d_.lanes();
        if (!u.unrolled.empty() && choices_.yes("lanes of " + f_.name + " together", steps <= 16)) {
            u.vector = u.unrolled.front();
        }
        p_.on_stack = true;
        p_.updates.push_back(u);
        return true;
    }

    std::string first_wide() const {
        for (const auto &dim : f_.dims) {
            if (region(dim) >= d_.lanes()) {
                return dim;
            }
        }
        return "";
    }

    // One call for a block of rows and columns, over all of the sum.
    void mma() {
        const Product &product = *r_.product;
        p_.on_stack = true;
        p_.vector = product.vector;
        p_.constant[p_.vector] = int64_t(region(p_.vector));
        std::string rows;
        for (const auto &dim : f_.dims) {
            if (dim != p_.vector && (rows.empty() || region(dim) > region(rows))) {
                rows = dim;
            }
        }
        p_.at_most[rows] = int64_t(region(rows));
        for (size_t s = 1; s < f_.stages.size(); s++) {
            UpdateBody u;
            u.kind = s == 1 ? UpdateBody::kMma : UpdateBody::kColumns;
            u.vector = p_.vector;
            u.order = {p_.vector, rows};
            if (s == 1) {
                find_group(int(s), u);
                // Of float32 a call makes the parts of all that it sums, once for many blocks.
                u.depth = u.group == 1 ? 0
                                       : choices_.number("depth of " + f_.name, {0, 256, 512, 1024}, 0,
                                                         int64_t(f_.stages[s].loop(u.grouped)->extent) - 1);
            }
            for (const Loop &l : f_.stages[s].loops) {
                if (l.rvar) {
                    u.order.push_back(l.name);
                }
            }
            p_.updates.push_back(u);
        }
    }

    void tile() {
        p_.on_stack = true;
        p_.vector = r_.product->vector;
        for (const auto &dim : f_.dims) {
            if (dim == p_.vector || region(dim) > 1) {
                p_.unrolled.push_back(dim);
            }
        }
        p_.constant[p_.vector] = int64_t(region(p_.vector));
        for (size_t s = 1; s < f_.stages.size(); s++) {
            const Stage &stage = f_.stages[s];
            UpdateBody u;
            u.kind = UpdateBody::kTile;
            u.vector = p_.vector;
            u.order.push_back(p_.vector);
            for (const auto &dim : f_.dims) {
                if (dim != p_.vector && region(dim) > 1) {
                    u.order.push_back(dim);
                }
            }
            u.unrolled = p_.unrolled;
            group(int(s), u);
            for (const Loop &l : stage.loops) {
                if (!l.rvar) {
                    continue;
                }
                u.order.push_back(l.name);
                // The windows of a stencil share what they load.
                if (r_.product->stencil && l.extent <= 5) {
                    u.unrolled.push_back(l.name);
                }
            }
            p_.updates.push_back(u);
        }
    }

    // Elements of a reduction's loop that lie together: pairs of bf16, fours of bytes.
    void find_group(int s, UpdateBody &u) {
        for (const Read &r : r_.graph->reads(f_.name, s)) {
            for (const Index &i : r.index) {
                if (i.mod > 1 && i.mod <= 4 && i.loops.size() == 1) {
                    const Loop *l = f_.stages[size_t(s)].loop(i.loops.begin()->first);
                    if (l && l->rvar && l->extent >= double(i.mod)) {
                        u.grouped = l->name;
                        u.group = i.mod;
                    }
                }
            }
        }
    }

    void group(int s, UpdateBody &u) {
        find_group(s, u);
        if (u.group > 1) {
            const bool narrow = region(u.vector) <= 3 * d_.lanes() * 2;
            u.dot = choices_.yes("dot in " + f_.name, (u.group == 4 || d_.has_fast_bf16()) && narrow);
        }
    }

    UpdateBody update(int s) {
        const Stage &stage = f_.stages[size_t(s)];
        UpdateBody u;
        const bool whole = p_.place == Place::kRoot && !f_.fixed && !f_.permuted;
        const bool of_nest = r_.nest && r_.nest->stage == s;
        if (whole && !of_nest && strips(s, u)) {
            return u;
        }
        if (of_nest && !r_.nest->inside.empty()) {
            return u;  // the nest has all of its loops
        }
        if (whole && scatters(f_, s) && copies(s, u)) {
            return u;
        }
        const Loop *reduced = nullptr;
        for (const Loop &l : stage.loops) {
            reduced = !reduced && l.rvar ? &l : reduced;
        }
        // A dimension that this update walks along, as a whole.
        std::string wide;
        for (size_t i = 0; i < f_.dims.size() && i < stage.stored.size(); i++) {
            if (wide.empty() && stage.stored[i].is(f_.dims[i]) && region(f_.dims[i]) >= d_.lanes() &&
                (walks_memory(*r_.graph, f_, s, f_.dims[i]) || (stage.reduces() && !stage.associative))) {
                wide = f_.dims[i];
            }
        }
        const bool own_loop = r_.nest && std::any_of(r_.nest->levels.begin(), r_.nest->levels.end(),
                                                     [&](const Level &l) { return std::count(l.dims.begin(), l.dims.end(), wide) > 0; });
        if (!wide.empty() && !own_loop) {
            u.kind = UpdateBody::kColumns;
            u.vector = wide;
            if (reduced) {
                u.order = {wide};
                for (const Loop &l : stage.loops) {
                    if (!l.rvar && l.name != wide && region(l.name) > 1) {
                        u.order.push_back(l.name);
                    }
                }
                for (const Loop &l : stage.loops) {
                    if (l.rvar) {
                        u.order.push_back(l.name);
                    }
                }
            }
        } else if (reduced && stage.associative && reduced->extent >= 2 && !scatters(f_, s)) {
            u.kind = UpdateBody::kLanes;
            u.lanes_loop = reduced->name;
            const auto most = std::max<int64_t>(1, int64_t(reduced->extent / d_.lanes()));
            u.accumulators = choices_.number("accumulators of " + f_.name, {1, 2, 4, 8}, 4, most);
        }
        return u;
    }

    // All loops of a stage that is no stage of the nest: of a Func that is stored whole.
    bool strips(int s, UpdateBody &u) {
        const Stage &stage = f_.stages[size_t(s)];
        std::string along;
        for (size_t i = 0; i < f_.dims.size() && i < stage.stored.size(); i++) {
            const bool free = stage.stored[i].is(f_.dims[i]) && stage.loop(f_.dims[i]) && region(f_.dims[i]) >= d_.lanes();
            if (along.empty() && free && (!stage.associative || walks_memory(*r_.graph, f_, s, f_.dims[i]))) {
                along = f_.dims[i];
            }
        }
        if (along.empty() || scatters(f_, s)) {
            return false;
        }
        u.kind = UpdateBody::kStrips;
        u.vector = along;
        double iterations = 1;
        std::vector<std::string> others;
        for (const Loop &l : stage.loops) {
            iterations *= l.extent;
            if (l.rvar) {
                u.order.push_back(l.name);
            } else if (l.name != along) {
                others.push_back(l.name);
                u.parallel = l.extent >= 2 ? l.name : u.parallel;
            }
        }
        u.order.insert(u.order.end(), others.begin(), others.end());
        const int64_t lanes = d_.lanes();
        const std::string name = fmt::format("strip of update({}) of {}", s - 1, f_.name);
        u.strip = choices_.number(name, {lanes, 2 * lanes, 4 * lanes, 8 * lanes, 16 * lanes}, 4 * lanes, int64_t(region(along)));
        const bool small = iterations < kWorthTasks;
        if (small || region(along) < 2.0 * r_.threads * double(u.strip)) {
            u.strip = 0;
        }
        u.parallel = small || u.strip > 0 ? "" : u.parallel;
        return true;
    }

    // A copy for each of some tasks, where a sum goes anywhere: few elements of many.
    bool copies(int s, UpdateBody &u) {
        const Stage &stage = f_.stages[size_t(s)];
        double iterations = 1, elements = 1;
        const Loop *outermost = nullptr;
        for (const Loop &l : stage.loops) {
            iterations *= l.extent;
            outermost = l.rvar ? &l : nullptr;
            if (!l.rvar) {
                return false;
            }
        }
        for (const auto &dim : f_.dims) {
            elements *= region(dim);
        }
        const double tasks = 4.0 * r_.threads;
        if (!outermost || s != 1 || !stage.associative || iterations < kWorthTasks || outermost->extent < tasks ||
            elements * tasks > iterations / 4 || !choices_.yes("copies of " + f_.name + " for tasks", true)) {
            return false;
        }
        u.kind = UpdateBody::kPrivate;
        u.lanes_loop = outermost->name;
        u.strip = int64_t(std::ceil(outermost->extent / tasks));
        u.vector = region(f_.dims[0]) >= d_.lanes() ? f_.dims[0] : "";
        return true;
    }

    const Description &d_;
    const BodyRequest &r_;
    Choices &choices_;
    const Func &f_;
    Placed &p_;
};

}  // namespace

bool walks_memory(const Graph &graph, const Func &func, int stage, const std::string &loop) {
    for (const Read &r : graph.reads(func.name, stage)) {
        for (size_t i = 1; i < r.index.size(); i++) {
            if (r.index[i].uses(loop) && !r.index[0].uses(loop)) {
                return false;
            }
        }
    }
    return true;
}

bool scatters(const Func &func, int stage) {
    const Stage &s = func.stages[size_t(stage)];
    return std::any_of(s.stored.begin(), s.stored.end(), [&](const Index &i) {
        return !i.exact &&
               std::any_of(i.loops.begin(), i.loops.end(), [&](const auto &l) { return s.loop(l.first) && s.loop(l.first)->rvar; });
    });
}

void choose_bodies(const Description &description, const BodyRequest &request, Choices &choices) {
    Bodies(description, request, choices).choose();
}

}  // namespace halyard::explore
