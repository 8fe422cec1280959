#include "explore/space/planner.h"

#include <algorithm>

#include "explore/space/fixed_nest.h"
#include "explore/space/inlining.h"
#include "explore/space/levels.h"
#include "explore/space/nest_request.h"
#include "explore/space/update_body.h"

namespace halyard::explore {

namespace {

// Instructions that take longer than to hand them to a thread.
constexpr double kWorthThreads = 1e6;

class Planner {
public:
    Planner(const Description &d, Choices &choices, int threads)
        : d_(d), choices_(choices), threads_(threads), draft_(d), levels_(draft_) {}

    Plan make() {
        draft_.graph = std::make_unique<Graph>(d_, choose_inlined(draft_, choices_));
        for (const auto &f : d_.funcs) {
            plan_.placed[f.first].place = Place::kInlined;
        }
        for (const Func *f : draft_.graph->order()) {
            plan_.order.push_back(f->name);
            place(*f);
        }
        return std::move(plan_);
    }

private:
    void place(const Func &f) {
        Placed &p = plan_.placed[f.name];
        if (f.fixed) {
            place_fixed(f, p);
            return;
        }
        if (f.output) {
            p.place = Place::kRoot;
            whole_region(f, p);
            if (!join_output(f)) {
                nest(f, true);
            }
            body(f, p);
            return;
        }
        auto at = levels_.common_level(f);
        bool fused = at.has_value();
        if (fused) {
            const At task = outermost(*at);
            // Loops of a given script go by their names.
            const bool of_script = d_.func(at->nest)->fixed.has_value();
            const std::string here = of_script ? loop_name(*at) : "fused", of_task = of_script ? loop_name(task) : "task";
            std::vector<std::string> options = {here, "root"};
            if (task.level != at->level) {
                options.insert(options.begin() + 1, of_task);
                if (slides(f, *at, task)) {
                    options.insert(options.begin() + 1, "slid");
                }
            }
            const auto others = loops_of_script(f, *at);
            for (const auto &o : others) {
                if (std::find(options.begin(), options.end(), o.first) == options.end()) {
                    options.push_back(o.first);
                }
            }
            const std::string guess = guess_place(f, *at, task);
            const std::string place = choices_.pick("place of " + f.name, options,
                                                    guess == "fused"  ? here
                                                    : guess == "task" ? of_task
                                                                      : guess);
            fused = place != "root";
            at = others.count(place) ? others.at(place) : place == of_task && place != here ? task : *at;
            p.recomputed = fused ? levels_.recomputed(f, place == "slid" ? task : *at) : 1;
            p.store_level = place == "slid" ? plan_.nests.at(task.nest).levels[task.level].name : "";
        }
        if (!fused) {
            p.place = Place::kRoot;
            whole_region(f, p);
            nest(f, true);
        } else {
            const Nest &in = plan_.nests.at(at->nest);
            p.place = Place::kAt;
            p.in = at->nest;
            p.in_stage = in.stage;
            p.level = in.levels[at->level].name;
            p.region = levels_.region_at(f, *at);
            if (draft_.has_loops(f.name)) {
                nest(f, false);
            }
        }
        body(f, p);
    }

    // Where a given script has it, and with the loops that it makes there.
    void place_fixed(const Func &f, Placed &p) {
        std::optional<At> at;
        if (f.fixed->place == "at") {
            at = named_level(f.fixed->in, f.fixed->loop);
        } else if (f.fixed->place == "inlined") {
            at = levels_.common_level(f);  // an update, which Halide computes where it is used
        }
        p.place = at ? Place::kAt : Place::kRoot;
        if (at) {
            const Nest &in = plan_.nests.at(at->nest);
            p.in = at->nest;
            p.in_stage = in.stage;
            p.level = in.levels[at->level].name;
            p.region = levels_.region_at(f, *at);
            p.recomputed = levels_.recomputed(f, *at);
        } else {
            whole_region(f, p);
        }
        plan_.nests[f.name] = fixed_nest(f, p.region);
        for (const auto &s : f.stages) {
            total_ += s.instructions;
        }
        describe_lanes(f, p);
    }

    // For the prediction: which of its stages run in SIMD lanes.
    static void describe_lanes(const Func &f, Placed &p) {
        for (size_t s = 0; s < f.fixed->stages.size(); s++) {
            std::string vector;
            for (const auto &l : f.fixed->stages[s].loops) {
                vector = l.kind == "vectorized" ? l.name : vector;
            }
            if (s == 0) {
                p.vector = vector;
                continue;
            }
            UpdateBody u;
            u.kind = vector.empty() ? UpdateBody::kPlain : UpdateBody::kColumns;
            u.vector = vector;
            p.updates.push_back(u);
        }
    }

    std::optional<At> named_level(const std::string &nest, const std::string &loop) const {
        const auto n = plan_.nests.find(nest);
        for (size_t i = 0; n != plan_.nests.end() && i < n->second.levels.size(); i++) {
            if (n->second.levels[i].name == loop) {
                return At{nest, i};
            }
        }
        return std::nullopt;
    }

    std::string loop_name(const At &at) const {
        return at.nest + "." + plan_.nests.at(at.nest).levels[at.level].name;
    }

    // The loops of a given script that it may be computed in: those around a place, and those of its only reader.
    std::map<std::string, At> loops_of_script(const Func &f, const At &at) const {
        std::map<std::string, At> result;
        const auto add = [&](const std::string &nest, size_t first) {
            const Nest &n = plan_.nests.at(nest);
            for (size_t i = first; d_.func(nest)->fixed && i < n.levels.size(); i++) {
                if (may_hold(*d_.func(nest), n, n.levels[i])) {
                    result[loop_name({nest, i})] = At{nest, i};
                }
            }
        };
        for (std::optional<At> x = at; x; x = levels_.outwards(*x)) {
            add(x->nest, x->level);
        }
        const auto &readers = draft_.graph->readers(f.name);
        const bool one = !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const Reader &r) {
            return r.func == readers.front().func && r.stage == readers.front().stage;
        });
        if (one && plan_.nests.count(readers.front().func->name) && readers.front().func->name != at.nest &&
            plan_.nests.at(readers.front().func->name).stage == readers.front().stage) {
            add(readers.front().func->name, 0);
        }
        return result;
    }

    // Whether the loops that it would be computed in leave threads without work that it has for them.
    bool starved(const Func &f, const At &at) const {
        std::string root = at.nest;
        while (plan_.placed.at(root).place == Place::kAt) {
            root = plan_.placed.at(root).in;
        }
        const Nest &n = plan_.nests.at(root);
        const double jobs = n.job.empty() ? 1 : n.levels.back().extent;
        double elements = 1;
        for (const Loop &l : f.stages[f.reduction() ? 1 : 0].loops) {
            elements *= l.rvar ? 1 : l.extent;
        }
        return jobs < threads_ && elements >= 2 * threads_ && draft_.upstream(f, true) > kWorthThreads;
    }

    // Windows over windows are stored whole after so many: each is wider than the one before it, and Halide's time to compile them
    // grows faster than their number. So is a picture that is smaller than what is made of it, as a level of a pyramid, from where on
    // tasks would make much of it again.
    bool ends_strip(const Func &f, const At &at, const At &task) const {
        const auto elements = [](const Func &x) { return x.size() / std::max(x.bytes, 1); };
        const auto inside = std::count_if(plan_.placed.begin(), plan_.placed.end(),
                                          [&](const auto &p) { return p.second.place == Place::kAt && p.second.in == at.nest; });
        if (inside >= 3 && inside >= choices_.number("windows in one loop", {3, 6, 11, 16}, 6)) {
            return true;
        }
        if (elements(f) >= 0.5 * elements(*d_.func(at.nest))) {
            return false;
        }
        const double again = draft_.upstream(f) * (levels_.recomputed(f, task) - 1);
        return again > 0.1 * draft_.instructions() || !choices_.yes("levels in strips", false);
    }

    // Whether enough is computed at once there along a dimension that each step has all of.
    bool has_lanes(const Func &f, const At &at) const {
        const Region &region = levels_.region_at(f, at);
        for (size_t i = 0; i < f.dims.size(); i++) {
            const auto it = region.find(f.dims[i]);
            if (f.free(i) && it != region.end() && it->second >= d_.lanes()) {
                return true;
            }
        }
        return false;
    }

    // Whether a loop further out has enough of a dimension at once for the SIMD lanes that go along it, where this one has not.
    bool wants_task(const Func &f, const std::string &dim, const At &at, const At &task) const {
        const auto wide = [&](const At &where) {
            const Region &region = levels_.region_at(f, where);
            const auto it = region.find(dim);
            return it != region.end() && it->second >= std::min<double>(d_.lanes(), f.extent(dim));
        };
        return task.level != at.level && !wide(at) && wide(task) && levels_.recomputed(f, task) < 1.5;
    }

    // The dimension along which it has its lanes, since it, or what it reads, lies so in memory; "" where that is nothing special.
    std::string lanes_of_layout(const Func &f) const {
        const bool reads = std::any_of(f.stages.begin(), f.stages.end(), [&](const Stage &s) {
            return std::any_of(s.reads.begin(), s.reads.end(), [&](const Read &r) {
                const Func *of = d_.func(r.func);
                return of && of->permuted && f.reduction() && !r.index.empty() && !f.dims.empty() && r.index[0].is(f.dims[0]);
            });
        });
        return (f.permuted || reads) && !draft_.products.count(f.name) ? f.dims[0] : "";
    }

    std::string guess_place(const Func &f, const At &at, const At &task) const {
        if (const std::string dim = lanes_of_layout(f); !dim.empty() && !starved(f, task) && wants_task(f, dim, at, task)) {
            return "task";
        }
        // A product in tiles needs several rows at once.
        const auto of_host = std::find_if(draft_.products.begin(), draft_.products.end(),
                                          [&](const auto &p) { return p.second.host == f.name && !p.second.turned; });
        if (of_host != draft_.products.end() && starved(f, at)) {
            return "root";
        }
        if (of_host != draft_.products.end()) {
            const auto region = levels_.region_at(f, at);
            double rows = 1, all = 1;
            Drivers moved = levels_.drivers_from(of_host->first, f.name);
            for (const auto &l : of_host->second.rows) {
                for (const auto &dim : moved[l]) {
                    rows *= region.at(dim);
                    all *= f.extent(dim);
                }
            }
            return rows >= std::min(all, 8.0) && levels_.recomputed(f, at) < 1.05 ? "fused" : "root";
        }
        const auto product = draft_.products.find(f.name);
        if (product != draft_.products.end() && product->second.host == at.nest) {
            return "fused";  // in the tiles that are there for it
        }
        if (starved(f, at)) {
            return "root";
        }
        // A recurrence waits for its own steps: it wants a free dimension in SIMD lanes.
        if (f.recurrence() && !has_lanes(f, at)) {
            return task.level != at.level && has_lanes(f, task) ? "task" : "root";
        }
        if (!f.reduction() && levels_.recomputed(f, at) > 1.2 && ends_strip(f, at, task)) {
            return "root";
        }
        const double allowed = (f.reduction() ? 0.01 : 0.1) * total_, whole = draft_.upstream(f);
        if (!f.reduction() && task.level != at.level && levels_.recomputed(f, at) > 1.2 &&
            levels_.recomputed(f, task) < 0.8 * levels_.recomputed(f, at)) {
            return slides(f, at, task) ? "slid" : "task";  // windows that overlap
        }
        if (whole * (levels_.recomputed(f, at) - 1) <= allowed) {
            return "fused";
        }
        return task.level != at.level && whole * (levels_.recomputed(f, task) - 1) <= std::max(allowed, 0.1 * total_) &&
                       levels_.recomputed(f, task) < 0.8 * levels_.recomputed(f, at)
                   ? "task"
                   : "root";
    }

    // Whether windows that overlap can be kept from one iteration to the next: operands of products are copied instead, and
    // what a tile of registers needs comes at once.
    bool slides(const Func &f, const At &at, const At &task) const {
        const Nest &n = plan_.nests.at(at.nest);
        const bool operand =
            std::any_of(draft_.products.begin(), draft_.products.end(), [&](const auto &p) { return draft_.reads(p.first, f.name); });
        return !operand && !f.reduction() && at.level < task.level && !n.levels[at.level].inside_tile &&
               n.levels[at.level].dims.size() == 1 && levels_.recomputed(f, at) > 1.2;
    }

    // The outermost loop of the nest that moves what is read of f.
    At outermost(At at) const {
        const Nest &n = plan_.nests.at(at.nest);
        std::set<std::string> moving;
        for (const auto &d : levels_.drivers_from(plan_.order.back(), at.nest)) {
            moving.insert(d.second.begin(), d.second.end());
        }
        for (size_t i = at.level; i < n.levels.size(); i++) {
            for (const auto &dim : n.levels[i].dims) {
                at.level = moving.count(dim) ? i : at.level;
            }
        }
        return at;
    }

    // An output with the loops of another is computed in them.
    bool join_output(const Func &f) {
        for (auto &[leader, n] : plan_.nests) {
            const Func &l = *d_.func(leader);
            if (!l.output || l.fixed || l.dims != f.dims || f.reduction() || l.reduction() || !n.with.empty() || n.job.empty()) {
                continue;
            }
            bool same = std::none_of(n.cuts.begin(), n.cuts.end(), [](const Cut &c) { return c.registers; });
            for (const auto &dim : f.dims) {
                same = same && f.extent(dim) == l.extent(dim);
            }
            if (!same || !choices_.yes(f.name + " with " + leader, true)) {
                continue;
            }
            Nest copy = n;
            copy.func = f.name;
            copy.with = leader;
            for (const Level &level : n.levels) {
                if (!level.vector && !level.inside_tile) {
                    copy.with_level = level.name;
                    break;
                }
            }
            plan_.nests[f.name] = copy;
            return true;
        }
        return false;
    }

    void whole_region(const Func &f, Placed &p) {
        for (const auto &dim : f.dims) {
            p.region[dim] = f.extent(dim);
        }
    }

    void nest(const Func &f, bool root) {
        NestRequest r = nest_request(draft_, levels_, f);
        r.root = root;
        r.threads = threads_;
        if (root && r.products.empty()) {
            find_strip(f, r);
        }
        plan_.nests[f.name] = build_nest(d_, r, choices_);
        for (const auto &s : f.stages) {
            total_ += s.instructions;
        }
        for (const auto &p : r.products) {
            total_ += d_.func(p.product->func)->stages[size_t(p.product->update)].instructions;
        }
    }

    // Sums and recurrences along a dimension that lies together in memory: each lane has its own, and what is summed comes in
    // the order of the loop. Sums over what lies together go over the lanes instead.
    void find_strip(const Func &f, NestRequest &r) const {
        if (!f.reduction() || f.fixed || f.permuted || f.dims.empty() || draft_.products.count(f.name) || draft_.has_loops(f.name)) {
            return;
        }
        const std::string &dim = f.dims[0];
        const Stage &s = f.stages[1];
        const bool stored = !s.stored.empty() && s.stored[0].is(dim) && s.loop(dim) && !scatters(f, 1);
        if (stored && f.extent(dim) >= d_.lanes() && (!s.associative || walks_memory(*draft_.graph, f, 1, dim))) {
            r.strip = dim;
            for (const Loop &l : s.loops) {
                if (l.rvar) {
                    r.sum.push_back(l.name);
                }
            }
        }
    }

    void body(const Func &f, Placed &p) {
        BodyRequest r{&f, &p, nullptr, draft_.graph.get(), nullptr, threads_};
        const auto product = draft_.products.find(f.name);
        r.product = product == draft_.products.end() ? nullptr : &product->second;
        const auto n = plan_.nests.find(f.name);
        r.nest = n == plan_.nests.end() ? nullptr : &n->second;
        choose_bodies(d_, r, choices_);
    }

    const Description &d_;
    Choices &choices_;
    const int threads_;
    Draft draft_;
    Plan &plan_ = draft_.plan;
    const Levels levels_;
    double total_ = 0;  // instructions of the nests so far
};

}  // namespace

Plan make_plan(const Description &description, Choices &choices, int threads) {
    return Planner(description, choices, threads).make();
}

std::string Plan::fusion() const {
    std::string at, roots, inlined;
    for (const auto &[name, p] : placed) {
        std::string &list = p.place == Place::kAt ? at : p.place == Place::kRoot ? roots : inlined;
        list += (list.empty() ? "" : ", ") + name + (p.place == Place::kAt ? " at " + p.in + "." + p.level : "");
    }
    return "stored whole: " + roots + (at.empty() ? "" : "; computed where it is used: " + at) +
           (inlined.empty() ? "" : "; inlined: " + inlined);
}

}  // namespace halyard::explore
