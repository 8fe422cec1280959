#include "explore/space/nest_request.h"

#include <algorithm>

namespace halyard::explore {

namespace {

class Requests {
public:
    Requests(const Draft &draft, const Levels &levels)
        : draft_(draft), levels_(levels), d_(draft.description), plan_(draft.plan), products_(draft.products), hosts_(draft.hosts),
          graph_(draft.graph) {}

    NestRequest request(const Func &f) {
        NestRequest r;
        r.func = &f;
        r.region = plan_.placed.at(f.name).region;
        for (const auto &[name, p] : products_) {
            if (p.host == f.name && graph_->stored(name) && !d_.func(name)->fixed) {
                r.products.push_back({&p, levels_.drivers_from(name, f.name)});
            }
        }
        // Which dimensions the statistics of a row are indexed by.
        const std::set<std::string> above = upstream_of(f);
        for (const Func *other : graph_->order()) {
            if (other->reduction() && !products_.count(other->name) && above.count(other->name)) {
                r.statistics = true;
            }
        }
        for (const Read &read : graph_->reads(f.name, f.reduction() ? 1 : 0)) {
            for (const Index &i : read.index) {
                if (i.loops.size() == 1 && i.exact && (i.div > 1 || i.mod > 1) && is_statistic(read.func)) {
                    r.natural[i.loops.begin()->first] = std::max(i.div, i.mod);
                }
            }
        }
        for (const Read &read : graph_->reads(f.name, f.reduction() ? 1 : 0)) {
            const Func *of = d_.func(read.func);
            for (size_t i = 0; of && of->recurrence() && i < read.index.size(); i++) {
                if (of->free(i) && of->extent(of->dims[i]) >= 2 * d_.lanes() && read.index[i].loops.size() == 1) {
                    r.lanes.insert(read.index[i].loops.begin()->first);
                }
            }
        }
        r.windows = has_windows(f.name);
        if (const auto it = draft_.named.find(f.name); it != draft_.named.end()) {
            r.named = it->second;
        }
        // Dimensions of few elements on which nothing depends that is dear and computed for this: colours of a pixel.
        std::set<std::string> moving;
        for (const Read &read : graph_->reads(f.name, f.reduction() ? 1 : 0)) {
            const Func *other = d_.func(read.func);
            if (!other || draft_.upstream(*other, true) < 0.1 * draft_.upstream(f, true)) {
                continue;
            }
            for (const Index &i : read.index) {
                for (const auto &l : i.loops) {
                    moving.insert(l.first);
                }
            }
        }
        for (const auto &dim : f.dims) {
            const bool few = f.extent(dim) > 1 && f.extent(dim) <= 16;
            if (few && ((!moving.empty() && !moving.count(dim)) || shares_plane(f, dim))) {
                r.still.insert(dim);
            }
        }
        // Products that are reduced on the way want their panels of columns here too.
        for (const auto &[name, p] : products_) {
            if (p.host == f.name || p.panel == 0 || p.turned || !graph_->stored(name)) {
                continue;
            }
            const auto moved = levels_.drivers_from(name, f.name);
            const auto it = moved.find(p.vector);
            if (it != moved.end() && it->second.size() == 1 && f.extent(*it->second.begin()) > 2 * d_.lanes()) {
                r.columns[*it->second.begin()] = p.panel;
            }
        }
        for (int s = 0; s < int(f.stages.size()); s++) {
            r.cost += graph_->cost(f.name, s);
        }
        return r;
    }

private:
    // Whether each plane along a dimension reads the one of its own and the same other one, as colours the weight of a pixel.
    bool shares_plane(const Func &f, const std::string &dim) const {
        std::set<std::pair<std::string, size_t>> own, same;
        for (const Read &read : graph_->reads(f.name, f.reduction() ? 1 : 0)) {
            const Func *of = d_.func(read.func);
            for (size_t i = 0; !(of && of->reduction()) && i < read.index.size(); i++) {
                if (read.index[i].is(dim)) {
                    own.insert({read.func, i});
                } else if (read.index[i].loops.empty()) {
                    same.insert({read.func, i});
                }
            }
        }
        return std::any_of(own.begin(), own.end(), [&](const auto &r) { return same.count(r) > 0; });
    }

    // What is reduced, or made of that one by one: readers of a part of it go together. A picture that is read twice as large is none.
    bool is_statistic(const std::string &name) const {
        const Func *f = d_.func(name);
        return f && (f->reduction() || std::any_of(f->pure().reads.begin(), f->pure().reads.end(), [&](const Read &r) {
                         const Func *of = d_.func(r.func);
                         return of && of->reduction();
                     }));
    }

    // Whether what is stored and not whole is read at places some rows apart, here or further up.
    bool has_windows(const std::string &name) {
        const auto [known, fresh] = windows_.emplace(name, false);
        if (fresh) {
            known->second = find_windows(name);
        }
        return known->second;
    }

    bool find_windows(const std::string &name) {
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

    // What it is made of, up to the tiles of products.
    std::set<std::string> upstream_of(const Func &f) const {
        std::set<std::string> found, seen = {f.name};
        std::vector<std::string> next = {f.name};
        while (!next.empty()) {
            const std::string from = next.back();
            next.pop_back();
            const Func *x = d_.func(from);
            for (int s = 0; x && s < int(x->stages.size()); s++) {
                for (const Read &r : graph_->reads(from, s)) {
                    found.insert(r.func);
                    if (!hosts_.count(r.func) && seen.insert(r.func).second) {
                        next.push_back(r.func);
                    }
                }
            }
        }
        return found;
    }

    const Draft &draft_;
    const Levels &levels_;
    const Description &d_;
    const Plan &plan_;
    const std::map<std::string, Product> &products_;
    const std::set<std::string> &hosts_;
    const std::unique_ptr<Graph> &graph_;
    std::map<std::string, bool> windows_;  // of those that were asked for
};

}  // namespace

NestRequest nest_request(const Draft &draft, const Levels &levels, const Func &f) {
    return Requests(draft, levels).request(f);
}

}  // namespace halyard::explore
