#include "cuda_space.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "failure.h"
#include "graph.h"
#include "product.h"
#include "text.h"

namespace halyard::explore {

namespace {

// Of an H200, coarsely: what is compared are predictions of one task.
constexpr double kBytesASecond = 4e12, kTensorFlops = 7e14, kFlops = 3e13, kLaunchSeconds = 3e-6;
constexpr double kMultiprocessors = 132, kBusyThreads = 512;  // of a multiprocessor, for most of the bandwidth

using Names = std::vector<std::string>;

std::string table(const Names &names) {
    return "{ \"" + join(names, "\", \"") + "\" }";
}

class CudaPlanner {
public:
    CudaPlanner(const Description &d, Choices &choices)
        : d_(d), choices_(choices), products_(find_products(d)) {
        // Copies that cut tiles for products on the host are only another name here.
        for (const auto &f : d.funcs) {
            if (!f.second.wraps.empty()) {
                inlined_.insert(f.first);
            }
        }
    }

    CudaPlan make() {
        choose_inlined();
        graph_ = std::make_unique<Graph>(d_, inlined_);
        for (const Func *f : graph_->order()) {
            check(*f);
            place(*f);
        }
        for (const std::string &root : roots_) {
            write(*d_.func(root));
        }
        plan_.body = join(lines_, "\n") + "\n";
        return std::move(plan_);
    }

private:
    // A Func in whose blocks others are computed, and by which of its loops the blocks go.
    struct Host {
        std::string func;
        std::map<std::string, std::string> dims;  // of a Func that is computed there: the host's loops
    };

    bool tensor_product(const Func &f) const {
        const auto p = products_.find(f.name);
        return p != products_.end() && !p->second.stencil && !p->second.turned && f.reduction();
    }

    void check(const Func &f) const {
        const auto fail = [&](const std::string &why) {
            throw Failure(fmt::format("the rules for CUDA do not know what to do with {}, {}; name a schedule", f.name, why));
        };
        if (f.stages.size() > 2) {
            fail("which has several updates");
        }
        if (!f.reduction()) {
            return;
        }
        const Stage &update = f.stages[1];
        if (!update.associative) {
            fail("whose updates are not associative");
        }
        if (const auto p = products_.find(f.name); p != products_.end() && !tensor_product(f)) {
            fail("whose windows overlap");
        }
        if (tensor_product(f) && (f.dims != Names{"col", "row"} || update.loops.size() != 3 || !update.loop("k"))) {
            fail("a product that is not of two matrices over col, row and k");
        }
        for (const Read &r : graph_->reads(f.name, 1)) {
            const auto b = d_.buffers.find(r.func);
            if (tensor_product(f) && b != d_.buffers.end() && b->second.bytes > 2) {
                fail("a product that the tensor cores do not take");
            }
        }
        for (const Index &i : update.stored) {
            if (i.loops.size() > 1 || !i.exact) {
                fail("which is no reduction of rows");
            }
        }
    }

    // What costs nothing or is used once is inlined; the rest is a decision.
    void choose_inlined() {
        const Graph all(d_, inlined_);
        for (const Func *f : all.order()) {
            if (f->output || f->reduction() || inlined_.count(f->name)) {
                continue;
            }
            const double times = uses(d_, inlined_)[f->name];
            const bool cheap = f->pure().cost() < 0.01 || is_factor(f->name);
            // What few elements need of a reduction is kept; exponentials of a row are computed again.
            const bool statistic = reads_reduction(*f) && f->pure().elements * 8 < outputs();
            if (cheap || (times <= 1.01 && !statistic) || choices_.yes("inline " + f->name, !statistic)) {
                inlined_.insert(f->name);
            }
        }
    }

    // The tensor cores read matrices as they are.
    bool is_factor(const std::string &name) const {
        return std::any_of(products_.begin(), products_.end(), [&](const auto &p) {
            const auto &reads = d_.func(p.first)->stages.back().reads;
            return tensor_product(*d_.func(p.first)) &&
                   std::any_of(reads.begin(), reads.end(), [&](const Read &r) { return r.func == name; });
        });
    }

    bool reads_reduction(const Func &f) const {
        return std::any_of(f.pure().reads.begin(), f.pure().reads.end(), [&](const Read &r) {
            const Func *other = d_.func(r.func);
            return other && other->reduction();
        });
    }

    double outputs() const {
        double most = 0;
        for (const auto &f : d_.funcs) {
            most = f.second.output ? std::max(most, f.second.pure().elements) : most;
        }
        return most;
    }

    // The host of all readers, with this Func's dimensions as the host's loops.
    std::optional<Host> common_host(const Func &f) const {
        std::optional<Host> common;
        for (const Reader &r : graph_->readers(f.name)) {
            const auto in = hosts_.find(r.func->name);
            Host h;
            h.func = in == hosts_.end() ? r.func->name : in->second.func;
            for (size_t i = 0; i < f.dims.size(); i++) {
                const Index &index = r.read.index[i];
                if (index.loops.size() != 1 || !index.is(index.loops.begin()->first)) {
                    return std::nullopt;
                }
                std::string loop = index.loops.begin()->first;
                if (in != hosts_.end()) {
                    const auto outer = in->second.dims.find(loop);
                    if (outer == in->second.dims.end()) {
                        return std::nullopt;  // along the reduction of the reader
                    }
                    loop = outer->second;
                }
                const Names &dims = d_.func(h.func)->dims;
                if (std::find(dims.begin(), dims.end(), loop) == dims.end()) {
                    return std::nullopt;
                }
                h.dims[f.dims[i]] = loop;
            }
            if (common && (common->func != h.func || common->dims != h.dims)) {
                return std::nullopt;
            }
            common = h;
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
            return;
        }
        const auto host = common_host(f);
        if (tensor_product(f)) {
            const bool whole = host && d_.func(host->func)->dims == f.dims && !d_.func(host->func)->reduction() &&
                               blocks_.count(host->func) == 0 && tiles_.count(host->func) == 0;
            if (whole && choices_.pick("place of " + f.name, {"fused", "root"}, "fused") == "fused") {
                tiles_[host->func] = f.name;
                fused(f, *host);
            } else {
                roots_.push_back(f.name);
            }
            return;
        }
        // A value for each element of the host is no value of a row.
        const bool of_rows = host && (f.reduction() || loops_of(*host).size() < d_.func(host->func)->dims.size() ||
                                      blocks_.count(host->func));
        const bool fits = of_rows && !host->dims.empty() && tiles_.count(host->func) == 0 &&
                          !tensor_product(*d_.func(host->func)) && !d_.func(host->func)->reduction() &&
                          (blocks_.count(host->func) == 0 || blocks_.at(host->func) == loops_of(*host));
        if (fits && choices_.pick("place of " + f.name, {"fused", "root"}, "fused") == "fused") {
            blocks_[host->func] = loops_of(*host);
            fused(f, *host);
        } else {
            roots_.push_back(f.name);
        }
    }

    void fused(const Func &f, const Host &host) {
        hosts_[f.name] = host;
        inside_[host.func].push_back(f.name);
        plan_.fusion += fmt::format("{}{} in {}", plan_.fusion.empty() ? "" : ", ", f.name, host.func);
    }

    // --- numbers and text

    int64_t number(const std::string &func, const std::string &what, std::vector<int64_t> options, int64_t guess,
                   int64_t most = INT64_MAX) {
        return choices_.number(func + "'s " + what, std::move(options), guess, most);
    }

    void line(const std::string &text) {
        lines_.push_back("    " + text);
    }

    static int64_t vector_of(const Func &f) {
        return std::clamp<int64_t>(16 / std::max(f.bytes, 1), 2, 8);
    }

    double extents(const Func &f, const Names &dims) const {
        double n = 1;
        for (const auto &dim : dims) {
            n *= f.extent(dim);
        }
        return n;
    }

    static Names without(const Names &all, const Names &some) {
        Names rest;
        for (const auto &name : all) {
            if (std::find(some.begin(), some.end(), name) == some.end()) {
                rest.push_back(name);
            }
        }
        return rest;
    }

    std::string of(const Func &f) const {
        return "k." + f.name + (f.output ? "" : ":compute_root()");
    }

    void stream(const Func &f) {
        if (f.output && choices_.yes("stream " + f.name, true)) {
            line(fmt::format("k.{}:stream()", f.name));
        }
    }

    void write(const Func &f) {
        const auto tile = tiles_.find(f.name);
        if (tile != tiles_.end()) {
            tensor_tiles(f, "k." + f.name + (f.output ? "" : ":compute_root()"), tile->second);
        } else if (tensor_product(f)) {
            tensor_tiles(f, fmt::format("k.{}:in_():compute_root()", f.name), f.name);
        } else if (blocks_.count(f.name)) {
            rows(f, blocks_.at(f.name));
        } else if (f.reduction()) {
            reduce_rows(f);
        } else {
            elementwise(f);
        }
    }

    void tensor_tiles(const Func &f, const std::string &stage, const std::string &product) {
        const int64_t rows = number(f.name, "rows", {64, 128, 192}, f.extent("row") > 64 ? 128 : 64);
        const int64_t columns = number(f.name, "columns", {64, 128, 192, 256}, f.extent("row") > 64 ? 256 : 64);
        const int64_t stages = number(f.name, "stages", {2, 3, 4, 5, 6}, f.extent("row") > 64 ? 3 : 6);
        const int64_t group = number(f.name, "group", {4, 8, 16}, 16);
        constexpr int64_t kShared = 226 << 10;
        if (stages * 128 * (rows + columns) + 128 * rows > kShared || rows * columns > 192 * 192) {
            throw Failure(fmt::format("{}: tiles that are too large", f.name));
        }
        line(fmt::format("gpu.tensor_tiles({}, k.{}, {{ rows = {}, columns = {}, stages = {}, group = {} }})", stage, product,
                         rows, columns, stages, group));
        const Stage &update = d_.func(product)->stages[1];
        const double blocks = std::ceil(f.extent("row") / double(rows)) * std::ceil(f.extent("col") / double(columns));
        const double flops = 2 * blocks * double(rows * columns) * update.loop("k")->extent;
        const double waves = std::ceil(blocks / kMultiprocessors) / (blocks / kMultiprocessors);
        predict(f, flops / kTensorFlops * waves, blocks, 384);
    }

    void rows(const Func &f, const Names &blocks) {
        const Names loops = without(f.dims, blocks);
        const bool plain = f.dims == Names{"col", "row"} && blocks == Names{"row"};
        const double columns = extents(f, loops.empty() ? Names{} : loops);
        const double work = loops.empty() ? reduced(f) : columns;
        const int64_t vector = number(f.name, "vector", {2, 4, 8}, vector_of(f));
        const int64_t threads = number(f.name, "threads", {32, 64, 128, 256, 512, 1024}, work > 8192 ? 512 : 128);
        const int64_t unroll = number(f.name, "unroll", {1, 2, 4, 8}, 4);
        std::string o = fmt::format("threads = {}, vector = {}, unroll = {}", threads, vector, unroll);
        const std::string at = fmt::format("at = {{ k.{}, \"{}\" }}", f.name, blocks[0]);
        if (plain) {
            const auto inputs = row_inputs(f);
            const bool shared = !inputs.empty() && choices_.pick(f.name + "'s rows", {"registers", "shared"}, "registers") == "shared";
            const int64_t resident = number(f.name, "resident blocks", {0, 1, 2, 3, 4}, 0);
            line(fmt::format("local o = {{ {}, {}, stay = 0, held = \"{}\", resident = {} }}", at, o,
                             shared ? "shared" : "registers", resident));
            line(fmt::format("gpu.row_blocks({}, o)", of(f)));
            for (const auto &input : shared ? inputs : Names{}) {
                line(fmt::format("gpu.hold_rows(k.{}, o)", input));
            }
        } else if (loops.empty()) {
            line(fmt::format("local o = {{ {}, {} }}", at, o));
            line(fmt::format("{}:gpu_blocks({})", of(f), table(blocks)));
        } else {
            line(fmt::format("local o = {{ {}, {} }}", at, o));
            const Names around(loops.begin() + 1, loops.end());
            line(fmt::format("gpu.group_blocks({}, {{ loop = \"{}\", {}blocks = {}, {} }})", of(f), loops[0],
                             around.empty() ? "" : "around = " + table(around) + ", ", table(blocks), o));
        }
        stream(f);
        for (const auto &name : inside_[f.name]) {
            const Func &inner = *d_.func(name);
            if (!inner.reduction()) {
                line(fmt::format("gpu.each_thread(k.{}, o)", name));
                continue;
            }
            const Names reduced = reduced_loops(inner);
            const Names around(reduced.begin() + 1, reduced.end());
            line(around.empty() ? fmt::format("gpu.reduce(k.{}, \"{}\", o)", name, reduced[0])
                                : fmt::format("gpu.reduce(k.{}, \"{}\", {{ {}, around = {}, {} }})", name, reduced[0], at,
                                              table(around), o));
        }
        predict(f, 0, extents(f, blocks), double(threads));
    }

    // Inputs with the rows of f, which may be held where all stages find them.
    Names row_inputs(const Func &f) const {
        Names found;
        for (const auto &b : d_.buffers) {
            const bool rows = b.second.extents.size() == 2 && double(b.second.extents[0]) == f.extent("col") &&
                              double(b.second.extents[1]) == f.extent("row");
            size_t readers = 0;
            Names all = inside_.count(f.name) ? inside_.at(f.name) : Names{};
            all.push_back(f.name);
            for (const auto &name : all) {
                for (size_t stage = 0; stage < d_.func(name)->stages.size(); stage++) {
                    for (const Read &r : graph_->reads(name, int(stage))) {
                        readers += r.func == b.first;
                    }
                }
            }
            if (rows && readers > 1) {
                found.push_back(b.first);
            }
        }
        return found;
    }

    static Names reduced_loops(const Func &f) {
        Names names;
        for (const Loop &l : f.stages[1].loops) {
            if (l.rvar) {
                names.push_back(l.name);
            }
        }
        return names;
    }

    double reduced(const Func &host) const {
        double most = 1;
        for (const auto &name : inside_.count(host.name) ? inside_.at(host.name) : Names{}) {
            double n = 1;
            for (const Loop &l : d_.func(name)->reduction() ? d_.func(name)->stages[1].loops : std::vector<Loop>{}) {
                n *= l.rvar ? l.extent : 1;
            }
            most = std::max(most, n);
        }
        return most;
    }

    void reduce_rows(const Func &f) {
        if (f.dims.empty()) {
            throw Failure(fmt::format("the rules for CUDA do not know how to reduce all of it to {}; name a schedule", f.name));
        }
        const Names loops = reduced_loops(f);
        const Names around(loops.begin() + 1, loops.end());
        const int64_t threads = number(f.name, "threads", {32, 64, 128, 256, 512, 1024}, 256);
        const int64_t unroll = number(f.name, "unroll", {1, 2, 4, 8}, 4);
        line(fmt::format("gpu.reduce_rows(k.{}, \"{}\", {{ rows = {}, {}threads = {}, vector = 4, unroll = {} }})", f.name,
                         loops[0], table(f.dims), around.empty() ? "" : "around = " + table(around) + ", ", threads, unroll));
        predict(f, 0, extents(f, f.dims), double(threads));
    }

    void elementwise(const Func &f) {
        if (f.dims.empty()) {
            throw Failure(fmt::format("the rules for CUDA do not know a Func of one element, {}; name a schedule", f.name));
        }
        const int64_t threads = number(f.name, "threads", {64, 128, 256, 512, 1024}, 256);
        if (f.dims.size() == 1) {
            line(fmt::format("gpu.elements({}, {{ rows = {}, threads = {} }})", of(f), table(f.dims), threads));
            predict(f, 0, f.extent(f.dims[0]) / double(threads), double(threads));
            return;
        }
        const Names rest(f.dims.begin() + 1, f.dims.end());
        const int64_t lanes = number(f.name, "lanes", {4, 8, 16, 32, 64, 128}, 32, threads);
        const int64_t unroll = number(f.name, "unroll", {1, 2, 4, 8}, 4);
        line(fmt::format("gpu.vectors({}, {{ col = \"{}\", rows = {}, threads = {}, lanes = {}, unroll = {} }})", of(f),
                         f.dims[0], table(rest), threads, lanes, unroll));
        stream(f);
        const double vectors = std::ceil(f.extent(f.dims[0]) / double(vector_of(f) * lanes));
        predict(f, 0, vectors * std::ceil(extents(f, rest) / double(threads / lanes * unroll)), double(threads));
    }

    // A kernel: bytes that it and what is computed in it move once, at what its blocks leave of the bandwidth.
    void predict(const Func &f, double multiplied, double blocks, double threads) {
        double bytes = f.size(), instructions = 0;
        std::set<std::string> seen;
        Names all = inside_.count(f.name) ? inside_.at(f.name) : Names{};
        all.push_back(f.name);
        const std::set<std::string> here(all.begin(), all.end());
        for (const auto &name : all) {
            const Func &func = *d_.func(name);
            for (size_t stage = 0; stage < func.stages.size(); stage++) {
                instructions += tensor_product(func) ? 0 : graph_->cost(name, int(stage)) * func.stages[stage].elements;
                for (const Read &r : graph_->reads(name, int(stage))) {
                    if (here.count(r.func) || !seen.insert(r.func).second) {
                        continue;
                    }
                    const Func *other = d_.func(r.func);
                    const auto buffer = d_.buffers.find(r.func);
                    double size = other ? other->size() : 0;
                    if (buffer != d_.buffers.end()) {
                        size = buffer->second.bytes;
                        for (const int64_t e : buffer->second.extents) {
                            size *= double(e);
                        }
                    }
                    bytes += size;
                }
            }
        }
        const double busy = std::min(1.0, blocks * threads / (kMultiprocessors * kBusyThreads));
        plan_.predicted += kLaunchSeconds + std::max({bytes / kBytesASecond / std::max(busy, 1e-3), multiplied,
                                                      instructions / kFlops});
    }

    const Description &d_;
    Choices &choices_;
    const std::map<std::string, Product> products_;
    std::set<std::string> inlined_;
    std::unique_ptr<Graph> graph_;
    Names roots_, lines_;
    std::map<std::string, Host> hosts_;
    std::map<std::string, Names> inside_, blocks_;   // by host
    std::map<std::string, std::string> tiles_;       // by host: the product
    CudaPlan plan_;
};

}  // namespace

CudaPlan make_cuda_plan(const Description &description, Choices &choices) {
    return CudaPlanner(description, choices).make();
}

std::string write_cuda_lua(const CudaPlan &plan, const ScriptHead &head) {
    std::string text;
    for (const auto &l : head.comment) {
        text += "-- " + l + "\n";
    }
    text += fmt::format("\nlocal gpu = require \"lib.gpu\"\n\nreturn schedule \"{}\" {{\n  target = \"cuda\",\n\n", head.op);
    Names items;
    for (const auto &g : head.generator) {
        const bool number = !g.second.empty() && g.second.find_first_not_of("0123456789") == std::string::npos;
        items.push_back(g.first + " = " + (number ? g.second : "\"" + g.second + "\""));
    }
    if (!items.empty()) {
        text += fmt::format("  generator = {{ {} }},\n\n", join(items, ", "));
    }
    return text + "  apply = function(k)\n" + plan.body + "  end,\n}\n";
}

}  // namespace halyard::explore
