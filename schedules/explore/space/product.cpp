#include "explore/space/product.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "explore/space/graph.h"

namespace halyard::explore {

namespace {

bool is_free(const Stage &stage, const std::string &loop) {
    const Loop *l = stage.loop(loop);
    return l && !l->rvar;
}

bool has_rvar(const Stage &stage, const Read &read) {
    return std::any_of(stage.loops.begin(), stage.loops.end(), [&](const Loop &l) { return l.rvar && read.uses(l.name); });
}

// The loop of an index that moves by one, of which all others step over the whole: "e" of head * 64 + e. "" where there is none.
std::string innermost(const Stage &stage, const Index &index) {
    for (const auto &[loop, factor] : index.loops) {
        const bool steps_over = std::all_of(index.loops.begin(), index.loops.end(), [&, name = loop](const auto &other) {
            return other.first == name || (std::abs(double(other.second)) >= stage.loop(name)->extent && stage.loop(name)->extent > 1);
        });
        if (factor == 1 && steps_over && (index.loops.size() == 1 || index.mod == 0)) {
            return loop;
        }
    }
    return "";
}

// The loop that walks along memory, if it is a free one.
std::string along_memory(const Stage &stage, const Read &read) {
    for (const Index &i : read.index) {
        if (i.loops.empty()) {
            continue;
        }
        if (i.loops.size() == 1 && i.mod > 0 && i.mod <= 4 && !is_free(stage, i.loops.begin()->first)) {
            continue;  // a small group of a reduction's loop
        }
        const std::string inner = i.div == 0 ? innermost(stage, i) : "";
        return !inner.empty() && is_free(stage, inner) ? inner : "";
    }
    return "";
}

double extent_of(const Func &f, const std::set<std::string> &dims) {
    double n = 1;
    for (const auto &dim : dims) {
        n *= f.extent(dim);
    }
    return n;
}

// Reads of Funcs that may be inlined are reads of what they read.
Graph through_cheap(const Description &d) {
    std::set<std::string> pure;
    for (const auto &[name, f] : d.funcs) {
        if (!f.reduction() && !f.output && !f.permuted && f.pure().cost() < 3) {
            pure.insert(name);
        }
    }
    return Graph(d, pure);
}

std::optional<Product> as_product(const Graph &through, const Func &f, int update) {
    const Stage &s = f.stages[size_t(update)];
    if (!s.reduces() || s.factors.size() != 2) {
        return std::nullopt;
    }
    Product p;
    p.func = f.name;
    p.update = update;
    const auto of_a = free_loops(s, 0), of_b = free_loops(s, 1);
    for (const auto &l : of_a) {
        if (!of_b.count(l)) {
            p.rows.insert(l);
        }
    }
    for (const auto &l : of_b) {
        if (!of_a.count(l)) {
            p.columns.insert(l);
        }
    }
    for (const Read &r : through.reads(f.name, update)) {
        for (const Index &i : r.index) {
            for (const auto &l : p.columns) {
                p.clamped = p.clamped || (i.uses(l) && i.clamped);
            }
        }
    }
    std::map<std::string, std::vector<std::string>> walked;
    for (const Read &r : through.reads(f.name, update)) {
        const std::string v = along_memory(s, r);
        if (has_rvar(s, r) && !v.empty()) {
            walked[v].push_back(r.func);
            for (const Index &i : r.index) {
                p.panel = i.uses(v) && i.mod > 4 ? i.mod : p.panel;
                p.clamped = p.clamped || (i.uses(v) && i.clamped);
            }
        }
    }
    for (const auto &w : walked) {
        const bool better = p.vector.empty() || (!p.rows.count(w.first) && p.rows.count(p.vector));
        p.vector = better ? w.first : p.vector;
    }
    if (p.rows.count(p.vector)) {
        std::swap(p.rows, p.columns);
    }
    if (p.vector.empty() && extent_of(f, p.rows) > extent_of(f, p.columns)) {
        std::swap(p.rows, p.columns);
    }
    if (p.columns.empty()) {
        const bool windows = std::any_of(s.reads.begin(), s.reads.end(), [&](const Read &r) {
            return std::any_of(r.index.begin(), r.index.end(), [&](const Index &i) {
                return i.loops.size() == 2 &&
                       std::any_of(i.loops.begin(), i.loops.end(), [&](const auto &l) { return p.rows.count(l.first) > 0; });
            });
        });
        if (!windows || p.vector.empty()) {
            return std::nullopt;
        }
        p.stencil = true;
    } else if (p.rows.empty()) {
        return std::nullopt;
    }
    return p;
}

// A copy along whose first dimension memory jumps.
std::optional<Product> as_turned(const Description &d, const Func &f) {
    if (f.reduction() || f.output || f.pure().reads.size() != 1 || f.pure().cost() > 0.01) {
        return std::nullopt;
    }
    const Read &r = f.pure().reads[0];
    if (!d.buffers.count(r.func) || r.index.empty() || f.dims.size() < 2) {
        return std::nullopt;
    }
    for (size_t i = 1; i < f.dims.size(); i++) {
        const bool walks = r.index[0].is(f.dims[i]) && !r.index[0].uses(f.dims[0]) && r.uses(f.dims[0]);
        if (walks && f.extent(f.dims[i]) >= 8 && f.extent(f.dims[0]) >= 8) {
            Product p;
            p.func = f.name;
            p.update = 0;
            p.turned = true;
            p.rows = {f.dims[0]};
            p.columns = {f.dims[i]};
            p.vector = f.dims[i];
            return p;
        }
    }
    return std::nullopt;
}

using Users = std::map<std::string, std::set<std::string>>;  // by Func: who reads it

Users users_of(const Description &d) {
    Users users;
    for (const auto &[name, f] : d.funcs) {
        for (const Stage &s : f.stages) {
            for (const Read &r : s.reads) {
                users[r.func].insert(name);
            }
        }
    }
    return users;
}

enum Side { kRow = 1, kColumn = 2 };

// Follows a product to its readers. A reader keeps it where it has loops over rows and columns left.
class FindHost {
public:
    FindHost(const Description &d, const Users &users, Product &p)
        : d_(d), users_(users), p_(p), wanted_(p.stencil ? kRow : kRow | kColumn) {
        for (const auto &l : p.rows) {
            sides_[p.func][l] |= kRow;
        }
        for (const auto &l : p.columns) {
            sides_[p.func][l] |= kColumn;
        }
    }

    void find() {
        kept_.insert(p_.func);
        find_dependents();
        // Grows while all that reads what is kept is read by one Func that keeps.
        for (bool grown = true; grown;) {
            grown = false;
            for (const auto &name : dependents_) {
                const Func &f = *d_.func(name);
                if (!kept_.count(name) && reads_kept(f) && all_known(f) && !multiplies(f) && keep(f)) {
                    kept_.insert(name);
                    grown = true;
                }
            }
        }
        // The last one through which all reads go.
        for (const auto &name : kept_) {
            if (name != p_.func && dominates(name) && needs_few(name) && (p_.host.empty() || comes_after(name, p_.host))) {
                p_.host = name;
            }
        }
    }

private:
    bool reads_kept(const Func &f) const {
        return std::any_of(f.stages.begin(), f.stages.end(), [&](const Stage &s) {
            return std::any_of(s.reads.begin(), s.reads.end(), [&](const Read &r) { return kept_.count(r.func) > 0; });
        });
    }

    // What it reads of the product's readers is kept itself.
    bool all_known(const Func &f) const {
        for (const Stage &s : f.stages) {
            for (const Read &r : s.reads) {
                if (r.func != f.name && !kept_.count(r.func) && depends(r.func)) {
                    return false;
                }
            }
        }
        return true;
    }

    // A product of what is made of this one has tiles of its own, each of which would make this one's again. Windows are another matter.
    bool multiplies(const Func &f) const {
        return !p_.stencil && std::any_of(f.stages.begin(), f.stages.end(), [](const Stage &s) {
            if (!s.reduces() || s.factors.size() != 2) {
                return false;
            }
            const auto a = free_loops(s, 0), b = free_loops(s, 1);
            return !std::includes(a.begin(), a.end(), b.begin(), b.end()) && !std::includes(b.begin(), b.end(), a.begin(), a.end());
        });
    }

    bool depends(const std::string &name) const {
        return name == p_.func || dependents_.count(name) > 0;
    }

    // All that is made of the product.
    void find_dependents() {
        std::vector<std::string> next = {p_.func};
        while (!next.empty()) {
            const auto users = users_.find(next.back());
            next.pop_back();
            for (const auto &user : users == users_.end() ? std::set<std::string>() : users->second) {
                if (user != p_.func && dependents_.insert(user).second) {
                    next.push_back(user);
                }
            }
        }
    }

    bool keep(const Func &f) {
        std::map<std::string, int> sides;
        for (const Stage &s : f.stages) {
            for (const Read &r : s.reads) {
                const Func *from = d_.func(r.func);
                if (!kept_.count(r.func) || r.func == f.name) {
                    continue;
                }
                for (size_t i = 0; i < from->dims.size() && i < r.index.size(); i++) {
                    const int side = sides_[r.func][from->dims[i]];
                    for (const auto &l : r.index[i].loops) {
                        sides[l.first] |= is_free(s, l.first) ? side : 0;
                    }
                }
            }
        }
        int all = 0;
        for (const auto &dim : f.dims) {
            all |= sides[dim];
        }
        sides_[f.name] = sides;
        return (all & wanted_) == wanted_;
    }

    // What one element of the host needs of the product is less than a tile of registers.
    bool needs_few(const std::string &host) const {
        std::map<std::string, std::map<std::string, double>> regions;
        const std::function<const std::map<std::string, double> &(const std::string &)> region =
            [&](const std::string &name) -> const std::map<std::string, double> & {
            auto [it, fresh] = regions.emplace(name, std::map<std::string, double>());
            if (!fresh || name == host) {
                return it->second;
            }
            std::map<std::string, double> needed;
            const Func *f = d_.func(name);
            for (const auto &user : kept_) {
                if (user == name || (user != host && !comes_after(host, user))) {
                    continue;
                }
                for (const Stage &s : d_.func(user)->stages) {
                    for (const Read &r : s.reads) {
                        for (size_t i = 0; r.func == name && i < r.index.size(); i++) {
                            double &n = needed[f->dims[i]];
                            n = std::max(n, span(s, r.index[i], region(user)));
                        }
                    }
                }
            }
            return regions[name] = needed;
        };
        double elements = 1, rows = 1;
        for (const auto &dim : region(p_.func)) {
            elements *= dim.second;
            rows *= dim.first == p_.vector ? 1 : dim.second;
        }
        // A panel is not cut: with all the rows that an element of the host needs it has to fit.
        const double vectors = std::max(1.0, double(p_.panel) / d_.lanes());
        return elements <= 64 && (p_.panel == 0 || rows * vectors <= d_.vector_registers);
    }

    static double span(const Stage &s, const Index &index, const std::map<std::string, double> &region) {
        double n = 1;
        for (const auto &[loop, factor] : index.loops) {
            const auto free = region.find(loop);
            const double extent = s.loop(loop)->rvar ? s.loop(loop)->extent : free == region.end() ? 1 : free->second;
            n += std::abs(double(factor)) * (extent - 1);
        }
        n = index.mod > 0 ? std::min(n, double(index.mod)) : n;
        return index.div > 0 ? std::max(1.0, n / double(index.div)) : n;
    }

    // Through what is kept, of which there is no more then.
    bool comes_after(const std::string &a, const std::string &b) const {
        const auto [known, fresh] = after_.emplace(std::make_pair(a, b), false);
        if (fresh) {
            known->second = find_after(a, b);
        }
        return known->second;
    }

    bool find_after(const std::string &a, const std::string &b) const {
        const Func *f = d_.func(a);
        return std::any_of(f->stages.begin(), f->stages.end(), [&](const Stage &s) {
            return std::any_of(s.reads.begin(), s.reads.end(), [&](const Read &r) {
                return r.func == b || (r.func != a && kept_.count(r.func) && comes_after(r.func, b));
            });
        });
    }

    // Whether the product is read by nothing else than what this one reads, or it.
    bool dominates(const std::string &host) const {
        for (const auto &name : dependents_) {
            if (name != host && reads_kept_before(*d_.func(name), host) && !(kept_.count(name) && comes_after(host, name))) {
                return false;
            }
        }
        return !d_.func(host)->reduction();
    }

    bool reads_kept_before(const Func &f, const std::string &host) const {
        return std::any_of(f.stages.begin(), f.stages.end(), [&](const Stage &s) {
            return std::any_of(s.reads.begin(), s.reads.end(), [&](const Read &r) {
                return r.func != f.name && kept_.count(r.func) && r.func != host && (r.func == p_.func || comes_after(r.func, p_.func)) &&
                       !comes_after(r.func, host);
            });
        });
    }

    const Description &d_;
    const Users &users_;
    Product &p_;
    const int wanted_;
    std::set<std::string> dependents_;
    mutable std::map<std::pair<std::string, std::string>, bool> after_;
    std::set<std::string> kept_;
    std::map<std::string, std::map<std::string, int>> sides_;
};

}  // namespace

std::set<std::string> free_loops(const Stage &stage, size_t factor) {
    std::set<std::string> loops;
    for (const size_t n : stage.factors[factor]) {
        for (const Index &i : stage.reads[n].index) {
            for (const auto &l : i.loops) {
                if (is_free(stage, l.first)) {
                    loops.insert(l.first);
                }
            }
        }
    }
    return loops;
}

void add_copies(Description &d) {
    for (const auto &[name, p] : find_products(d)) {
        if (!p.host.empty() || d.func(name)->output || d.func(name)->fixed) {
            continue;
        }
        const Func &f = *d.func(name);
        Func copy = f;
        copy.name = name + "_tiles";
        copy.wraps = name;
        copy.stages.resize(1);
        Stage &s = copy.stages[0];
        s.instructions = s.flops = 0;
        s.reads = {{name, {}}};
        for (const auto &dim : f.dims) {
            Index i;
            i.loops[dim] = 1;
            s.reads[0].index.push_back(i);
        }
        for (auto &[user, other] : d.funcs) {
            for (Stage &stage : other.stages) {
                for (Read &r : stage.reads) {
                    r.func = r.func == name && user != name ? copy.name : r.func;
                }
            }
        }
        d.funcs[copy.name] = copy;
    }
}

std::map<std::string, Product> find_products(const Description &d) {
    std::map<std::string, Product> products;
    const Users users = users_of(d);
    std::optional<Graph> through;  // only where there is a reduction
    for (const auto &[name, f] : d.funcs) {
        if (auto p = as_turned(d, f)) {
            FindHost(d, users, *p).find();
            if (!p->host.empty()) {
                products[name] = *p;
            }
        }
        for (int u = 1; u < int(f.stages.size()) && !products.count(name); u++) {
            if (!through) {
                through.emplace(through_cheap(d));
            }
            if (auto p = as_product(*through, f, u)) {
                FindHost(d, users, *p).find();
                products[name] = *p;
            }
        }
    }
    return products;
}

}  // namespace halyard::explore
