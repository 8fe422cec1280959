#include "explore/space/cuda_places.h"

#include <algorithm>

#include <fmt/format.h>

#include "explore/space/cuda_inlined.h"

namespace halyard::explore {

namespace {

using Names = std::vector<std::string>;

constexpr double kFewElements = 64;  // that a thread may have in registers, or reduce by itself
constexpr size_t kBlockLoops = 5;    // of blocks, of which the innermost keeps its name (gpu_grid.over_blocks)
constexpr double kTile = 16;         // rows and columns from which a tile of a block's threads pays

bool has(const Names &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string form_name(CudaKernel::Form form) {
    return form == CudaKernel::kTensorTiles || form == CudaKernel::kTensorWindows ? "tensor cores"
           : form == CudaKernel::kSharedTiles                                     ? "tiles in shared memory"
                                                                                  : "tiles of a thread";
}

class Places {
public:
    Places(const Description &d, Choices &choices) : d_(d), choices_(choices), products_(find_products(d)) {}

    CudaPlaces place() {
        out_.inlined = choose_inlined(d_, choices_, products_);
        out_.graph = std::make_unique<Graph>(d_, out_.inlined);
        out_.products = cuda_products(d_, *out_.graph);
        for (const Func *f : out_.graph->order()) {
            place(*f);
        }
        for (const std::string &root : roots_) {
            out_.kernels.push_back(kernels_.count(root) ? kernels_.at(root) : finished(*d_.func(root)));
            out_.kernels.back().func = root;
        }
        return std::move(out_);
    }

private:
    // The kernel that computes all readers of a Func, and which of its loops are whose dimensions.
    struct Host {
        std::string func;
        std::map<std::string, std::string> dims;  // the host's loops; what is missing is needed whole
    };

    // Which of the host's loops an index is; "" where all of the dimension is needed, nothing where it is neither.
    std::optional<std::string> loop_of(const Index &index, const Reader &r, const Host &host) const {
        if (index.loops.empty()) {
            return "";
        }
        const std::string &loop = index.loops.begin()->first;
        if (index.loops.size() != 1 || !index.is(loop)) {
            return std::nullopt;
        }
        if (r.definition().loop(loop)->rvar) {
            return "";
        }
        const auto in = hosts_.find(r.func->name);
        if (in == hosts_.end()) {
            return has(d_.func(host.func)->dims, loop) ? loop : "";
        }
        const auto outer = in->second.dims.find(loop);
        return outer == in->second.dims.end() ? "" : outer->second;
    }

    std::optional<Host> common_host(const Func &f) const {
        std::optional<Host> common;
        for (const Reader &r : out_.graph->readers(f.name)) {
            const auto in = hosts_.find(r.func->name);
            Host h;
            h.func = in == hosts_.end() ? r.func->name : in->second.func;
            for (size_t i = 0; i < f.dims.size(); i++) {
                const auto loop = loop_of(r.read.index[i], r, h);
                if (!loop) {
                    return std::nullopt;
                }
                if (!loop->empty()) {
                    h.dims[f.dims[i]] = *loop;
                }
            }
            if (common && common->func != h.func) {
                return std::nullopt;
            }
            for (const auto &dim : f.dims) {
                if (common && common->dims[dim] != h.dims[dim]) {
                    common->dims[dim] = h.dims[dim] = "";
                }
            }
            common = common ? common : h;
        }
        if (common) {
            for (const auto &dim : f.dims) {
                if (common->dims[dim].empty()) {
                    common->dims.erase(dim);
                }
            }
        }
        return common;
    }

    Names loops_of(const Host &h) const {
        Names loops;
        for (const auto &dim : d_.func(h.func)->dims) {  // in the host's order
            if (std::any_of(h.dims.begin(), h.dims.end(), [&](const auto &d) { return d.second == dim; })) {
                loops.push_back(dim);
            }
        }
        return loops;
    }

    void place(const Func &f) {
        if (f.output) {
            roots_.push_back(f.name);
            if (f.reduction()) {
                kernels_[f.name] = finished(f);
            }
            return;
        }
        const auto host = common_host(f);
        if (const auto p = out_.products.find(f.name); p != out_.products.end() && place_product(f, p->second, host)) {
            return;
        }
        if (products_.count(f.name) && products_.at(f.name).turned && place_turned(f, host)) {
            return;
        }
        const bool in_tile = host && kernels_.count(host->func) && is_tile(kernels_.at(host->func).form);
        if (host && !in_tile && !host->dims.empty() && can_host(*d_.func(host->func))) {
            std::vector<std::string> options;
            if (fits_blocks(f, *host)) {
                options.emplace_back("blocks");
            }
            if (fits_threads(f, *host)) {
                options.emplace_back("threads");
            }
            if (!options.empty()) {
                const bool fused = choices_.pick("place of " + f.name, {"fused", "root"}, "fused") == "fused";
                if (fused) {
                    const bool opened = kernels_.count(host->func) > 0;
                    const std::string guess = options.size() == 2 && serial(f) ? "threads" : options[0];
                    const std::string form =
                        opened || options.size() == 1 ? options[0] : choices_.pick("rows of " + host->func, options, guess);
                    if (!opened) {
                        CudaKernel &k = kernels_[host->func];
                        k.form = form == "blocks" ? CudaKernel::kRows : CudaKernel::kThreads;
                        k.loops = loops_of(*host);
                    }
                    inside(f, *host);
                    return;
                }
            }
        }
        roots_.push_back(f.name);
        if (f.reduction()) {
            kernels_[f.name] = finished(f);
        }
    }

    static bool is_tile(CudaKernel::Form form) {
        return form != CudaKernel::kRows && form != CudaKernel::kThreads;
    }

    // A Func with updates hosts others where it is computed by threads, for a copy of it.
    bool can_host(const Func &f) const {
        return !f.reduction() || (!f.output && kernels_.count(f.name) && kernels_.at(f.name).form == CudaKernel::kThreads);
    }

    // A value of the rows of a block, which its threads share out.
    bool fits_blocks(const Func &f, const Host &host) const {
        const Names loops = loops_of(host);
        const auto k = kernels_.find(host.func);
        const bool of_rows = f.reduction() || loops.size() < d_.func(host.func)->dims.size() || k != kernels_.end();
        return of_rows && loops.size() <= kBlockLoops && host.dims.size() == f.dims.size() && f.stages.size() <= 2 &&
               list_dims(f).empty() && (!f.reduction() || f.stages[1].associative) && !d_.func(host.func)->reduction() &&
               (k == kernels_.end() || (k->second.form == CudaKernel::kRows && k->second.loops == loops));
    }

    // Values that each thread computes for itself.
    bool fits_threads(const Func &f, const Host &host) const {
        const auto k = kernels_.find(host.func);
        if (k != kernels_.end() && k->second.form != CudaKernel::kThreads) {
            return false;
        }
        const Names loops = k == kernels_.end() ? loops_of(host) : k->second.loops;
        double elements = 1, left = 1;
        bool all = true;
        for (const auto &dim : f.dims) {
            const auto loop = host.dims.find(dim);
            const bool whole = loop == host.dims.end() || !has(loops, loop->second);
            elements *= !whole ? 1 : constant(f, dim) ? f.extent(dim) : 2 * kFewElements;
        }
        for (const auto &dim : d_.func(host.func)->dims) {
            left *= has(loops, dim) ? 1 : d_.func(host.func)->extent(dim);
            all = all &&
                  (!has(loops, dim) || std::any_of(host.dims.begin(), host.dims.end(), [&](const auto &h) { return h.second == dim; }));
        }
        const bool list = !list_dims(f).empty();
        const bool few = elements <= kFewElements && left <= kFewElements && (all || reduced(f) <= kTile) &&
                         (list || elements == 1 || elements * reduced(f) <= kFewElements);
        // Without a list a kernel of threads is one of reductions.
        return few && (f.reduction() || k != kernels_.end()) && (!list || constant_list(f));
    }

    // Sums of few, or along whose columns memory runs: better by one thread than by those of a block.
    bool serial(const Func &f) const {
        if (!f.reduction()) {
            return false;
        }
        const auto &reads = out_.graph->reads(f.name, 1);
        const bool columns = !f.dims.empty() && std::any_of(reads.begin(), reads.end(), [&](const Read &r) {
            return !r.index.empty() && r.index[0].is(f.dims[0]) && reads_rvars(f, r);
        });
        return reduced(f) <= kTile || columns || !list_dims(f).empty() || f.stages.size() > 2;
    }

    static bool reads_rvars(const Func &f, const Read &r) {
        const auto &loops = f.stages[1].loops;
        return std::any_of(loops.begin(), loops.end(), [&](const Loop &l) { return l.rvar && r.uses(l.name); });
    }

    static double reduced(const Func &f) {
        double n = 1;
        for (const Loop &l : f.reduction() ? f.stages[1].loops : std::vector<Loop>{}) {
            n *= l.rvar ? l.extent : 1;
        }
        return n;
    }

    // Whether the compiler knows the extent: it is that of a list, whose updates store at its end.
    bool constant(const Func &f, const std::string &dim) const {
        for (const auto &other : d_.funcs) {
            const Names &dims = other.second.dims, lists = list_dims(other.second);
            const size_t i = size_t(std::find(dims.begin(), dims.end(), dim) - dims.begin());
            const auto at_end = [&](const Stage &s) { return s.stored[i].offset && double(*s.stored[i].offset) == f.extent(dim) - 1; };
            if (has(lists, dim) && std::all_of(other.second.stages.begin() + 1, other.second.stages.end(), at_end)) {
                return true;
            }
        }
        return false;
    }

    bool constant_list(const Func &f) const {
        double elements = 1;
        for (const auto &dim : list_dims(f)) {
            elements *= constant(f, dim) ? f.extent(dim) : 2 * kFewElements;
        }
        return elements <= kFewElements;
    }

    // Whether it has a place now; else it is a reduction like others.
    bool place_product(const Func &f, const CudaProduct &p, const std::optional<Host> &host) {
        Names options;
        for (const auto form : p.forms) {
            options.push_back(form_name(form));
        }
        options.emplace_back("sums");
        const double rows = f.extent(p.row), columns = f.extent(p.col);
        std::string guess = options[0];
        if (p.forms[0] == CudaKernel::kSharedTiles && (rows < kTile || columns < kTile)) {
            guess = rows < 4 && p.a.k_together && p.b.k_together ? "sums" : options[1];
        } else if (p.forms[0] == CudaKernel::kThreadTiles && columns < 4) {
            guess = "sums";
        }
        const std::string taken = choices_.pick("product of " + f.name, options, guess);
        if (taken == "sums") {
            return false;
        }
        const auto form = p.forms[size_t(std::find(options.begin(), options.end(), taken) - options.begin())];
        const bool whole = host && same_loops(f, *host) && !d_.func(host->func)->reduction() && joins(f, form, host->func);
        if (whole && choices_.pick("place of " + f.name, {"fused", "root"}, "fused") == "fused") {
            kernels_[host->func].form = form;
            kernels_[host->func].products.push_back(f.name);
            inside(f, *host);
            return true;
        }
        if (form == CudaKernel::kSharedTiles && host && is_panel(f, *host) &&
            choices_.pick("place of " + f.name, {"panels", "root"}, "panels") == "panels") {
            kernels_[host->func].form = CudaKernel::kPanels;
            kernels_[host->func].products = {f.name};
            inside(f, *host);
            return true;
        }
        CudaKernel &k = kernels_[f.name];
        k.form = form;
        k.copy = true;
        k.products = {f.name};
        roots_.push_back(f.name);
        return true;
    }

    // Logits of which a panel is reduced for each row (generators/math/panel_logits.h), as gpu_logits.fused() has them.
    bool is_panel(const Func &f, const Host &host) const {
        const auto k = kernels_.find(host.func);
        return k != kernels_.end() && k->second.form == CudaKernel::kRows && host.func == "part" && f.name == "acc" &&
               d_.func(host.func)->dims == Names{"p", "row"} && k->second.loops == Names{"p", "row"} && f.dims == Names{"j", "row", "p"} &&
               host.dims.size() == 2 && int64_t(f.extent("j")) % 64 == 0 && int64_t(f.extent("j")) <= 128 &&
               out_.products.at(f.name).a.func == "x_f" && out_.products.at(f.name).b.func == "w_f";
    }

    bool same_loops(const Func &f, const Host &host) const {
        return d_.func(host.func)->dims == f.dims && host.dims.size() == f.dims.size() &&
               std::all_of(host.dims.begin(), host.dims.end(), [](const auto &d) { return d.first == d.second; });
    }

    // Whether the tiles of the kernel are free for it: two products may share them whose rows are the same.
    bool joins(const Func &f, CudaKernel::Form form, const std::string &host) const {
        const auto k = kernels_.find(host);
        if (k == kernels_.end()) {
            return true;
        }
        if (k->second.form != form || k->second.products.size() != 1 || form == CudaKernel::kTensorWindows ||
            form == CudaKernel::kThreadTiles) {
            return false;
        }
        const Func &other = *d_.func(k->second.products[0]);
        return form == CudaKernel::kSharedTiles || row_factor(f) == row_factor(other);
    }

    std::string row_factor(const Func &f) const {
        for (const Read &r : out_.graph->reads(f.name, 1)) {
            if (r.uses(out_.products.at(f.name).row)) {
                return r.func;
            }
        }
        return "";
    }

    bool place_turned(const Func &f, const std::optional<Host> &host) {
        if (!host || !same_loops(f, *host) || d_.func(host->func)->reduction() || kernels_.count(host->func)) {
            CudaKernel &k = kernels_[f.name];
            k.form = CudaKernel::kTransposed;
            k.copy = true;
            k.products = {f.name};
            roots_.push_back(f.name);
            return true;
        }
        kernels_[host->func].form = CudaKernel::kTransposed;
        kernels_[host->func].products = {f.name};
        inside(f, *host);
        return true;
    }

    void inside(const Func &f, const Host &host) {
        hosts_[f.name] = host;
        kernels_[host.func].inside.push_back(f.name);
        out_.fusion += fmt::format("{}{} in {}", out_.fusion.empty() ? "" : ", ", f.name, host.func);
    }

    // What computes nothing but itself.
    CudaKernel finished(const Func &f) {
        CudaKernel k;
        if (!f.reduction()) {
            k.form = f.dims.size() > 1 && f.types.size() == 1 && f.bytes <= 4 ? CudaKernel::kVectors : CudaKernel::kElements;
            return k;
        }
        const bool list = !list_dims(f).empty();
        const bool registers = !f.output && (list ? constant_list(f) : true) && list_dims(f).size() < f.dims.size();
        const bool blocks =
            !f.output && !list && f.dims.size() <= kBlockLoops && !f.dims.empty() && f.stages.size() == 2 && f.stages[1].associative;
        Names options;
        if (blocks) {
            options.emplace_back("blocks");
        }
        if (registers) {
            options.emplace_back("threads");
        }
        options.emplace_back("memory");
        const std::string guess = blocks && serial(f) && registers ? "threads" : options[0];
        const std::string taken = choices_.pick("rows of " + f.name, options, guess);
        k.form = taken == "blocks" ? CudaKernel::kReduced : taken == "threads" ? CudaKernel::kThreads : CudaKernel::kInPlace;
        k.copy = taken == "threads";
        for (const auto &dim : f.dims) {
            if (!has(list_dims(f), dim)) {
                k.loops.push_back(dim);
            }
        }
        return k;
    }

    const Description &d_;
    Choices &choices_;
    const std::map<std::string, Product> products_;  // as the host sees them
    CudaPlaces out_;
    Names roots_;
    std::map<std::string, Host> hosts_;
    std::map<std::string, CudaKernel> kernels_;  // by what they store
};

}  // namespace

std::vector<std::string> list_dims(const Func &f) {
    Names dims;
    for (size_t i = 0; i < f.dims.size(); i++) {
        const bool elsewhere =
            std::any_of(f.stages.begin() + 1, f.stages.end(), [&](const Stage &s) { return !s.stored[i].is(f.dims[i]); });
        if (elsewhere) {
            dims.push_back(f.dims[i]);
        }
    }
    return dims;
}

CudaPlaces place_for_cuda(const Description &d, Choices &choices) {
    return Places(d, choices).place();
}

}  // namespace halyard::explore
