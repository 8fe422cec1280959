#include "explore/space/draft.h"

#include <algorithm>
#include <functional>

namespace halyard::explore {

Draft::Draft(const Description &d) : description(d), products(find_products(d)) {
    for (const auto &p : products) {
        if (!description.func(p.first)->fixed) {
            hosts.insert(p.second.host);
        }
    }
    for (const auto &[name, f] : description.funcs) {
        if (f.fixed) {
            given = true;
            if (f.fixed->place == "at") {
                named[f.fixed->in].insert(f.fixed->loop);
            }
        }
    }
}

bool Draft::reads(const std::string &func, const std::string &of) const {
    for (const Stage &s : description.func(func)->stages) {
        for (const Read &r : s.reads) {
            if (r.func == of) {
                return true;
            }
        }
    }
    return false;
}

double Draft::instructions() const {
    double all = 0;
    for (const auto &[name, f] : description.funcs) {
        for (const Stage &s : f.stages) {
            all += s.instructions;
        }
    }
    return all;
}

double Draft::upstream(const Func &f, bool with_products) const {
    const auto known = upstream_.find({f.name, with_products});
    if (known != upstream_.end()) {
        return known->second;
    }
    std::set<std::string> seen;
    const std::function<double(const std::string &)> sum = [&](const std::string &name) -> double {
        const Func *x = description.func(name);
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
            n += std::max(graph->cost(name, s), 1.0) * std::max(times, stage.elements);
            for (const Read &r : graph->reads(name, s)) {
                const bool in_tiles = hosts.count(r.func) || products.count(r.func);
                n += in_tiles && !with_products ? 0 : sum(r.func);
            }
        }
        return n;
    };
    return upstream_[{f.name, with_products}] = sum(f.name);
}

}  // namespace halyard::explore
