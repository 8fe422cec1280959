#include "explore/space/layout.h"

#include <algorithm>

#include "explore/space/product.h"

namespace halyard::explore {

namespace {

// Puts a dimension first, in memory and among the loops of the definition.
void put_first(Description &d, const std::string &func, const std::string &dim) {
    Func &f = d.funcs.at(func);
    const auto at = std::find(f.dims.begin(), f.dims.end(), dim) - f.dims.begin();
    if (at == 0 || at == std::ptrdiff_t(f.dims.size())) {
        return;
    }
    f.permuted = true;
    const auto rotate = [&](auto &v) {
        if (v.size() == f.dims.size()) {
            std::rotate(v.begin(), v.begin() + at, v.begin() + at + 1);
        }
    };
    for (auto &[name, user] : d.funcs) {
        for (Stage &s : user.stages) {
            for (Read &r : s.reads) {
                if (r.func == func) {
                    rotate(r.index);
                }
            }
        }
    }
    for (size_t s = 1; s < f.stages.size(); s++) {
        rotate(f.stages[s].stored);
    }
    std::stable_partition(f.stages[0].loops.begin(), f.stages[0].loops.end(), [&](const Loop &l) { return l.name == dim; });
    rotate(f.dims);
}

// The readers that have the same elements, one by one, and their readers.
void follow(Description &d, const std::string &func, const std::string &dim) {
    std::vector<std::pair<std::string, std::string>> next;
    for (const auto &[name, user] : d.funcs) {
        if (user.output || user.reduction() || user.fixed || name == func) {
            continue;
        }
        for (const Read &r : user.pure().reads) {
            const Func &f = *d.func(func);
            const auto at = size_t(std::find(f.dims.begin(), f.dims.end(), dim) - f.dims.begin());
            if (r.func == func && at < r.index.size() && r.index[at].loops.size() == 1 &&
                r.index[at].is(r.index[at].loops.begin()->first)) {
                next.emplace_back(name, r.index[at].loops.begin()->first);
            }
        }
    }
    put_first(d, func, dim);
    for (const auto &[name, loop] : next) {
        const auto &dims = d.func(name)->dims;
        if (std::find(dims.begin(), dims.end(), loop) - dims.begin() > 0) {
            follow(d, name, loop);
        }
    }
}

}  // namespace

void choose_layouts(Description &d, Choices &choices) {
    for (const auto &[name, p] : find_products(d)) {
        const Func *host = d.func(p.host);
        if (!p.vector.empty() || !host || host->output || host->fixed || d.func(name)->fixed) {
            continue;
        }
        const Stage sum = d.func(name)->stages[size_t(p.update)];
        for (const auto &row : p.rows) {
            for (const Read &r : sum.reads) {
                const Func *operand = d.func(r.func);
                for (size_t i = 1; operand && !operand->fixed && !operand->reduction() && i < r.index.size(); i++) {
                    if (!r.index[i].is(row) || d.func(name)->extent(row) < d.lanes()) {
                        continue;
                    }
                    if (choices.pick("lanes of " + name, {row, "its sum"}, row) == row) {
                        put_first(d, r.func, operand->dims[i]);
                        follow(d, name, row);
                    }
                    return;
                }
            }
        }
    }
}

}  // namespace halyard::explore
