#include "lowering/cuda/tiles/block_kernel.h"

#include <algorithm>
#include <functional>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/fused_nests.h"
#include "lowering/cuda/tensor_cores/tile_program.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tensor_cores/warps.h"
#include "lowering/cuda/tensor_cores/wgmma.h"
#include "lowering/cuda/tiles/block_launch.h"
#include "lowering/cuda/tiles/computed_tile.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const char *const kFirstRow = "first_row";  // of a thread, in the tile

class BlockKernel {
public:
    BlockKernel(const BlockProgram &program, const Kernel &base, const Strides &strides, const PrintOptions &print, bool hopper)
        : program_(program), base_(base), print_(print), hopper_(hopper), launch_(program, base, strides, hopper) {}

    TileKernel make() {
        try {
            return printed();
        } catch (const CompileError &e) {
            program_.asked().fail(std::string("cannot be printed: ") + e.what());
            throw;
        }
    }

private:
    TileKernel printed() {
        TileKernel result;
        const Fetching whole = hopper_ ? Fetching::kEngine : Fetching::kChunks;
        result.usable = launch_.usable();
        result.whole = launch_.with_arguments(whole);
        result.by_elements = launch_.with_arguments(Fetching::kElements);
        for (const TileNode *n : program_.products()) {
            if (launch_.by_wgmma()) {
                result.instructions[instruction(n->product).name()] = instruction(n->product).text();
            }
        }
        result.text = "\n" + text(result.whole, whole) + "\n" + text(result.by_elements, Fetching::kElements);
        return result;
    }

    // ---- The kernel, and the tiles of its grid ----

    std::string text(const Kernel &k, Fetching fetching) {
        KernelPrinter out(k, print_);
        std::set<std::string> operands;
        for (const TileNode *n : program_.products()) {
            if (program_.held.count(n->product.a.buffer)) {
                operands.insert(n->product.a.buffer);
            }
        }
        FusedNests threads(out, program_.asked(), {kFirstRow, launch_.fragments()}, operands);
        out_ = &out;
        threads_ = &threads;
        operands_ = operands;
        fetching_ = fetching;
        declare_tiles();
        out.line("const int warp = __shfl_sync(0xffffffff, int(threadIdx.x / 32), 0), lane = threadIdx.x % 32;");
        make_barriers();
        // As setmaxnreg has it, warpgroups that multiply and the one that does not are the branches of one if.
        out.open("if (warp >= " + number(launch_.warps(Role::kMultiply)) + ") {");
        const RegistersOfRoles registers = launch_.registers(fetching);
        take_registers(registers.others, registers.at_begin);
        if (launch_.computes()) {
            out.open("if (warp < " + number(launch_.first_warp(Role::kCompute)) + ") {");
        }
        begin_role(Role::kFetch);
        for_each_tile(Role::kFetch);
        if (launch_.computes()) {
            out.otherwise();
            begin_role(Role::kCompute);
            for_each_tile(Role::kCompute);
            out.close();
        }
        out.otherwise();
        take_registers(registers.products, registers.at_begin);
        begin_role(Role::kMultiply);
        out.line("const int " + std::string(kFirstRow) + " = warp * " + number(kRowsOfFragment * launch_.fragments()) + " + lane / 4;");
        if (launch_.by_wgmma()) {
            out.line("const int warpgroup = __shfl_sync(0xffffffff, warp / 4, 0);");
        }
        for_each_tile(Role::kMultiply);
        if (results_leave()) {
            out.open("if (thread % " + number(kWarpgroup) + " == 0) {");
            out.line("tensor_store_wait();");
            out.close();
        }
        out.close();
        return out.finish();
    }

    bool results_leave() const {
        return fetching_ == Fetching::kEngine && launch_.by_wgmma();
    }

    std::string e(const Expr &x) {
        return out_->expr(x);
    }

    void array(const std::string &type, const std::string &name, int offset, int elements) {
        out_->line("const shared<" + type + "> " + name + " = shared_array<" + type + ">(" + number(offset) + ", " + number(elements) +
                   ");");
    }

    void declare_tiles() {
        for (const auto &s : launch_.streams().all()) {
            for (const auto &use : s.uses) {
                for (const auto &t : use.tiles) {
                    array(type_text(t.operand->type), out_->name(t.name), s.offset + t.offset,
                          ((s.slots - 1) * s.bytes() + t.bytes()) / t.operand->type.bytes());
                }
            }
        }
    }

    static std::string full(const Stream &s) {
        return s.name + "_full";
    }
    static std::string empty(const Stream &s) {
        return s.name + "_empty";
    }
    static std::string stage(const Stream &s) {
        return s.name + "_stage";
    }
    static std::string phase(const Stream &s) {
        return s.name + "_phase";
    }

    void make_barriers() {
        int offset = launch_.offset_barriers();
        for (const auto &s : launch_.streams().all()) {
            for (const auto &name : {full(s), empty(s)}) {
                array("uint64_t", name, offset, s.slots);
                offset += 8 * s.slots;
            }
        }
        out_->open("if (threadIdx.x == 0) {");
        for (const auto &s : launch_.streams().all()) {
            const int fill = s.from == Role::kCompute         ? launch_.warps_of_compute() * kWarp
                             : fetching_ == Fetching::kEngine ? 1
                                                              : launch_.warps(s.from) * kWarp;
            const int drain = s.to == Role::kCompute ? launch_.warps_of_compute()
                              : read_by_wgmma(s)     ? launch_.warps(s.to) / 4
                                                     : launch_.warps(s.to);
            out_->open("for (int i = 0; i < " + number(s.slots) + "; i++) {");
            out_->line("barrier_init(&" + full(s) + "[i], " + number(fill) + ");");
            out_->line("barrier_init(&" + empty(s) + "[i], " + number(drain) + ");");
            out_->close();
        }
        out_->line("barriers_ready();");
        out_->close();
        out_->line("__syncthreads();");
    }

    void take_registers(int registers, int begin) {
        if (registers != begin) {
            out_->line(std::string(registers < begin ? "registers_less<" : "registers_more<") + number(registers) + ">();");
        }
    }

    void begin_role(Role r) {
        const char *const what[] = {"fetch tiles", "compute operands", "multiply"};
        const std::string of_role = "threadIdx.x - " + number(launch_.first_warp(r) * kWarp),
                          says = ";  // of those that " + std::string(what[int(r)]);
        if (r == Role::kCompute) {
            const std::string of_group = number(launch_.warps_of_compute() * kWarp);
            out_->line("const int compute_group = (" + of_role + ") / " + of_group + ", thread = (" + of_role + ") % " + of_group + says);
        } else {
            out_->line("const int thread = " + of_role + says);
        }
    }

    void for_each_tile(Role r) {
        role_ = r;
        std::string state;
        for (const auto &s : launch_.streams().all()) {
            if (s.from == r || s.to == r) {
                state += (state.empty() ? "int " : ", ") + stage(s) + " = 0, " + phase(s) + " = 0";
            }
        }
        if (!state.empty()) {
            out_->line(state + ";");
        }
        const bool engine = r == Role::kFetch && fetching_ == Fetching::kEngine;
        if (engine) {
            out_->open("if (thread == 0) {");
        }
        out_->line("const int tiles = " + e(launch_.tiles()) + ";");
        out_->open("for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {");
        place_of_tile();
        if (r == Role::kMultiply) {
            declare_held();
            declare_rows();
        }
        body(program_.body);
        out_->close();
        if (engine) {
            out_->close();
        }
    }

    // `raster` rows of tiles together, so that what their blocks read stays in L2.
    void place_of_tile() {
        const std::string g = number(program_.asked().raster);
        out_->line("const int across = " + in_parentheses(e(base_.blocks[0])) + ", down = " + in_parentheses(e(base_.blocks[1])) +
                   ", others = down * " + in_parentheses(e(base_.blocks[2])) + ";");
        out_->line("const int group = tile / (across * " + g + ") * " + g + ", in_group = tile % (across * " + g + "), members = minimum(" +
                   g + ", others - group);");
        out_->line("const int member = group + in_group % members;");
        const std::string places[] = {"in_group / members", "member % down", "member / down"};
        for (size_t d = 0; d < 3; d++) {
            if (!program_.block_names[d].empty()) {
                out_->line("const int " + out_->name(program_.block_names[d]) + " = " + places[d] + ";");
            }
        }
    }

    void declare_held() {
        std::set<std::string> sums;
        for (const TileNode *n : program_.products()) {
            sums.insert(n->product.accumulator);
        }
        const int fragments = launch_.fragments();
        for (const auto &[name, held] : program_.held) {
            if (held.columns < 0) {
                continue;
            }
            if (sums.count(name) && launch_.by_wgmma()) {
                out_->declare_sums(name, "float", held.columns / 2);
            } else if (operands_.count(name)) {  // two in each, as the instruction takes them
                out_->declare_registers(name, "uint32_t", held.columns / 4 * fragments);
            } else {
                out_->declare_registers(name, type_text(held.type), (held.columns == 0 ? 2 : held.columns / 2) * fragments);
            }
        }
    }

    // Rows that are computed, and by wgmma those of the next step, which come while these are multiplied.
    void declare_rows() {
        for (const TileNode *n : program_.products()) {
            if (n->product.a.value.defined()) {
                const int registers = n->product.depth / 4 * launch_.fragments();
                for (const auto &name : {rows_of(n->product), next_rows_of(n->product)}) {
                    if (launch_.by_wgmma() || name == rows_of(n->product)) {
                        out_->declare_registers(name, "uint32_t", registers);
                    }
                }
            }
        }
    }

    static std::string rows_of(const TileOfProduct &t) {
        return t.accumulator + ".rows";
    }
    static std::string next_rows_of(const TileOfProduct &t) {
        return t.accumulator + ".next_rows";
    }

    // ---- The loops, as one role goes over them ----

    bool concerns(const TileNode &n) const {
        if (role_ == Role::kMultiply) {
            return true;
        }
        if (!n.body) {
            return false;
        }
        const auto &all = launch_.streams().all();
        const bool own = std::any_of(all.begin(), all.end(), [&](const Stream &s) {
            return (s.from == role_ || s.to == role_) &&
                   std::any_of(s.uses.begin(), s.uses.end(), [&](const StreamUse &use) { return use.level == n.body.get(); });
        });
        return own || std::any_of(n.body->begin(), n.body->end(), [&](const TileNode &inner) { return concerns(inner); });
    }

    static bool has_only_products(const TileBody &body) {
        return std::all_of(body.begin(), body.end(),
                           [](const TileNode &n) { return n.kind == TileNode::kProduct || n.kind == TileNode::kPromise; });
    }

    void for_each_use(const TileBody &body, const std::function<void(const Stream &, const StreamUse &)> &act) const {
        for (const auto &s : launch_.streams().all()) {
            for (const auto &use : s.uses) {
                if (use.level == &body) {
                    act(s, use);
                }
            }
        }
    }

    void body(const TileBody &body) {
        for (size_t i = 0; i < body.size(); i++) {
            if (role_ == Role::kCompute) {
                compute_for(body, i);
                if (concerns(body[i])) {
                    node(body[i]);
                }
                continue;
            }
            for_each_use(body, [&](const Stream &s, const StreamUse &use) {
                if (use.first == i && s.to == role_) {
                    out_->line("barrier_wait(&" + full(s) + "[" + stage(s) + "], " + phase(s) + ");");
                }
            });
            for_each_use(body, [&](const Stream &s, const StreamUse &use) {
                if (use.first == i && s.from == role_) {
                    fill(s, use);
                }
            });
            if (concerns(body[i])) {
                node(body[i]);
            }
            for_each_use(body, [&](const Stream &s, const StreamUse &use) {
                if (use.last == i && s.to == role_) {
                    drained(s);
                }
            });
        }
        if (!in_pipelined_loop_) {
            finish_products();
        }
    }

    // A group whose turn it is not goes on to the next slot, and waits for nothing.
    void compute_for(const TileBody &body, size_t i) {
        std::vector<const Stream *> sources;
        for_each_use(body, [&](const Stream &s, const StreamUse &use) {
            if (use.first == i && s.to == role_) {
                sources.push_back(&s);
            }
        });
        for_each_use(body, [&](const Stream &s, const StreamUse &use) {
            if (use.first != i || s.from != role_) {
                return;
            }
            const int groups = launch_.groups_of_compute();
            out_->open("if (" + (groups > 1 ? stage(s) + " % " + number(groups) : "0") + " == compute_group) {");
            for (const auto *source : sources) {
                out_->line("barrier_wait(&" + full(*source) + "[" + stage(*source) + "], " + phase(*source) + ");");
            }
            fill(s, use);
            for (const auto *source : sources) {
                give_back(*source, stage(*source));
            }
            out_->close();
            next(s);
            for (const auto *source : sources) {
                next(*source);
            }
        });
    }

    void node(const TileNode &n) {
        switch (n.kind) {
        case TileNode::kLoop: loop(n); break;
        case TileNode::kIf:
            finish_products();
            out_->open("if (" + e(n.condition) + ") {");
            body(*n.body);
            out_->close();
            break;
        case TileNode::kPromise:
            if (role_ == Role::kMultiply) {
                out_->line("expect(" + e(n.condition) + ");");
            }
            break;
        case TileNode::kProduct:
            if (role_ == Role::kMultiply) {
                multiply(n.product, n.begins);
            }
            break;
        case TileNode::kNest:
            finish_products();
            store_nest(n.nest);
            break;
        }
    }

    // Where a loop has products alone, those of a turn are still under way in the next: its slots are given back one turn later, if there are
    // others to fill meanwhile.
    void loop(const TileNode &n) {
        finish_products();
        const bool computed = std::any_of(n.body->begin(), n.body->end(), [](const TileNode &p) { return p.product.a.value.defined(); });
        const auto products = std::count_if(n.body->begin(), n.body->end(), [](const TileNode &p) { return p.kind == TileNode::kProduct; });
        std::vector<const Stream *> &own = streams_of_loop_;
        own.clear();
        for_each_use(*n.body, [&](const Stream &s, const StreamUse &) {
            if (s.to == role_) {
                own.push_back(&s);
            }
        });
        const bool can_wait = std::all_of(own.begin(), own.end(), [](const Stream *s) { return s->slots > 1; });
        const bool pipelined =
            role_ == Role::kMultiply && launch_.by_wgmma() && can_wait && has_only_products(*n.body) && (!computed || products == 1);
        if (pipelined) {
            out_->open("{");
            for (const auto *s : own) {
                out_->line("int " + before(*s) + " = -1;  // the slot of the turn before, which may still be read");
            }
        }
        const std::string v = out_->name(n.loop);
        out_->open("for (int " + v + " = " + e(n.min) + "; " + v + " < " + e(simplify(n.min + n.extent)) + "; " + v + "++) {");
        in_pipelined_loop_ = pipelined;
        body(*n.body);
        in_pipelined_loop_ = false;
        if (pipelined) {
            out_->line("wgmma_commit();");
            if (!computed) {
                out_->line("wgmma_wait<1>();");
            }
            for (const auto *s : own) {
                if (!computed) {
                    give_back(*s, before(*s), before(*s) + " >= 0 && ");
                }
                out_->line(before(*s) + " = " + stage(*s) + ";");
                next(*s);
            }
            begun_ = false;
        }
        out_->close();
        if (pipelined) {
            out_->line("wgmma_wait<0>();");
            for (const auto *s : own) {
                give_back(*s, before(*s), before(*s) + " >= 0 && ");
            }
            out_->close();
        }
    }

    static std::string before(const Stream &s) {
        return s.name + "_before";
    }

    void next(const Stream &s) {
        if (s.slots == 1) {
            out_->line(phase(s) + " ^= 1;");
            return;
        }
        out_->open("if (++" + stage(s) + " == " + number(s.slots) + ") {");
        out_->line(stage(s) + " = 0;");
        out_->line(phase(s) + " ^= 1;");
        out_->close();
    }

    // By nothing else: then one thread of a warpgroup knows when all of it is done.
    bool read_by_wgmma(const Stream &s) const {
        return s.to == Role::kMultiply && launch_.by_wgmma() &&
               std::none_of(s.uses[0].tiles.begin(), s.uses[0].tiles.end(), [](const StagedTile &t) { return t.of_rows; });
    }

    void give_back(const Stream &s, const std::string &slot, const std::string &condition = "") {
        const bool by_wgmma = read_by_wgmma(s);
        if (!by_wgmma) {
            out_->line("__syncwarp();");
        }
        out_->open("if (" + condition + (by_wgmma ? "thread % " + number(kWarpgroup) + " == 0" : "lane == 0") + ") {");
        out_->line("barrier_arrive(&" + empty(s) + "[" + slot + "]);");
        out_->close();
    }

    // Nobody reads the slot any more, but for products that are under way.
    void drained(const Stream &s) {
        if (role_ == Role::kMultiply && launch_.by_wgmma()) {
            if (!in_pipelined_loop_) {
                if (begun_) {
                    waiting_.push_back(&s);
                } else {
                    give_back(s, stage(s));
                    next(s);
                }
            }
            return;
        }
        give_back(s, stage(s));
        next(s);
    }

    void finish_products() {
        if (!begun_) {
            return;
        }
        out_->line("wgmma_commit();");
        out_->line("wgmma_wait<0>();");
        begun_ = false;
        for (const auto *s : waiting_) {
            give_back(*s, stage(*s));
            next(*s);
        }
        waiting_.clear();
    }

    // ---- Filling slots ----

    void fill(const Stream &s, const StreamUse &use) {
        out_->line("barrier_wait(&" + empty(s) + "[" + stage(s) + "], " + phase(s) + " ^ 1);");
        if (s.from == Role::kCompute) {
            for (const auto &t : use.tiles) {
                compute(s, t);
            }
        } else if (fetching_ == Fetching::kEngine) {
            fetch_by_engine(s, use);
        } else {
            for (const auto &t : use.tiles) {
                fetch_by_threads(s, t);
            }
        }
        if (s.from == Role::kFetch && fetching_ == Fetching::kEngine) {
            next(s);
            return;
        }
        if (s.from == Role::kFetch && fetching_ == Fetching::kChunks) {
            out_->line("copies_arrive(&" + full(s) + "[" + stage(s) + "]);");
        } else {
            if (launch_.by_wgmma() && s.to == Role::kMultiply) {
                out_->line("fence_shared();");
            }
            out_->line("barrier_arrive(&" + full(s) + "[" + stage(s) + "]);");
        }
        if (s.from == Role::kFetch) {
            next(s);
        }
    }

    std::string slot(const Stream &s, const StagedTile &p) const {
        return stage(s) + " * " + number(s.bytes() / p.operand->type.bytes());
    }

    void fetch_by_engine(const Stream &s, const StreamUse &use) {
        int bytes = 0;
        for (const auto &p : use.tiles) {
            bytes += p.elements() * p.operand->type.bytes();
        }
        out_->line("barrier_expect(&" + full(s) + "[" + stage(s) + "], " + number(bytes) + ");");
        for (const auto &p : use.tiles) {
            const Operand &o = *p.operand;
            std::string rest;
            for (int d = 1; d < o.rank(); d++) {
                rest += ", " + e(o.origin[size_t(d)]);
            }
            const int step = p.swizzle() == kSwizzledBytes ? elements_of_line(o.type) : p.across();
            for (int x = 0; x < p.across(); x += step) {
                const std::string to = out_->name(p.name) + " + " + slot(s, p) + (x ? " + " + number(x * p.lines()) : "");
                out_->line("tensor_load(" + to + ", " + out_->name(p.name + ".map") + ", &" + full(s) + "[" + stage(s) + "], " +
                           e(simplify(o.origin[0] + x)) + rest + ");");
            }
        }
    }

    // What lies outside is 0. The line's place is found once for all of its dimensions.
    void fetch_by_threads(const Stream &s, const StagedTile &p) {
        const Operand &o = *p.operand;
        const bool chunks = fetching_ == Fetching::kChunks;
        const int size = o.type.bytes(), each = chunks ? 16 / size : 1;
        const int across = p.source ? p.across() : panels(p.across()) * kAcross, turns = across * p.lines() / each;
        out_->open("for (int i = thread; i < " + number(turns) + "; i += " + number(launch_.warps(Role::kFetch) * kWarp) + ") {");
        out_->line("const int x = i % " + number(across / each) + (each > 1 ? " * " + number(each) : "") + ", line = i / " +
                   number(across / each) + ";");
        out_->line("const int c0 = " + in_parentheses(e(o.origin[0])) + " + x;");
        std::string inside, at;
        int lines = 1;
        for (int d = 1; d < o.rank(); d++) {
            const int box = o.box[size_t(d)];
            const std::string digit = box == 1 ? ""
                                               : " + " + std::string(lines == 1 ? "line" : "line / " + number(lines)) +
                                                     (lines * box < p.lines() ? " % " + number(box) : "");
            const std::string c = "c" + number(d);
            out_->line("const int " + c + " = " + in_parentheses(e(o.origin[size_t(d)])) + digit + ";");
            inside += (d > 1 ? " && " : "") + ("uint32_t(" + c + ") < uint32_t(" + e(extent_of(o, d)) + ")");
            at += " + " + c + " * " + e(field(o.buffer, "stride", d));
            lines *= box;
        }
        const std::string of_line = number(std::max(p.swizzle(), 16) / size), of_chunk = number(16 / size);
        const std::string lines_apart = p.swizzle() == kSwizzledBytes ? "(line % 8)" : "(line / 2 % 4)";
        out_->line("const int to = " + slot(s, p) + " + " +
                   (p.swizzle() == 0
                        ? "line * " + number(across) + " + x"
                        : "x / " + of_line + " * " + number(p.lines() * p.swizzle() / size) + " + line * " + of_line + " + ((x % " +
                              of_line + " / " + of_chunk + ") ^ " + lines_apart + ") * " + of_chunk + " + x % " + of_chunk) +
                   ";");
        const std::string extent = e(extent_of(o, 0)), buffer = out_->name(o.buffer), tile = out_->name(p.name);
        if (chunks) {
            out_->line("const int valid = " + inside + " && uint32_t(c0) < uint32_t(" + extent + ") ? minimum(" + extent + " - c0, " +
                       number(each) + ") : 0;");
            out_->line("copy_async_part(" + tile + " + to, " + buffer + " + (valid > 0 ? c0" + at + " : 0), valid * " + number(size) +
                       ");");
        } else {
            out_->line(tile + "[to] = " + inside + " && uint32_t(c0) < uint32_t(" + extent + ") ? " + buffer + "[c0" + at +
                       "] : " + type_text(o.type) + "(0.0f);");
        }
        out_->close();
    }

    void compute(const Stream &s, const StagedTile &p) {
        ComputedTile tile = computed_tile(*p.operand);
        tile.name = p.name;
        tile.lines = p.lines();
        tile.slot = Variable::make(Int(32), stage(s)) * (s.bytes() / p.operand->type.bytes());
        print_computed_tile(tile, launch_.warps_of_compute() * kWarp, *out_);
    }

    ComputedTile computed_tile(const Operand &o) const {
        ComputedTile tile;
        tile.operand = &o;
        for (const auto &source : o.sources) {
            const OperandPlace place = launch_.streams().place_of(source);
            tile.sources[source.tile] = {place.tile->name,
                                         Variable::make(Int(32), stage(*place.stream)) * (place.stream->bytes() / source.type.bytes()),
                                         place.tile->across(), place.tile->lines(), place.tile->swizzle()};
        }
        for (const TileNode *n : program_.products()) {
            if (&o == &n->product.a || &o == &n->product.b) {
                tile.left = n->product.left;
                tile.depth = n->product.depth;
            }
        }
        return tile;
    }

    // ---- Products ----

    WgmmaInstruction instruction(const TileOfProduct &t) const {
        return {t.b.type, t.b.type, t.columns, t.b.depth_dimension != 0, t.a.value.defined() || program_.held.count(t.a.buffer) > 0};
    }

    std::string tile_text(const Operand &o) const {
        const OperandPlace place = launch_.streams().place_of(o);
        return out_->name(place.tile->name) + " + " + slot(*place.stream, *place.tile);
    }

    void multiply(const TileOfProduct &t, bool begins) {
        if (launch_.by_wgmma()) {
            multiply_by_wgmma(t, begins);
            return;
        }
        const bool computed = t.a.value.defined(), held = computed || program_.held.count(t.a.buffer) > 0,
                   across = t.b.depth_dimension != 0;
        if (computed) {
            compute_rows(t, rows_of(t));
        }
        if (begins) {
            out_->line("#pragma unroll");
            out_->open("for (int i = 0; i < " + number(t.columns / 2 * launch_.fragments()) + "; i++) {");
            out_->line(out_->name(t.accumulator) + "[i] = 0.0f;");
            out_->close();
        }
        const std::string type = type_text(t.b.type) + ", " + number(launch_.fragments()),
                          shape = number(t.columns) + ", " + number(t.depth) + (across ? ", true" : ", false");
        const std::string rows = " + warp * " + number(kRowsOfFragment * launch_.fragments() * kAcross), sums = out_->name(t.accumulator);
        out_->line(held ? "multiply_rows<" + type + ", " + shape + ">(" + sums + ", " + registers_of(t) + ", " + tile_text(t.b) + ");"
                        : "multiply_tiles<" + type + ", " + number(t.rows) + ", " + shape + ">(" + sums + ", " + tile_text(t.a) + rows +
                              ", " + tile_text(t.b) + ");");
    }

    std::string registers_of(const TileOfProduct &t) const {
        return out_->name(t.a.value.defined() ? rows_of(t) : t.a.buffer);
    }

    void compute_rows(const TileOfProduct &t, const std::string &registers) {
        print_computed_rows(computed_tile(t.a), out_->name(registers), kFirstRow, launch_.fragments(), *out_);
    }

    // In a loop the rows of a turn are computed while those before them are multiplied, and take their place then.
    void take_rows(const TileOfProduct &t) {
        if (!in_pipelined_loop_) {
            finish_products();
            compute_rows(t, rows_of(t));
            return;
        }
        compute_rows(t, next_rows_of(t));
        out_->line("wgmma_wait<0>();");
        for (const auto *s : streams_of_loop_) {
            give_back(*s, before(*s), before(*s) + " >= 0 && ");
        }
        out_->line("#pragma unroll");
        out_->open("for (int i = 0; i < " + number(t.depth / 4) + "; i++) {");
        out_->line(out_->name(rows_of(t)) + "[i] = " + out_->name(next_rows_of(t)) + "[i];");
        out_->close();
    }

    // Descriptors count in 16 bytes. Several products that follow one another are one group.
    void multiply_by_wgmma(const TileOfProduct &t, bool begins) {
        const bool computed = t.a.value.defined(), held = computed || program_.held.count(t.a.buffer) > 0,
                   across = t.b.depth_dimension != 0;
        if (computed) {
            take_rows(t);
        }
        const auto along_depth = [&](const std::string &name, int lines) {
            return panels(t.depth) == 1 ? name + " + d * 2" : name + " + (d / 4 * " + number(lines * kSwizzledBytes / 16) + " + d % 4 * 2)";
        };
        if (!begun_) {
            out_->line("wgmma_fence();");
            begun_ = true;
        }
        out_->open("{");
        if (!held) {
            out_->line("const uint64_t a = matrix_descriptor(shared_address(" + tile_text(t.a) + " + warpgroup * " +
                       number(kRowsOfWarpgroup * kAcross) + "), 16, 1024);");
        }
        out_->line("const uint64_t b = matrix_descriptor(shared_address(" + tile_text(t.b) + "), " +
                   number(across ? t.depth * kSwizzledBytes : 16) + ", 1024);");
        out_->line("#pragma unroll");
        out_->open("for (int d = 0; d < " + number(t.depth / depth_of_instruction(t.b.type)) + "; d++) {");
        out_->line(instruction(t).name() + "(" + out_->name(t.accumulator) + ", " +
                   (held ? registers_of(t) + " + d * 4" : along_depth("a", t.rows)) + ", " +
                   (across ? "b + d * 128" : along_depth("b", t.columns)) + (begins ? ", d > 0);" : ", true);"));
        out_->close();
        out_->close();
    }

    // ---- Results ----

    void store_nest(const FusedNest &n) {
        const bool stores = std::any_of(n.assignments.begin(), n.assignments.end(), [](const Assignment &a) { return a.index.defined(); });
        if (!stores) {
            threads_->nest(n);
            return;
        }
        for (const auto &a : n.assignments) {
            const auto at = fetching_ == Fetching::kEngine ? launch_.box_of(n, a) : std::nullopt;
            if (at) {
                leave_by_engine(n, a, *at);
            } else {
                store_elements(n, a);
            }
        }
    }

    void store_elements(const FusedNest &n, const Assignment &a) {
        if (n.kind == FusedNest::kRows) {
            FusedNest one = n;
            one.assignments = {a};
            threads_->store_rows(one);
            return;
        }
        const Expr row = Variable::make(Int(32), kChainRow), column = Variable::make(Int(32), kChainColumn);
        threads_->open_elements(n.columns, {a.value, a.index, row, n.row_extent, column});
        for (int lane = 0; lane < 2; lane++) {
            out_->open("if (" + e(simplify(row < n.row_extent && column + lane < n.column_extent)) + ") {");
            out_->print(FusedNests::store_of(a.stored, FusedNests::shifted(a.value, lane), FusedNests::shifted(a.index, lane)));
            out_->close();
        }
        out_->close();
    }

    // Loads from device memory, of the last row and column that there are where the tile goes on behind them.
    static Expr loaded_inside(const FusedNest &n, const Expr &value) {
        class Clamp : public IRMutator {
            using IRMutator::visit;
            Expr visit(const Load *op) override {
                const auto *held = op->index.as<Variable>();
                if (held && (held->name == kChainElement || held->name == kChainHeldRow)) {
                    return op;
                }
                return Load::make(op->type, op->name, substitute(places, op->index), op->image, op->param, op->predicate, op->alignment);
            }

        public:
            std::map<std::string, Expr> places;
        } clamp;
        clamp.places = {{kChainRow, min(Variable::make(Int(32), kChainRow), n.row_extent - 1)},
                        {kChainColumn, min(Variable::make(Int(32), kChainColumn), n.column_extent - 1)}};
        return clamp.mutate(value);
    }

    // 16 columns, each to a line of the 64 rows of a warpgroup.
    void store_rows(const std::string &values, const std::string &result) {
        std::string words;
        for (int k = 0; k < 4; k++) {
            words += ", reinterpret_cast<const uint32_t *>(" + values + ")[" + number(k) + "]";
        }
        out_->line("const int line = first * 2 + lane / 16 * 8 + lane % 8, chunk = warp * 2 + lane / 8 % 2;");
        out_->line("store_matrices_across(" + result + " + line * 64 + (chunk ^ (line % 8)) * 8" + words + ");");
    }

    // Through shared memory: stmatrix puts 16 columns at a time into the order in which TMA takes them.
    void leave_by_engine(const FusedNest &n, const Assignment &a, const ResultBox &box) {
        const std::string type = type_text(a.value.type()), name = out_->name(a.stored + ".result"), pairs = a.stored + ".pairs",
                          i = out_->name(kChainElement);
        out_->open("{");
        out_->line("const int thread = threadIdx.x % " + number(kWarpgroup) + ", warp = thread / 32;");
        declare_result(*out_, type, name, launch_.offset_results(), program_.rows, n.columns);
        wait_for_result(*out_);
        const auto values = [&](const Expr &value) {
            out_->line("#pragma unroll");
            out_->open("for (int first = 0; first < " + number(n.columns / 2) + "; first += 8) {");
            out_->declare_registers(pairs, "alignas(16) " + type, 8);
            out_->line("#pragma unroll");
            out_->open("for (int " + i + " = first; " + i + " < first + 8; " + i + " += 2) {");
            threads_->coordinates_of_element(n.columns, {value});
            out_->print(FusedNests::store_of(pairs, threads_->pair(value), Ramp::make(Variable::make(Int(32), kChainElement) % 8, 1, 2)));
            out_->close();
            if (box.across) {
                store_rows(out_->name(pairs), name);
            } else {
                store_columns(*out_, out_->name(pairs), name);
            }
            out_->close();
        };
        const Expr inside = loaded_inside(n, a.value);
        if (equal(inside, a.value)) {
            values(a.value);
        } else {
            out_->open("if (" + e(simplify(n.row_extent >= program_.rows && n.column_extent >= n.columns)) + ") {");
            values(a.value);
            out_->otherwise();
            values(inside);
            out_->close();
        }
        const auto &at = box.origin;
        const std::string of_warpgroup = " + warpgroup * " + number(kRowsOfWarpgroup);
        std::vector<std::string> across;
        for (int panel = 0; panel < (box.across ? 1 : n.columns / kAcross); panel++) {
            across.push_back(box.across ? in_parentheses(e(at[0])) + of_warpgroup : e(simplify(at[0] + panel * kAcross)));
        }
        std::string rest;
        for (size_t d = 1; d < at.size(); d++) {
            rest += ", " + (d == 1 && !box.across ? in_parentheses(e(at[1])) + of_warpgroup : e(at[d]));
        }
        send_result(*out_, out_->name(a.stored + ".map"), name, across, rest);
        out_->close();
    }

    const BlockProgram &program_;
    const Kernel &base_;
    const PrintOptions &print_;
    const bool hopper_;
    const BlockLaunch launch_;
    // Of the text that is printed:
    KernelPrinter *out_ = nullptr;
    FusedNests *threads_ = nullptr;
    std::set<std::string> operands_;  // held in registers
    Fetching fetching_ = Fetching::kEngine;
    Role role_ = Role::kFetch;
    bool begun_ = false;  // products by wgmma, which nobody has waited for
    bool in_pipelined_loop_ = false;
    std::vector<const Stream *> waiting_;          // to be given back when they are done
    std::vector<const Stream *> streams_of_loop_;  // that has products alone
};

}  // namespace

TileKernel make_block_kernel(const BlockProgram &program, const Kernel &base, const Strides &strides, const PrintOptions &print,
                             bool hopper) {
    return BlockKernel(program, base, strides, print, hopper).make();
}

}  // namespace halyard
