#include "explore/space/levels.h"

#include <algorithm>
#include <cmath>

namespace halyard::explore {

namespace {

// An update that stores elsewhere than where it stands, as a sorted list does, is computed for the whole dimension.
bool all_at_once(const Func &f, const std::string &dim) {
    for (size_t s = 1; s < f.stages.size(); s++) {
        for (size_t i = 0; i < f.dims.size() && i < f.stages[s].stored.size(); i++) {
            if (f.dims[i] == dim && !f.stages[s].stored[i].is(dim)) {
                return true;
            }
        }
    }
    return false;
}

bool inside_tile(const Nest &n, const std::set<std::string> &dims) {
    return std::any_of(n.levels.begin(), n.levels.end(),
                       [&](const Level &l) { return l.inside_tile && !l.vector && dims.count(l.dims[0]) > 0; });
}

bool has_level(const Nest &n, const std::string &loop) {
    return std::any_of(n.levels.begin(), n.levels.end(),
                       [&](const Level &l) { return std::find(l.dims.begin(), l.dims.end(), loop) != l.dims.end(); });
}

}  // namespace

std::optional<At> Levels::level_of_reader(const Reader &r) const {
    const auto n = plan_.nests.find(r.func->name);
    const Placed &p = plan_.placed.at(r.func->name);
    // What a given script computes somewhere counts as one step there.
    const bool one_step = r.func->fixed && p.place == Place::kAt && !draft_.has_loops(r.func->name);
    if (n != plan_.nests.end() && !one_step) {
        if (n->second.stage != r.stage) {
            return std::nullopt;
        }
        return n->second.with.empty() ? At{r.func->name, 0} : At{n->second.with, 0};
    }
    return p.place == Place::kAt ? std::optional<At>(At{p.in, index_of(p)}) : std::nullopt;
}

size_t Levels::index_of(const Placed &p) const {
    const auto &levels = plan_.nests.at(p.in).levels;
    for (size_t i = 0; i < levels.size(); i++) {
        if (levels[i].name == p.level) {
            return i;
        }
    }
    return 0;
}

std::optional<At> Levels::outwards(const At &a) const {
    const Placed &p = plan_.placed.at(a.nest);
    return p.place == Place::kAt ? std::optional<At>(At{p.in, index_of(p)}) : std::nullopt;
}

std::optional<At> Levels::common_level(const Func &f) const {
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

std::optional<At> Levels::join(At a, At b) const {
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
std::optional<At> Levels::move_out(const Func &f, At at) const {
    const Nest &n = plan_.nests.at(at.nest);
    const Drivers &drivers = drivers_from(f.name, at.nest);
    std::set<std::string> moving;
    for (const auto &d : drivers) {
        if (!all_at_once(f, d.first)) {
            moving.insert(d.second.begin(), d.second.end());
        }
    }
    bool tile = products_.count(f.name) > 0 || hosts_.count(f.name) > 0;
    for (const Level &l : n.levels) {
        tile =
            tile || (l.vector && std::any_of(l.dims.begin(), l.dims.end(), [&](const std::string &dim) { return moving.count(dim) > 0; }));
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
        if (std::any_of(l.dims.begin(), l.dims.end(), [&](const std::string &dim) { return moving.count(dim) > 0; }) &&
            !needs_all(f, {at.nest, i})) {
            return At{at.nest, i};
        }
    }
    return std::nullopt;
}

// Whether each turn of a loop needs all of the few planes that it moves, as colours that share the weight of a pixel: one turn is enough.
bool Levels::needs_all(const Func &f, const At &at) const {
    const Level &l = plan_.nests.at(at.nest).levels[at.level];
    const Region &region = region_at(f, at);
    bool any = false;
    for (const auto &[dim, loops] : drivers_from(f.name, at.nest)) {
        const bool moved = std::any_of(l.dims.begin(), l.dims.end(), [&](const std::string &d) { return loops.count(d) > 0; });
        if (moved && (region.count(dim) == 0 || region.at(dim) < f.extent(dim) || f.extent(dim) <= 1 || f.extent(dim) > 16)) {
            return false;
        }
        any = any || moved;
    }
    return any && l.extent > 1;
}

const Drivers &Levels::drivers_from(const std::string &func, const std::string &nest) const {
    const auto known = found().drivers.find({func, nest});
    if (known != found_.drivers.end()) {
        return known->second;
    }
    Drivers result = drivers(func, nest);
    return found_.drivers[{func, nest}] = std::move(result);
}

Drivers Levels::drivers(const std::string &func, const std::string &nest) const {
    static const Drivers none;
    Drivers result;
    const Func *f = d_.func(func);
    for (const Reader &r : graph_->readers(func)) {
        const bool leader = r.func->name == nest || joined(r.func->name, nest);
        const Drivers &of_reader = leader ? none : drivers_from(r.func->name, nest);
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
    return result;
}

bool Levels::joined(const std::string &func, const std::string &nest) const {
    const auto n = plan_.nests.find(func);
    return n != plan_.nests.end() && n->second.with == nest;
}

double Levels::recomputed(const Func &f, const At &at) const {
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
    const Region &at_once = region_at(f, at);
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

const Region &Levels::region_at(const Func &f, const At &at) const {
    const auto key = std::make_tuple(f.name, at.nest, at.level);
    const auto known = found().regions.find(key);
    if (known != found_.regions.end()) {
        return known->second;
    }
    Region result = region(f, at);
    return found_.regions[key] = std::move(result);
}

Levels::Found &Levels::found() const {
    if (found_.nests != plan_.nests.size()) {
        found_ = {};
        found_.nests = plan_.nests.size();
    }
    return found_;
}

Region Levels::region(const Func &f, const At &at) const {
    static const Region none;
    const Nest &n = plan_.nests.at(at.nest);
    std::map<std::string, double> inside;  // of the nest's dimensions, below the level
    for (size_t i = 0; i < at.level; i++) {
        for (size_t k = 0; k < n.levels[i].dims.size(); k++) {
            const auto it = inside.emplace(n.levels[i].dims[k], 1).first;
            it->second *= n.levels[i].extents[k];
        }
    }
    Region region;
    std::map<std::string, std::pair<double, double>> ranges;  // where reads of one step lie that differ by an offset
    for (const Reader &r : graph_->readers(f.name)) {
        const bool leader = r.func->name == at.nest || joined(r.func->name, at.nest);
        // What the reader computes while the loop stands still, which may be more than at its own place.
        const Region &of_reader = leader ? none : region_at(*r.func, at);
        const auto extent_of = [&](const std::string &loop) {
            const Loop *l = r.definition().loop(loop);
            if (leader) {
                const auto it = inside.find(loop);
                if (it == inside.end() && l && l->rvar && !has_level(n, loop)) {
                    return l->extent;  // a sum is inside of all loops of its nest
                }
                const bool whole = std::any_of(n.levels.begin(), n.levels.end(),
                                               [&](const Level &level) { return level.inside_tile && level.dims[0] == loop; });
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
                span += index.vague.count(loop) > 0 ? 0 : std::abs(double(factor)) * (extent_of(loop) - 1);
            }
            span += double(std::max<int64_t>(index.within - 1, 0));
            if (index.div > 0) {
                span = std::max(1.0, std::ceil(span / double(index.div)));
            } else if (index.mod > 0) {
                span = std::min(span, double(index.mod));
            }
            if (!index.exact && index.within == 0) {
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

}  // namespace halyard::explore
