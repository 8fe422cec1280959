#include "explore/space/graph.h"

#include <algorithm>
#include <cstdlib>
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
    // How many values it has beside what its exact loops say.
    bool known = index.exact || index.within > 0;
    int64_t width = index.exact ? 1 : index.within;
    const bool alone = index.loops.size() == 1 && index.loops.begin()->second == 1;
    for (const auto &[dim, factor] : index.loops) {
        const auto it = dims.find(dim);
        if (it == dims.end()) {
            continue;
        }
        const Index &inner = it->second;
        const bool vague = index.vague.count(dim) > 0;
        known = known && (vague || inner.exact || inner.within > 0);
        width += inner.exact || vague ? 0 : std::abs(factor) * (inner.within - 1);
        for (const auto &l : inner.loops) {
            const bool is_vague = vague || inner.vague.count(l.first) > 0;
            known = known && !(result.loops.count(l.first) && (is_vague || result.vague.count(l.first)));
            if (is_vague) {
                result.vague.insert(l.first);
            }
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
            known = known && simple;
        }
    }
    result.within = known && !result.exact ? width : 0;
    return result;
}

// Reads of a Func through Funcs that are inlined, from which on they count as one of all of it.
constexpr size_t kMostReads = 1024;

// Reads without those that say the same, in their order.
class Distinct {
public:
    void add(Read r) {
        if (seen_.insert(key(r)).second) {
            reads_.push_back(std::move(r));
            const std::string &func = reads_.back().func;
            if (++count_[func] > kMostReads) {
                merge(func);
            }
        }
    }

    std::vector<Read> all() {
        return std::move(reads_);
    }

private:
    static std::string key(const Read &r) {
        std::string key = r.func;
        for (const Index &i : r.index) {
            key += '|';
            for (const auto &[loop, factor] : i.loops) {
                key += loop + '*' + std::to_string(factor) + '+';
            }
            for (const auto &l : i.vague) {
                key += l + '~' + std::to_string(i.within);
            }
            key += (i.offset ? std::to_string(*i.offset) : "?") + '/' + std::to_string(i.div) + '%' + std::to_string(i.mod);
        }
        return key;
    }

    // One that may be anywhere stands for all of a Func.
    void merge(const std::string &func) {
        Read all{func, {}};
        std::vector<Read> others;
        for (Read &r : reads_) {
            if (r.func != func) {
                others.push_back(std::move(r));
                continue;
            }
            all.index.resize(std::max(all.index.size(), r.index.size()));
            for (size_t i = 0; i < r.index.size(); i++) {
                all.index[i].loops.insert(r.index[i].loops.begin(), r.index[i].loops.end());
                all.index[i].clamped = all.index[i].clamped || r.index[i].clamped;
                all.index[i].exact = false;
                all.index[i].within = 0;
                all.index[i].offset = std::nullopt;
            }
        }
        others.push_back(std::move(all));
        reads_ = std::move(others);
        count_[func] = 1;
    }

    std::vector<Read> reads_;
    std::set<std::string> seen_;
    std::map<std::string, size_t> count_;
};

}  // namespace

std::vector<Read> Graph::through(const std::vector<Read> &reads) {
    Distinct result;
    for (const Read &r : reads) {
        const Func *f = description_.func(r.func);
        if (!f || inlined_.count(r.func) == 0) {
            result.add(r);
            continue;
        }
        std::map<std::string, Index> dims;
        for (size_t i = 0; i < f->dims.size() && i < r.index.size(); i++) {
            dims[f->dims[i]] = r.index[i];
        }
        for (Read inner : through_inlined(*f)) {
            for (auto &i : inner.index) {
                i = compose(i, dims);
            }
            result.add(std::move(inner));
        }
    }
    return result.all();
}

const std::vector<Read> &Graph::through_inlined(const Func &f) {
    const auto known = through_.find(f.name);
    if (known != through_.end()) {
        return known->second;
    }
    std::vector<Read> reads = through(f.pure().reads);
    return through_[f.name] = std::move(reads);
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
    const bool inlined = stage == 0 && inlined_.count(func) > 0;
    if (const auto known = costs_.find(func); inlined && known != costs_.end()) {
        return known->second;
    }
    const Stage &s = description_.func(func)->stages[size_t(stage)];
    double cost = s.cost();
    for (const Read &r : s.reads) {
        if (inlined_.count(r.func)) {
            cost += this->cost(r.func, 0);
        }
    }
    if (inlined) {
        costs_[func] = cost;
    }
    return cost;
}

Uses::Uses(const Description &description, const std::set<std::string> &inlined) : description_(description), inlined_(inlined) {
    for (const auto &[user, f] : description.funcs) {
        for (const Stage &s : f.stages) {
            double times = 1;
            for (const Loop &l : s.loops) {
                times *= l.extent;
            }
            std::map<std::string, double> reads;
            for (const Read &r : s.reads) {
                reads[r.func]++;
            }
            for (const auto &[name, n] : reads) {
                if (name != user) {
                    users_[name].push_back({user, n, times});
                }
            }
        }
    }
}

const Uses::Count &Uses::count(const std::string &func) {
    const auto known = counts_.find(func);
    if (known != counts_.end()) {
        return known->second;
    }
    Count n;
    for (const User &u : users_[func]) {
        const bool through = inlined_.count(u.func) > 0;
        n.evaluations += u.reads * (through ? count(u.func).evaluations : u.iterations);
        n.copies += u.reads * (through ? count(u.func).copies : 1);
    }
    return counts_[func] = n;
}

double Uses::times(const std::string &func) {
    const double elements = description_.func(func)->pure().elements;
    return elements > 0 ? count(func).evaluations / elements : 0;
}

double Uses::copies(const std::string &func) {
    return count(func).copies;
}

}  // namespace halyard::explore
