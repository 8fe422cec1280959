#include "planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "fixed_nest.h"
#include "graph.h"
#include "nest_builder.h"
#include "product.h"
#include "tile_operands.h"
#include "update_body.h"

namespace halyard::explore {

namespace {

// Instructions that take longer than to hand them to a thread.
constexpr double kWorthThreads = 1e6;

using Drivers = std::map<std::string, std::set<std::string>>;  // by dimension: the loops of a nest that move it

class Planner {
public:
    Planner(const Description &d, Choices &choices, int threads)
        : d_(d), choices_(choices), threads_(threads), products_(find_products(d)) {
        for (const auto &p : products_) {
            if (!d_.func(p.first)->fixed) {
                hosts_.insert(p.second.host);
            }
        }
        for (const auto &[name, f] : d_.funcs) {
            if (f.fixed) {
                given_ = true;
                if (f.fixed->place == "at") {
                    named_[f.fixed->in].insert(f.fixed->loop);
                }
            }
        }
    }

    Plan make() {
        const TileOperands operands = choose_mma();
        const std::set<std::string> inlined = choose_inlined(operands);
        graph_ = std::make_unique<Graph>(d_, inlined);
        for (const auto &f : d_.funcs) {
            plan_.placed[f.first].place = Place::kInlined;
        }
        for (const Func *f : graph_->order()) {
            plan_.order.push_back(f->name);
            place(*f);
        }
        return std::move(plan_);
    }

private:
    // A loop of a nest.
    struct At {
        std::string nest;
        size_t level = 0;
    };

    // --- what is stored at all

    // Which products tile instructions make: all of a host, in whose loops their blocks are.
    TileOperands choose_mma() {
        TileOperands all;
        const Graph graph(d_, {});
        for (const Func *of : graph.order()) {
            const std::string host = of->name;
            std::vector<Product *> hosted;
            TileOperands operands;
            bool possible = hosts_.count(host) && !of->fixed;
            for (auto &[name, p] : products_) {
                if (p.host != host) {
                    continue;
                }
                const auto of_product = tile_operands(d_, p);
                possible = possible && of_product && !named_.count(name);
                if (possible) {
                    hosted.push_back(&p);
                    operands.inlined.insert(of_product->inlined.begin(), of_product->inlined.end());
                    operands.stored.insert(of_product->stored.begin(), of_product->stored.end());
                }
            }
            possible = possible && std::none_of(operands.inlined.begin(), operands.inlined.end(),
                                                [&](const std::string &name) { return named_.count(name) > 0; });
            if (!possible || !choices_.yes("mma in " + host, d_.has_tiles())) {
                continue;
            }
            for (Product *p : hosted) {
                p->mma = true;
            }
            for (const auto &name : operands.inlined) {
                move_host(name);
            }
            all.inlined.insert(operands.inlined.begin(), operands.inlined.end());
            all.stored.insert(operands.stored.begin(), operands.stored.end());
        }
        return all;
    }

    // A host that only converts what it reads, and is inlined: the other is one as well.
    void move_host(const std::string &name) {
        if (hosts_.erase(name) == 0) {
            return;
        }
        const std::string read = d_.func(name)->pure().reads[0].func;
        hosts_.insert(read);
        for (auto &p : products_) {
            p.second.host = p.second.host == name ? read : p.second.host;
        }
    }

    std::set<std::string> choose_inlined(const TileOperands &operands) {
        std::set<std::string> inlined = operands.inlined;
        const Graph all(d_, {});
        for (const Func *f : all.order()) {
            if (operands.inlined.count(f->name) || operands.stored.count(f->name)) {
                continue;
            }
            if (f->fixed) {
                if (f->fixed->place == "inlined" && !f->reduction()) {
                    inlined.insert(f->name);
                }
                continue;
            }
            if (named_.count(f->name)) {
                continue;  // the script names its loops
            }
            if (f->output || f->reduction() || hosts_.count(f->name)) {
                continue;
            }
            if (const auto p = products_.find(f->name); p != products_.end()) {
                if (!choices_.yes("tiles of " + f->name, true)) {
                    inlined.insert(f->name);
                }
                continue;
            }
            const double times = uses(d_, inlined)[f->name];
            const double waste = f->pure().cost() * (times - 1);
            const bool copy = copies_columns(*f);
            if (f->permuted) {
                continue;  // its order in memory is what it is for
            }
            if (f->pure().cost() < 0.01 && !copy) {
                inlined.insert(f->name);  // another name of what it reads
                continue;
            }
            bool guess = copy && f->pure().cost() < 0.01 ? !worth_copying(*f) : waste <= 2;
            const bool window = std::any_of(products_.begin(), products_.end(), [&](const auto &p) {
                return p.second.stencil && upstream_direct(p.first, f->name);
            });
            guess = guess || window;
            const bool open = given_ || copy || (waste > 0.2 && times > 1.01);
            if (open ? choices_.yes("inline " + f->name, guess) : guess) {
                inlined.insert(f->name);
            }
        }
        return inlined;
    }

    bool upstream_direct(const std::string &func, const std::string &of) const {
        for (const Stage &s : d_.func(func)->stages) {
            for (const Read &r : s.reads) {
                if (r.func == of) {
                    return true;
                }
            }
        }
        return false;
    }

    const Product *read_as_columns(const Func &f) const {
        for (const auto &[name, p] : products_) {
            const Stage &s = d_.func(name)->stages[size_t(p.update)];
            for (const Read &r : s.reads) {
                if (r.func == f.name && !p.vector.empty() && r.uses(p.vector)) {
                    return &p;
                }
            }
        }
        return nullptr;
    }

    bool copies_columns(const Func &f) const {
        return read_as_columns(f) != nullptr;
    }

    // Weights as they are written: rows of them lie far apart, and many rows of the product share a copy.
    bool worth_copying(const Func &f) const {
        const Product &p = *read_as_columns(f);
        double rows = 1;
        for (const auto &r : p.rows) {
            rows *= d_.func(p.func)->extent(r);
        }
        return p.panel == 0 && d_.func(p.func)->extent(p.vector) > 64 && rows >= 64;
    }

    // --- where

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
        auto at = common_level(f);
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
                                                    guess == "fused" ? here : guess == "task" ? of_task : guess);
            fused = place != "root";
            at = others.count(place) ? others.at(place) : place == of_task && place != here ? task : *at;
            p.recomputed = fused ? recomputed(f, place == "slid" ? task : *at) : 1;
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
            p.region = region_at(f, *at);
            if (has_loops(f.name)) {
                nest(f, false);
            }
        }
        body(f, p);
    }

    // Whether others are computed in its loops, wherever it is.
    bool has_loops(const std::string &name) const {
        return hosts_.count(name) > 0 || named_.count(name) > 0;
    }

    // Where a given script has it, and with the loops that it makes there.
    void place_fixed(const Func &f, Placed &p) {
        std::optional<At> at;
        if (f.fixed->place == "at") {
            at = named_level(f.fixed->in, f.fixed->loop);
        } else if (f.fixed->place == "inlined") {
            at = common_level(f);  // an update, which Halide computes where it is used
        }
        p.place = at ? Place::kAt : Place::kRoot;
        if (at) {
            const Nest &in = plan_.nests.at(at->nest);
            p.in = at->nest;
            p.in_stage = in.stage;
            p.level = in.levels[at->level].name;
            p.region = region_at(f, *at);
            p.recomputed = recomputed(f, *at);
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
        for (std::optional<At> x = at; x; x = outwards(*x)) {
            add(x->nest, x->level);
        }
        const auto &readers = graph_->readers(f.name);
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
        return jobs < threads_ && elements >= 2 * threads_ && upstream(f, true) > kWorthThreads;
    }

    std::string guess_place(const Func &f, const At &at, const At &task) const {
        // A product in tiles needs several rows at once.
        const auto of_host = std::find_if(products_.begin(), products_.end(),
                                          [&](const auto &p) { return p.second.host == f.name && !p.second.turned; });
        if (of_host != products_.end() && starved(f, at)) {
            return "root";
        }
        if (of_host != products_.end()) {
            const auto region = region_at(f, at);
            double rows = 1, all = 1;
            Drivers moved = drivers_from(of_host->first, f.name);
            for (const auto &l : of_host->second.rows) {
                for (const auto &dim : moved[l]) {
                    rows *= region.at(dim);
                    all *= f.extent(dim);
                }
            }
            return rows >= std::min(all, 8.0) && recomputed(f, at) < 1.05 ? "fused" : "root";
        }
        const auto product = products_.find(f.name);
        if (product != products_.end() && product->second.host == at.nest) {
            return "fused";  // in the tiles that are there for it
        }
        if (starved(f, at)) {
            return "root";
        }
        const double allowed = (f.reduction() ? 0.01 : 0.1) * total_, whole = upstream(f);
        if (!f.reduction() && task.level != at.level && recomputed(f, at) > 1.2 &&
            recomputed(f, task) < 0.8 * recomputed(f, at)) {
            return slides(f, at, task) ? "slid" : "task";  // windows that overlap
        }
        if (whole * (recomputed(f, at) - 1) <= allowed) {
            return "fused";
        }
        return task.level != at.level && whole * (recomputed(f, task) - 1) <= std::max(allowed, 0.1 * total_) &&
                       recomputed(f, task) < 0.8 * recomputed(f, at)
                   ? "task"
                   : "root";
    }

    // Whether windows that overlap can be kept from one iteration to the next: operands of products are copied instead, and
    // what a tile of registers needs comes at once.
    bool slides(const Func &f, const At &at, const At &task) const {
        const Nest &n = plan_.nests.at(at.nest);
        const bool operand = std::any_of(products_.begin(), products_.end(), [&](const auto &p) {
            return upstream_direct(p.first, f.name);
        });
        return !operand && !f.reduction() && at.level < task.level && !n.levels[at.level].inside_tile &&
               n.levels[at.level].dims.size() == 1 && recomputed(f, at) > 1.2;
    }

    // The outermost loop of the nest that moves what is read of f.
    At outermost(At at) const {
        const Nest &n = plan_.nests.at(at.nest);
        std::set<std::string> moving;
        for (const auto &d : drivers_from(plan_.order.back(), at.nest)) {
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
        NestRequest r;
        r.func = &f;
        r.root = root;
        r.threads = threads_;
        r.region = plan_.placed.at(f.name).region;
        for (const auto &[name, p] : products_) {
            if (p.host == f.name && graph_->stored(name) && !d_.func(name)->fixed) {
                r.products.push_back({&p, drivers_from(name, f.name)});
            }
        }
        // Which dimensions the statistics of a row are indexed by.
        for (const Func *other : graph_->order()) {
            if (other->reduction() && !products_.count(other->name) && upstream_of(f, other->name)) {
                r.statistics = true;
            }
        }
        for (const Read &read : graph_->reads(f.name, f.reduction() ? 1 : 0)) {
            for (const Index &i : read.index) {
                if (i.loops.size() == 1 && i.exact && (i.div > 1 || i.mod > 1) && d_.func(read.func)) {
                    r.natural[i.loops.begin()->first] = std::max(i.div, i.mod);
                }
            }
        }
        r.windows = has_windows(f.name);
        if (const auto it = named_.find(f.name); it != named_.end()) {
            r.named = it->second;
        }
        // Dimensions of few elements on which nothing depends that is dear and computed for this: colours of a pixel.
        std::set<std::string> moving;
        for (const Read &read : graph_->reads(f.name, f.reduction() ? 1 : 0)) {
            const Func *other = d_.func(read.func);
            if (!other || upstream(*other, true) < 0.1 * upstream(f, true)) {
                continue;
            }
            for (const Index &i : read.index) {
                for (const auto &l : i.loops) {
                    moving.insert(l.first);
                }
            }
        }
        for (const auto &dim : f.dims) {
            if (!moving.empty() && !moving.count(dim) && f.extent(dim) > 1 && f.extent(dim) <= 16) {
                r.still.insert(dim);
            }
        }
        // Products that are reduced on the way want their panels of columns here too.
        for (const auto &[name, p] : products_) {
            if (p.host == f.name || p.panel == 0 || p.turned || !graph_->stored(name)) {
                continue;
            }
            const auto moved = drivers_from(name, f.name);
            const auto it = moved.find(p.vector);
            if (it != moved.end() && it->second.size() == 1 && f.extent(*it->second.begin()) > 2 * d_.lanes()) {
                r.columns[*it->second.begin()] = p.panel;
            }
        }
        for (int s = 0; s < int(f.stages.size()); s++) {
            r.cost += graph_->cost(f.name, s);
        }
        plan_.nests[f.name] = build_nest(d_, r, choices_);
        for (const auto &s : f.stages) {
            total_ += s.instructions;
        }
        for (const auto &p : r.products) {
            total_ += d_.func(p.product->func)->stages[size_t(p.product->update)].instructions;
        }
    }

    // Whether what is stored and not whole is read at places some rows apart, here or further up.
    bool has_windows(const std::string &name) const {
        const Func &f = *d_.func(name);
        for (int s = 0; s < int(f.stages.size()); s++) {
            std::map<std::pair<std::string, size_t>, int64_t> seen;
            for (const Read &r : graph_->reads(name, s)) {
                if (!d_.func(r.func) || r.func == name || products_.count(r.func) || hosts_.count(r.func)) {
                    continue;
                }
                for (size_t i = 1; i < r.index.size(); i++) {
                    const auto [first, fresh] = seen.emplace(std::make_pair(r.func, i), r.index[i].offset.value_or(0));
                    if (!fresh && first->second != r.index[i].offset.value_or(0)) {
                        return true;
                    }
                }
                if (has_windows(r.func)) {
                    return true;
                }
            }
        }
        return false;
    }

    bool upstream_of(const Func &f, const std::string &name) const {
        std::set<std::string> seen;
        const std::function<bool(const std::string &)> reaches = [&](const std::string &from) {
            const Func *x = d_.func(from);
            if (!x || !seen.insert(from).second) {
                return false;
            }
            for (int s = 0; s < int(x->stages.size()); s++) {
                for (const Read &r : graph_->reads(from, s)) {
                    if (r.func == name || (!hosts_.count(r.func) && r.func != from && reaches(r.func))) {
                        return true;
                    }
                }
            }
            return false;
        };
        return reaches(f.name);
    }

    // --- levels

    std::optional<At> level_of_reader(const Reader &r) const {
        const auto n = plan_.nests.find(r.func->name);
        const Placed &p = plan_.placed.at(r.func->name);
        // What a given script computes somewhere counts as one step there.
        const bool one_step = r.func->fixed && p.place == Place::kAt && !has_loops(r.func->name);
        if (n != plan_.nests.end() && !one_step) {
            if (n->second.stage != r.stage) {
                return std::nullopt;
            }
            return n->second.with.empty() ? At{r.func->name, 0} : At{n->second.with, 0};
        }
        return p.place == Place::kAt ? std::optional<At>(At{p.in, index_of(p)}) : std::nullopt;
    }

    size_t index_of(const Placed &p) const {
        const auto &levels = plan_.nests.at(p.in).levels;
        for (size_t i = 0; i < levels.size(); i++) {
            if (levels[i].name == p.level) {
                return i;
            }
        }
        return 0;
    }

    std::optional<At> outwards(const At &a) const {
        const Placed &p = plan_.placed.at(a.nest);
        return p.place == Place::kAt ? std::optional<At>(At{p.in, index_of(p)}) : std::nullopt;
    }

    std::optional<At> common_level(const Func &f) {
        std::optional<At> at;
        for (const Reader &r : graph_->readers(f.name)) {
            std::optional<At> here = level_of_reader(r);
            if (!here) {
                return std::nullopt;
            }
            if (!at) {
                at = here;
                continue;
            }
            at = join(*at, *here);
            if (!at) {
                return std::nullopt;
            }
        }
        while (at) {
            if (const auto fitting = move_out(f, *at)) {
                return fitting;
            }
            at = outwards(*at);
        }
        return at;
    }

    std::optional<At> join(At a, At b) const {
        for (std::optional<At> x = a; x; x = outwards(*x)) {
            for (std::optional<At> y = b; y; y = outwards(*y)) {
                if (x->nest == y->nest) {
                    return At{x->nest, std::max(x->level, y->level)};
                }
            }
        }
        return std::nullopt;
    }

    // The innermost loop from there on that moves what is read of f.
    std::optional<At> move_out(const Func &f, At at) {
        const Nest &n = plan_.nests.at(at.nest);
        const Drivers drivers = drivers_from(f.name, at.nest);
        std::set<std::string> moving;
        for (const auto &d : drivers) {
            if (!all_at_once(f, d.first)) {
                moving.insert(d.second.begin(), d.second.end());
            }
        }
        bool tile = products_.count(f.name) > 0 || hosts_.count(f.name) > 0;
        for (const Level &l : n.levels) {
            tile = tile || (l.vector && std::any_of(l.dims.begin(), l.dims.end(),
                                                    [&](const std::string &dim) { return moving.count(dim) > 0; }));
        }
        // What has a number for each row of a tile is computed for all of its rows at once, if they fill the lanes.
        for (size_t i = at.level; i < n.levels.size() && !tile; i++) {
            if (!n.levels[i].inside_tile && !n.levels[i].vector) {
                for (const auto &dim : region_at(f, {at.nest, i})) {
                    const auto it = drivers.find(dim.first);
                    tile = tile || (dim.second >= d_.lanes() && it != drivers.end() && inside_tile(n, it->second));
                }
                break;
            }
        }
        for (size_t i = at.level; i < n.levels.size(); i++) {
            const Level &l = n.levels[i];
            if (l.vector || (tile && l.inside_tile)) {
                continue;
            }
            if (std::any_of(l.dims.begin(), l.dims.end(),
                    [&](const std::string &dim) { return moving.count(dim) > 0; })) {
                return At{at.nest, i};
            }
        }
        return std::nullopt;
    }

    // An update that stores elsewhere than where it stands, as a sorted list does, is computed for the whole dimension.
    static bool all_at_once(const Func &f, const std::string &dim) {
        for (size_t s = 1; s < f.stages.size(); s++) {
            for (size_t i = 0; i < f.dims.size() && i < f.stages[s].stored.size(); i++) {
                if (f.dims[i] == dim && !f.stages[s].stored[i].is(dim)) {
                    return true;
                }
            }
        }
        return false;
    }

    static bool inside_tile(const Nest &n, const std::set<std::string> &dims) {
        return std::any_of(n.levels.begin(), n.levels.end(), [&](const Level &l) {
            return l.inside_tile && !l.vector && dims.count(l.dims[0]) > 0;
        });
    }

    // The loops of a nest that move each dimension of a Func, through what is computed in the nest.
    Drivers drivers_from(const std::string &func, const std::string &nest) const {
        Drivers result;
        std::set<std::string> busy;
        return drivers(func, nest, busy);
    }

    Drivers drivers(const std::string &func, const std::string &nest, std::set<std::string> &busy) const {
        Drivers result;
        if (!busy.insert(func).second) {
            return result;
        }
        const Func *f = d_.func(func);
        for (const Reader &r : graph_->readers(func)) {
            const bool leader = r.func->name == nest || joined(r.func->name, nest);
            const Drivers of_reader = leader ? Drivers() : drivers(r.func->name, nest, busy);
            for (size_t i = 0; i < r.read.index.size() && i < f->dims.size(); i++) {
                // One element that is looked up, somewhere in all of the dimension.
                const bool somewhere = r.read.index[i].clamped && !r.read.index[i].exact;
                for (const auto &l : somewhere ? decltype(r.read.index[i].loops)() : r.read.index[i].loops) {
                    if (leader) {
                        result[f->dims[i]].insert(l.first);
                    } else if (!r.definition().loop(l.first)->rvar) {
                        const auto it = of_reader.find(l.first);
                        if (it != of_reader.end()) {
                            result[f->dims[i]].insert(it->second.begin(), it->second.end());
                        }
                    }
                }
            }
        }
        busy.erase(func);
        return result;
    }

    bool joined(const std::string &func, const std::string &nest) const {
        const auto n = plan_.nests.find(func);
        return n != plan_.nests.end() && n->second.with == nest;
    }

    // Elements computed over elements there are: also those that neighbouring tasks both need.
    double recomputed(const Func &f, const At &at) const {
        const Nest &n = plan_.nests.at(at.nest);
        double times = 1, region = 1, all = 1;
        std::map<std::string, double> rounded;  // by the last tiles
        for (size_t i = 0; i < n.levels.size(); i++) {
            times *= i >= at.level ? n.levels[i].extent : 1;
            for (size_t k = 0; k < n.levels[i].dims.size(); k++) {
                rounded.emplace(n.levels[i].dims[k], 1).first->second *= n.levels[i].extents[k];
            }
        }
        for (const auto &r : rounded) {
            const auto real = plan_.placed.at(at.nest).region.find(r.first);
            times *= real == plan_.placed.at(at.nest).region.end() ? 1 : real->second / std::max(1.0, r.second);
        }
        const auto at_once = region_at(f, at);
        for (const auto &dim : f.dims) {
            const auto it = at_once.find(dim);
            region *= it == at_once.end() ? f.extent(dim) : it->second;
            all *= f.extent(dim);
        }
        const Placed &p = plan_.placed.at(at.nest);
        for (const auto &dim : p.place == Place::kAt ? d_.func(at.nest)->dims : std::vector<std::string>()) {
            times *= d_.func(at.nest)->extent(dim) / std::max(1.0, p.region.at(dim));
        }
        return std::max(times * region / std::max(all, 1.0), 1.0);
    }

    // Instructions of a Func and of what it reads, products in tiles among it or not.
    double upstream(const Func &f, bool with_products = false) const {
        std::set<std::string> seen;
        const std::function<double(const std::string &)> sum = [&](const std::string &name) -> double {
            const Func *x = d_.func(name);
            if (!x || !seen.insert(name).second) {
                return 0;
            }
            double n = 0;
            for (int s = 0; s < int(x->stages.size()); s++) {
                const Stage &stage = x->stages[size_t(s)];
                double times = 1;
                for (const Loop &l : stage.loops) {
                    times *= l.extent;
                }
                n += std::max(graph_->cost(name, s), 1.0) * std::max(times, stage.elements);
                for (const Read &r : graph_->reads(name, s)) {
                    const bool in_tiles = hosts_.count(r.func) || products_.count(r.func);
                    n += in_tiles && !with_products ? 0 : sum(r.func);
                }
            }
            return n;
        };
        return sum(f.name);
    }

    // --- how much of it at once

    std::map<std::string, double> region_at(const Func &f, const At &at) const {
        const Nest &n = plan_.nests.at(at.nest);
        std::map<std::string, double> inside;  // of the nest's dimensions, below the level
        for (size_t i = 0; i < at.level; i++) {
            for (size_t k = 0; k < n.levels[i].dims.size(); k++) {
                const auto it = inside.emplace(n.levels[i].dims[k], 1).first;
                it->second *= n.levels[i].extents[k];
            }
        }
        std::map<std::string, double> region;
        std::map<std::string, std::pair<double, double>> ranges;  // where reads of one step lie that differ by an offset
        for (const Reader &r : graph_->readers(f.name)) {
            const bool leader = r.func->name == at.nest || joined(r.func->name, at.nest);
            // What the reader computes while the loop stands still, which may be more than at its own place.
            const auto of_reader = leader ? std::map<std::string, double>() : region_at(*r.func, at);
            const auto extent_of = [&](const std::string &loop) {
                const Loop *l = r.definition().loop(loop);
                if (leader) {
                    const auto it = inside.find(loop);
                    const bool whole = std::any_of(n.levels.begin(), n.levels.end(), [&](const Level &level) {
                        return level.inside_tile && level.dims[0] == loop;
                    });
                    // A tile of registers is whole also where there is less.
                    return it == inside.end() ? 1.0 : whole ? it->second : std::min(it->second, l->extent);
                }
                if (l->rvar) {
                    return l->extent;
                }
                const auto it = of_reader.find(loop);
                return it == of_reader.end() ? l->extent : it->second;
            };
            for (size_t i = 0; i < f.dims.size() && i < r.read.index.size(); i++) {
                const Index &index = r.read.index[i];
                double span = 1;
                for (const auto &[loop, factor] : index.loops) {
                    span += std::abs(double(factor)) * (extent_of(loop) - 1);
                }
                if (index.div > 0) {
                    span = std::max(1.0, std::ceil(span / double(index.div)));
                } else if (index.mod > 0) {
                    span = std::min(span, double(index.mod));
                }
                if (!index.exact) {
                    span = f.extent(f.dims[i]);
                }
                double &all = region[f.dims[i]];
                all = std::max(all, products_.count(f.name) ? span : std::min(span, f.extent(f.dims[i])));
                if (index.offset && index.exact && index.div == 0 && index.mod == 0) {
                    const double low = double(*index.offset);
                    auto [range, fresh] = ranges.emplace(f.dims[i], std::make_pair(low, low + span));
                    range->second.first = std::min(range->second.first, low);
                    range->second.second = std::max(range->second.second, low + span);
                    all = std::max(all, std::min(range->second.second - range->second.first, f.extent(f.dims[i])));
                }
            }
        }
        for (const auto &dim : f.dims) {
            if (all_at_once(f, dim)) {
                region[dim] = f.extent(dim);
            }
        }
        return region;
    }

    // --- its loops

    void body(const Func &f, Placed &p) {
        BodyRequest r{&f, &p, nullptr, graph_.get(), nullptr};
        const auto product = products_.find(f.name);
        r.product = product == products_.end() ? nullptr : &product->second;
        const auto n = plan_.nests.find(f.name);
        r.nest = n == plan_.nests.end() ? nullptr : &n->second;
        choose_bodies(d_, r, choices_);
    }

    const Description &d_;
    Choices &choices_;
    const int threads_;
    std::map<std::string, Product> products_;
    std::set<std::string> hosts_;
    std::map<std::string, std::set<std::string>> named_;  // by Func: its loops in which a given script computes others
    bool given_ = false;                                  // a script fixes some of it
    std::unique_ptr<Graph> graph_;
    Plan plan_;
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
