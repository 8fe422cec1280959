#include "explore/space/cuda_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "language/lua_text.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

using Names = std::vector<std::string>;

// The modules of schedules/lib that statements call.
constexpr const char *kModules[] = {"gpu_conv",   "gpu_elementwise", "gpu_gemm",  "gpu_grid",     "gpu_logits",
                                    "gpu_reduce", "gpu_rows",        "gpu_tiles", "gpu_transpose"};

std::string table(const Names &names) {
    return "{ " + all_in_quotes(names) + " }";
}

Names without(const Names &all, const Names &some) {
    Names rest;
    for (const auto &name : all) {
        if (std::find(some.begin(), some.end(), name) == some.end()) {
            rest.push_back(name);
        }
    }
    return rest;
}

class Statements {
public:
    Statements(const CudaKernel &k, const Description &d, const CudaPlaces &places, std::set<std::string> &modules)
        : k_(k), d_(d), places_(places), f_(*d.func(k.func)), modules_(modules) {}

    Names write() {
        switch (k_.form) {
        case CudaKernel::kVectors: vectors(); break;
        case CudaKernel::kElements: elements(stored(), f_.dims); break;
        case CudaKernel::kRows: rows(); break;
        case CudaKernel::kReduced: reduced(); break;
        case CudaKernel::kThreads: threads(); break;
        case CudaKernel::kInPlace: in_place(); break;
        case CudaKernel::kTransposed: transposed(); break;
        case CudaKernel::kTensorTiles: tensor("gpu_gemm.tensor_tiles", {"rows", "columns", "stages", "raster"}); break;
        case CudaKernel::kTensorWindows:
            tensor("gpu_conv.tensor_windows", {"tile_w", "tile_h", "tile_n", "columns", "stages", "raster"});
            break;
        case CudaKernel::kSharedTiles: shared_tiles(); break;
        case CudaKernel::kPanels: panels(); break;
        case CudaKernel::kThreadTiles: thread_tiles(); break;
        }
        if (k_.stream && k_.form != CudaKernel::kRows) {
            line(field(k_.func) + ":stream()");
        }
        for (const std::string &l : lines_) {
            for (const char *module : kModules) {
                if (l.compare(0, l.find('.'), module) == 0) {
                    modules_.insert(module);
                }
            }
        }
        return std::move(lines_);
    }

private:
    void line(const std::string &text) {
        lines_.push_back(text);
    }

    static std::string field(const std::string &name) {
        return lua_field_of_k(name);
    }

    // What is stored, as an argument.
    std::string stored() const {
        return field(k_.func) + (k_.copy ? ":in_():compute_root()" : f_.output ? "" : ":compute_root()");
    }

    // The same under a name, where statements after this one speak of it.
    std::string named() {
        if (!k_.copy) {
            if (!f_.output) {
                line(field(k_.func) + ":compute_root()");
            }
            return field(k_.func);
        }
        const std::string name = lua_identifier(k_.func + "_stored");
        line(fmt::format("local {} = {}", name, stored()));
        return name;
    }

    // "threads = 128, unroll = 4"
    std::string numbers(const Names &names) const {
        Names items;
        for (const auto &name : names) {
            items.push_back(fmt::format("{} = {}", name, k_.number(name)));
        }
        return join(items, ", ");
    }

    static std::string list(const std::string &name, const Names &names) {
        return names.empty() ? "" : fmt::format("{} = {}, ", name, table(names));
    }

    static std::string option(const std::string &name, const std::string &value, const std::string &usual) {
        return value == usual ? "" : fmt::format(", {} = \"{}\"", name, value);
    }

    void vectors() {
        line(fmt::format("gpu_elementwise.vectors({}, {{ col = \"{}\", rows = {}, {} }})", stored(), f_.dims[0],
                         table(Names(f_.dims.begin() + 1, f_.dims.end())), numbers({"threads", "lanes", "unroll"})));
    }

    // `together`: so many of the innermost loops count on in one, the others are blocks.
    void elements(const std::string &stage, const Names &dims, size_t together = SIZE_MAX) {
        together = std::min(together, dims.size());
        const Names rows(dims.begin(), dims.begin() + long(together)), blocks(dims.begin() + long(together), dims.end());
        line(dims.empty() ? stage + ":gpu_single_thread()"
                          : fmt::format("gpu_elementwise.elements({}, {{ rows = {}, {}{} }})", stage, table(rows), list("blocks", blocks),
                                        numbers({"threads"})));
    }

    // The options that the helpers of a row share.
    std::string options_name() const {
        const auto rows =
            std::count_if(places_.kernels.begin(), places_.kernels.end(), [](const CudaKernel &k) { return k.form == CudaKernel::kRows; });
        return rows == 1 ? "o" : lua_identifier(k_.func + "_options");
    }

    void rows() {
        const Names loops = without(f_.dims, k_.loops);
        const std::string items =
            fmt::format("at = {{ {}, \"{}\" }}, {}", field(k_.func), k_.loops[0], numbers({"threads", "vector", "unroll"}));
        const bool plain = f_.dims == Names{"col", "row"} && k_.loops == Names{"row"};
        const auto takes_options = [&](const std::string &name) {
            return !d_.func(name)->reduction() || rvars(*d_.func(name), 1).size() == 1;
        };
        const std::string o = options_name();
        if (plain) {
            line(fmt::format("local {} = {{ {}, held = \"{}\", resident = {} }}", o, items, k_.held.empty() ? "registers" : "shared",
                             k_.number("resident")));
            line(fmt::format("gpu_rows.blocks({}, {})", stored(), o));
            for (const auto &input : k_.held) {
                line(fmt::format("gpu_rows.hold({}, {})", field(input), o));
            }
        } else {
            if (std::any_of(k_.inside.begin(), k_.inside.end(), takes_options)) {
                line(fmt::format("local {} = {{ {} }}", o, items));
            }
            line(loops.empty()
                     ? fmt::format(k_.loops.size() > 3 ? "gpu_grid.over_blocks({}, {})" : "{}:gpu_blocks {}", stored(), table(k_.loops))
                     : fmt::format("gpu_rows.group_blocks({}, {{ loop = \"{}\", {}blocks = {}, {} }})", stored(), loops[0],
                                   list("around", Names(loops.begin() + 1, loops.end())), table(k_.loops),
                                   numbers({"threads", "vector", "unroll"})));
        }
        if (k_.stream) {
            line(field(k_.func) + ":stream()");
        }
        for (const auto &name : k_.inside) {
            const Func &inner = *d_.func(name);
            const Names sums = inner.reduction() ? rvars(inner, 1) : Names{};
            std::string func = field(name);
            for (const auto &dim : k_.loops.size() > 3 ? inner.dims : Names{}) {  // which fused loops hide
                func += fmt::format(":bound_extent(\"{}\", 1)", dim);
            }
            if (sums.empty()) {
                line(fmt::format("gpu_grid.each_thread({}, {})", func, o));
            } else if (sums.size() == 1) {
                line(fmt::format("gpu_reduce.in_block({}, \"{}\", {})", func, sums[0], o));
            } else {
                line(fmt::format("gpu_reduce.in_block({}, \"{}\", {{ {}{} }})", func, sums[0],
                                 list("around", Names(sums.begin() + 1, sums.end())), items));
            }
        }
    }

    static Names rvars(const Func &f, size_t stage) {
        Names names;
        for (const Loop &l : f.stages[stage].loops) {
            if (l.rvar) {
                names.push_back(l.name);
            }
        }
        return names;
    }

    void reduced() {
        const Names sums = rvars(f_, 1);
        const std::string around = list("around", Names(sums.begin() + 1, sums.end()));
        line(fmt::format("gpu_reduce.rows({}, \"{}\", {{ rows = {}, {}{} }})", field(k_.func), sums[0], table(f_.dims), around,
                         numbers({"threads", "vector", "unroll"})));
    }

    // Each thread computes what is inside for itself, in registers.
    void threads() {
        const std::string stage = named();
        Names order = without(f_.dims, k_.loops);
        order.insert(order.end(), k_.loops.begin(), k_.loops.end());
        if (order != f_.dims) {
            line(fmt::format("{}:reorder({})", stage, all_in_quotes(order)));
        }
        elements(stage, k_.loops, 2);
        if (k_.copy) {
            each_thread(f_, stage);
        }
        for (const auto &name : k_.inside) {
            each_thread(*d_.func(name), stage);
        }
    }

    void each_thread(const Func &f, const std::string &stage) {
        std::string bounds;
        const Names lists = list_dims(f);
        for (const auto &dim : f.dims) {
            if (std::find(lists.begin(), lists.end(), dim) != lists.end()) {
                bounds += fmt::format(":bound(\"{}\", 0, {})", dim, int64_t(f.extent(dim)));
            } else if (std::find(k_.loops.begin(), k_.loops.end(), dim) != k_.loops.end()) {
                bounds += fmt::format(":bound_extent(\"{}\", 1)", dim);
            }
        }
        line(fmt::format("gpu_grid.each_thread({}{}, {{ at = {{ {}, \"thread\" }} }})", field(f.name), bounds, stage));
    }

    // Stage by stage, in memory.
    void in_place() {
        const std::string stage = named();
        elements(stage, f_.dims);
        for (size_t u = 1; u < f_.stages.size(); u++) {
            Names free;
            for (const Loop &l : f_.stages[u].loops) {
                if (!l.rvar) {
                    free.push_back(l.name);
                }
            }
            elements(fmt::format("{}:update({})", stage, u - 1), free);
        }
    }

    void transposed() {
        const Func &t = *d_.func(k_.products[0]);
        const Names others = Names(f_.dims.begin() + 2, f_.dims.end());
        std::string names;
        if (f_.dims[0] != "row" || f_.dims[1] != "col" || others != Names{"n"}) {
            names = fmt::format(", {{ row = \"{}\", col = \"{}\", others = {} }}", f_.dims[0], f_.dims[1], table(others));
        }
        line(fmt::format("gpu_transpose.tiles({}, {}, {{ {} }}{})", stored(), field(t.name), numbers({"tile", "threads"}), names));
    }

    void tensor(const std::string &helper, const Names &names) {
        Names products;
        for (const auto &p : k_.products) {
            products.push_back(field(p));
        }
        const std::string sums = products.size() == 1 ? products[0] : "{ " + join(products, ", ") + " }";
        const char *more = places_.products.at(k_.products[0]).float8 ? ", { operand_bytes = 1 }" : "";
        line(fmt::format("{}({}, {}, {{ {} }}{})", helper, stored(), sums, numbers(names), more));
    }

    // A Func that others read too is copied for the product.
    std::string operand(const CudaOperand &o, const CudaProduct &p) const {
        size_t readers = places_.graph->stored(o.func);
        for (const auto &f : d_.funcs) {
            readers += std::any_of(f.second.stages.begin(), f.second.stages.end(), [&](const Stage &s) {
                return std::any_of(s.reads.begin(), s.reads.end(), [&](const Read &r) { return r.func == o.func; });
            });
        }
        return fmt::format("{{ func = {}{}, loop = \"{}\", k = \"{}\", together = \"{}\"{} }}", field(o.func),
                           readers > 1 ? fmt::format(":in_({})", field(p.func)) : "", o.loop, o.k, o.k_together ? "k" : "col",
                           o.others.empty() ? "" : ", others = " + table(others_of(o, p)));
    }

    static Names others_of(const CudaOperand &o, const CudaProduct &p) {
        return p.group > 0 ? without(o.others, {"member"}) : o.others;
    }

    void shared_tiles() {
        const CudaProduct &first = places_.products.at(k_.products[0]);
        const std::string tile = numbers({"rows", "columns", "depth"}) + option("col", first.col, "col") + option("row", first.row, "row");
        const std::string blocks = first.others.empty() ? "" : ", blocks = " + table(first.others);
        const bool one = k_.products.size() == 1;
        const std::string stage = one ? stored() : named();
        if (!one) {
            line(fmt::format("gpu_tiles.blocks({}, {{ {}{} }})", stage, tile, blocks));
        }
        for (const auto &name : k_.products) {
            const CudaProduct &p = places_.products.at(name);
            line(one ? fmt::format("gpu_tiles.product({}, {}, {{", stage, field(name))
                     : fmt::format("gpu_tiles.sums({}, {{ {}, \"tile_col\" }}, {{", field(name), stage));
            line("  a = " + operand(p.a, p) + ",");
            line("  b = " + operand(p.b, p) + ",");
            std::string last = "  " + tile + option("k", p.sums[0], "k");
            last += p.sums.size() > 1 ? ", around = " + table(Names(p.sums.begin() + 1, p.sums.end())) : "";
            last += p.group > 0 ? fmt::format(", group = {}, rest = \"{}\"", p.group, p.rest) : "";
            last += p.others.empty() ? "" : (one ? blocks : "") + ", others = " + table(p.others);
            line(last + ",");
            line("})");
        }
    }

    void panels() {
        line(fmt::format("gpu_logits.fused(k, {{ rows = {}, panel = {}, depth = {} }}, {})", k_.number("rows"), k_.number("columns"),
                         k_.number("depth"), table(without(k_.inside, k_.products))));
    }

    void thread_tiles() {
        const CudaProduct &p = places_.products.at(k_.products[0]);
        std::string o = fmt::format("col = \"{}\", row = \"{}\", {}", p.col, p.row, numbers({"columns", "rows", "lanes", "threads"}));
        o += p.others.empty() ? "" : ", others = " + table(p.others);
        Names shifted;
        if (!p.col_inside) {
            shifted.push_back(p.col);
        }
        if (!p.row_inside) {
            shifted.push_back(p.row);
        }
        o += shifted.empty() ? "" : ", shifted = " + table(shifted);
        line(fmt::format("gpu_tiles.of_threads({}, {}, {{", stored(), field(p.func)));
        line("  " + o + ",");
        Names sums;
        for (size_t u = 1; u < d_.func(p.func)->stages.size(); u++) {
            sums.push_back(table(rvars(*d_.func(p.func), u)));
        }
        line(fmt::format("  sums = {{ {} }},", join(sums, ", ")));
        line("})");
    }

    const CudaKernel &k_;
    const Description &d_;
    const CudaPlaces &places_;
    const Func &f_;
    std::set<std::string> &modules_;
    Names lines_;
};

}  // namespace

std::vector<std::string> cuda_statements(const CudaKernel &k, const Description &d, const CudaPlaces &places,
                                         std::set<std::string> &modules) {
    return Statements(k, d, places, modules).write();
}

}  // namespace halyard::explore
