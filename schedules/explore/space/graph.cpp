#include "explore/space/graph.h"

#include <algorithm>
#include <functional>

namespace halyard::explore {

namespace {

// An index over the dimensions of a Func, as one over the loops that those are indexed by.
Index compose(const Index &index, const std::map<std::string, Index> &dims) {
    Index result;
    result.offset = index.offset;
    result.exact = index.exact;
    result.clamped = index.clamped;
    result.div = index.div;
    result.mod = index.mod;
    const bool alone = index.loops.size() == 1 && index.loops.begin()->second == 1;
    for (const auto &[dim, factor] : index.loops) {
        const auto it = dims.find(dim);
        if (it == dims.end()) {
            continue;
        }
        const Index &inner = it->second;
        for (const auto &l : inner.loops) {
            result.loops[l.first] += factor * l.second;
        }
        result.offset = result.offset && inner.offset && result.div == 0 && result.mod == 0
                            ? std::optional<int64_t>(*result.offset + factor * *inner.offset)
                            : std::nullopt;
        result.clamped = result.clamped || inner.clamped;
        result.exact = result.exact && inner.exact;
        if (inner.div || inner.mod) {
            const bool simple = alone && result.div == 0 && result.mod == 0;
            result.div = simple ? inner.div : 0;
            result.mod = simple ? inner.mod : 0;
            result.exact = result.exact && simple;
        }
    }
    return result;
}

}  // namespace

std::vector<Read> Graph::through(const std::vector<Read> &reads) const {
    std::vector<Read> result;
    const auto add = [&](Read r) {
        const bool there = std::any_of(result.begin(), result.end(), [&](const Read &o) {
            bool same = o.func == r.func && o.index.size() == r.index.size();
            for (size_t i = 0; same && i < r.index.size(); i++) {
                const Index &a = o.index[i], &b = r.index[i];
                same = a.loops == b.loops && a.offset == b.offset && a.div == b.div && a.mod == b.mod;
            }
            return same;
        });
        if (!there) {
            result.push_back(std::move(r));
        }
    };
    for (const Read &r : reads) {
        const Func *f = description_.func(r.func);
        if (!f || inlined_.count(r.func) == 0) {
            add(r);
            continue;
        }
        std::map<std::string, Index> dims;
        for (size_t i = 0; i < f->dims.size() && i < r.index.size(); i++) {
            dims[f->dims[i]] = r.index[i];
        }
        for (Read inner : through(f->pure().reads)) {
            for (auto &i : inner.index) {
                i = compose(i, dims);
            }
            add(std::move(inner));
        }
    }
    return result;
}

Graph::Graph(const Description &description, std::set<std::string> inlined) : description_(description), inlined_(std::move(inlined)) {
    for (const auto &[name, f] : description_.funcs) {
        readers_[name];
        if (!stored(name)) {
            continue;
        }
        for (int s = 0; s < int(f.stages.size()); s++) {
            reads_[{name, s}] = through(f.stages[size_t(s)].reads);
        }
    }
    for (const auto &[stage, reads] : reads_) {
        for (const Read &r : reads) {
            if (description_.func(r.func) && r.func != stage.first) {
                readers_[r.func].push_back({description_.func(stage.first), stage.second, r});
            }
        }
    }
    std::set<std::string> done;
    const std::function<void(const std::string &)> visit = [&](const std::string &name) {
        if (!done.insert(name).second) {
            return;
        }
        for (const Reader &r : readers_.at(name)) {
            visit(r.func->name);
        }
        order_.push_back(description_.func(name));
    };
    for (const auto &f : description_.funcs) {
        if (stored(f.first) && (f.second.output || !readers_.at(f.first).empty())) {
            visit(f.first);
        }
    }
}

const std::vector<Read> &Graph::reads(const std::string &func, int stage) const {
    static const std::vector<Read> none;
    const auto it = reads_.find({func, stage});
    return it == reads_.end() ? none : it->second;
}

const std::vector<Reader> &Graph::readers(const std::string &func) const {
    return readers_.at(func);
}

double Graph::cost(const std::string &func, int stage) const {
    const Stage &s = description_.func(func)->stages[size_t(stage)];
    double cost = s.cost();
    for (const Read &r : s.reads) {
        if (inlined_.count(r.func)) {
            cost += this->cost(r.func, 0);
        }
    }
    return cost;
}

std::map<std::string, double> uses(const Description &description, const std::set<std::string> &inlined) {
    std::map<std::string, double> evaluations;  // reads of all elements
    const std::function<double(const std::string &)> count = [&](const std::string &name) {
        const auto known = evaluations.find(name);
        if (known != evaluations.end()) {
            return known->second;
        }
        double n = 0;
        for (const auto &[user, f] : description.funcs) {
            for (const Stage &s : f.stages) {
                const auto reads = std::count_if(s.reads.begin(), s.reads.end(), [&](const Read &r) { return r.func == name; });
                if (reads == 0 || user == name) {
                    continue;
                }
                double times = 1;
                for (const Loop &l : s.loops) {
                    times *= l.extent;
                }
                n += double(reads) * (inlined.count(user) ? count(user) : times);
            }
        }
        return evaluations[name] = n;
    };
    std::map<std::string, double> result;
    for (const auto &f : description.funcs) {
        const double elements = f.second.pure().elements;
        result[f.first] = elements > 0 ? count(f.first) / elements : 0;
    }
    return result;
}

}  // namespace halyard::explore
