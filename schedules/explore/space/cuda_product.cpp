#include "explore/space/cuda_product.h"

#include <algorithm>

namespace halyard::explore {

namespace {

using Names = std::vector<std::string>;

bool has(const Names &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

class FindProduct {
public:
    FindProduct(const Description &d, const Graph &graph, const Func &f) : d_(d), graph_(graph), f_(f), s_(f.stages[1]) {}

    std::optional<CudaProduct> find() {
        if (f_.dims.empty() || f_.types.size() != 1 || !s_.reduces() || s_.factors.size() != 2 || !stored_in_place()) {
            return std::nullopt;
        }
        for (const Loop &l : s_.loops) {
            if (l.rvar) {
                p_.sums.push_back(l.name);
            }
        }
        const std::set<std::string> of[2] = {free_loops(s_, 0), free_loops(s_, 1)};
        p_.func = f_.name;
        p_.col = f_.dims[0];
        // The factor along the columns is b; of windows both are, and a has the rows.
        size_t b = of[1].count(p_.col) ? 1 : 0;
        const auto along_rows = [&](const std::string &dim) { return dim != p_.col && of[1 - b].count(dim) && !of[b].count(dim); };
        if (of[0].count(p_.col) && of[1].count(p_.col) && std::none_of(f_.dims.begin(), f_.dims.end(), along_rows)) {
            b = 1 - b;
        }
        const auto row = std::find_if(f_.dims.begin(), f_.dims.end(), along_rows);
        if (row == f_.dims.end() || p_.sums.empty()) {
            return std::nullopt;
        }
        p_.row = *row;
        for (const auto &dim : f_.dims) {
            if (dim != p_.col && dim != p_.row) {
                p_.others.push_back(dim);
            }
        }
        p_.windows = of[0].count(p_.col) && of[1].count(p_.col);
        p_.col_inside = inside(p_.col);
        p_.row_inside = inside(p_.row);
        if (!p_.windows && tensor_tiles()) {
            p_.forms.push_back(CudaKernel::kTensorTiles);
            p_.float8 = bytes(graph_.reads(f_.name, 1)[0].func) == 1 && f_.types.front()[0] == 'f';
        }
        if (!p_.windows && tensor_windows()) {
            p_.forms.push_back(CudaKernel::kTensorWindows);
        }
        if (!p_.windows && shared_tiles(1 - b, b)) {
            p_.forms.push_back(CudaKernel::kSharedTiles);
        }
        p_.forms.push_back(CudaKernel::kThreadTiles);
        return p_;
    }

private:
    // Every update adds to the element of its own loops, all of them products.
    bool stored_in_place() const {
        return std::all_of(f_.stages.begin() + 1, f_.stages.end(), [&](const Stage &s) {
            for (size_t i = 0; i < s.stored.size(); i++) {
                if (!s.stored[i].is(f_.dims[i])) {
                    return false;
                }
            }
            return s.associative && s.reduces();
        });
    }

    // Columns or rows beyond the last may be computed: reads of inputs are clamped there, Funcs grow, and panels are whole.
    bool inside(const std::string &dim) {
        for (size_t stage = 1; stage < f_.stages.size(); stage++) {
            for (const Read &r : graph_.reads(f_.name, int(stage))) {
                for (const Index &i : r.index) {
                    if (d_.func(r.func) || !i.uses(dim) || i.clamped) {
                        continue;
                    }
                    const int64_t panel = dim == p_.col ? std::max(i.mod, i.div) : 0;
                    if (panel == 0) {
                        return false;
                    }
                    p_.panel = panel;
                }
            }
        }
        return true;
    }

    int bytes(const std::string &name) const {
        const Func *f = d_.func(name);
        return f ? f->bytes : d_.buffers.count(name) ? d_.buffers.at(name).bytes : 4;
    }

    // Both operands as they lie in memory, of the same 8 or 16 bits.
    bool tensor_operands() const {
        const auto &reads = graph_.reads(f_.name, 1);
        return f_.stages.size() == 2 && reads.size() == 2 && bytes(reads[0].func) <= 2 && bytes(reads[0].func) == bytes(reads[1].func) &&
               s_.factors[0].size() == 1 && s_.factors[1].size() == 1 && std::all_of(reads.begin(), reads.end(), [](const Read &r) {
                   return std::all_of(r.index.begin(), r.index.end(), [](const Index &i) { return i.exact && i.div == 0 && i.mod == 0; });
               });
    }

    bool tensor_tiles() const {
        const auto &reads = graph_.reads(f_.name, 1);
        return tensor_operands() && f_.dims == Names{"col", "row"} && p_.sums == Names{"k"} &&
               std::all_of(reads.begin(), reads.end(), [](const Read &r) {
                   return r.index.size() == 2 && std::all_of(r.index.begin(), r.index.end(), [](const Index &i) {
                              return i.loops.size() == 1 && i.loops.begin()->second == 1;
                          });
               });
    }

    // Images and weights with their channels innermost, as gpu_conv.tensor_windows has them.
    bool tensor_windows() const {
        const auto &reads = graph_.reads(f_.name, 1);
        return tensor_operands() && bytes(reads[0].func) == 2 && f_.dims == Names{"o", "g", "w", "h", "n"} &&
               p_.sums == Names{"tap_x", "tap_y", "tap_z"} &&
               std::all_of(reads.begin(), reads.end(), [](const Read &r) { return r.index.size() == 5 && r.index[0].is("tap_x"); });
    }

    bool shared_tiles(size_t a, size_t b) {
        const auto operand = [&](size_t factor, const std::string &loop, CudaOperand &o) {
            return s_.factors[factor].size() == 1 && find_operand(s_.reads[s_.factors[factor][0]], loop, o);
        };
        if (!p_.col_inside || !p_.row_inside || p_.panel % 64 != 0 || !operand(a, p_.row, p_.a) || !operand(b, p_.col, p_.b)) {
            return false;
        }
        if (f_.stages.size() == 2) {
            return p_.group == 0;
        }
        // What groups leave, of which nothing goes by in shared memory.
        for (const Loop &l : f_.stages[2].loops) {
            if (l.rvar) {
                p_.rest = p_.rest.empty() ? l.name : "";
            }
        }
        const auto &rest = f_.stages[2].reads;
        return p_.group > 0 && f_.stages.size() == 3 && !p_.rest.empty() && f_.bytes == 4 && p_.sums.size() == 1 &&
               std::none_of(rest.begin(), rest.end(), [&](const Read &r) { return r.func == p_.a.func || r.func == p_.b.func; });
    }

    bool find_operand(const Read &r, const std::string &loop, CudaOperand &o) {
        const Func *f = d_.func(r.func);
        const std::string &k = p_.sums[0];
        if (!f || f->reduction() || f->output || f->types.size() != 1) {
            return false;
        }
        o = CudaOperand();
        o.func = f->name;
        for (size_t i = 0; i < r.index.size(); i++) {
            const Index &index = r.index[i];
            const std::string &dim = f->dims[i];
            if (index.uses(k)) {
                const bool alone = index.loops.size() == 1 && index.loops.at(k) == 1 && index.exact;
                if (alone && index.mod > 0 && dim == "member") {
                    p_.group = index.mod;
                } else if (alone && index.mod == 0 && o.k.empty() && (index.is(k) || index.div == p_.group)) {
                    o.k = dim;
                } else {
                    return false;
                }
            } else if (index.uses(loop)) {
                const bool sums = std::any_of(index.loops.begin(), index.loops.end(), [&](const auto &l) { return has(p_.sums, l.first); });
                if (sums || index.loops.at(loop) != 1 || index.div || index.mod || !index.exact || !o.loop.empty()) {
                    return false;
                }
                o.loop = dim;
            } else {
                o.others.push_back(dim);
            }
        }
        o.k_together = runs_along_k(*f, o);
        return !o.loop.empty() && !o.k.empty();
    }

    bool runs_along_k(const Func &f, const CudaOperand &o) const {
        const Func *at = &f;
        std::string k = o.k;
        while (at && !graph_.stored(at->name) && !at->pure().reads.empty()) {
            const Read &r = at->pure().reads[0];
            at = d_.func(r.func);
            if (at && !r.index.empty()) {
                for (size_t i = 0; i < r.index.size(); i++) {
                    if (r.index[i].uses(k)) {
                        k = at->dims[i];
                        break;
                    }
                }
            } else {
                return !r.index.empty() && r.index[0].uses(k);
            }
        }
        return at && !at->dims.empty() && at->dims[0] == k;
    }

    const Description &d_;
    const Graph &graph_;
    const Func &f_;
    const Stage &s_;
    CudaProduct p_;
};

}  // namespace

std::map<std::string, CudaProduct> cuda_products(const Description &d, const Graph &graph) {
    std::map<std::string, CudaProduct> products;
    for (const Func *f : graph.order()) {
        if (f->reduction()) {
            if (auto p = FindProduct(d, graph, *f).find()) {
                products[f->name] = *p;
            }
        }
    }
    return products;
}

}  // namespace halyard::explore
