#include "lowering/cuda/tiles/block_kernel.h"

#include <algorithm>
#include <map>
#include <set>

#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tensor_cores/warps.h"
#include "lowering/cuda/tiles/block_text.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

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
                const WgmmaInstruction i = instruction_of(program_, n->product);
                result.instructions[i.name()] = i.text();
            }
        }
        result.text = "\n" + text(result.whole, whole);
        result.text_by_elements = "\n" + text(result.by_elements, Fetching::kElements);
        return result;
    }

    // ---- The kernel, and the tiles of its grid ----

    std::string text(const Kernel &k, Fetching fetching) {
        KernelPrinter out(k, print_);
        FusedNests threads(out, program_.asked(), {kFirstRow, launch_.fragments()}, held_operands());
        const BlockText parts = {program_, launch_, out, threads, fetching};
        out_ = &out;
        text_ = &parts;
        fetching_ = fetching;
        declare_tiles();
        out.line("const int warp_of_block = __shfl_sync(0xffffffff, int(threadIdx.x / 32), 0), lane = threadIdx.x % 32;");
        if (launch_.shared_loops().end > 0) {
            out.line("const int " + std::string(kBlockOfTile) + " = " + (launch_.blocks_of_tile() > 1 ? "cluster_rank();" : "0;"));
        }
        make_barriers();
        // As setmaxnreg has it, warpgroups that multiply and the one that does not are the branches of one if.
        out.open("if (warp_of_block >= " + number(launch_.warps(Role::kMultiply)) + ") {");
        const RegistersOfRoles registers = launch_.registers(fetching);
        take_registers(registers.others, registers.at_begin);
        if (launch_.computes()) {
            out.open("if (warp_of_block < " + number(launch_.first_warp(Role::kCompute)) + ") {");
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
        out.line("const int warp = warp_of_block % " + number(launch_.warps_of_tile()) + ";");
        if (launch_.shared_loops().end > 0) {
            out.line("const int " + std::string(kGroupOfTile) + " = warp_of_block / " + number(launch_.warps_of_tile()) + ", " +
                     kPartOfTile + " = " + kBlockOfTile + " * " + number(launch_.groups_of_tile()) + " + " + kGroupOfTile + ";");
        }
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

    // What is made of products for others to multiply.
    std::set<std::string> held_operands() const {
        std::set<std::string> names;
        for (const TileNode *n : program_.products()) {
            if (program_.held.count(n->product.a.buffer)) {
                names.insert(n->product.a.buffer);
            }
        }
        return names;
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
            const int of_engine = fetching_ == Fetching::kEngine ? 1 : 0,
                      of_threads = BlockLaunch::threads_fetch(s, fetching_) ? launch_.warps(s.from) * kWarp : 0;
            const int fill = s.from == Role::kCompute ? launch_.warps_of_compute() * kWarp : of_engine + of_threads;
            const int drain = s.to == Role::kCompute        ? launch_.warps_of_compute()
                              : launch_.is_read_by_wgmma(s) ? launch_.warps_of_tile() / 4
                                                            : launch_.warps_of_tile();
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
        std::string state;
        for (const auto &s : launch_.streams().all()) {
            if (s.from == r || s.to == r) {
                state += (state.empty() ? "int " : ", ") + stage(s) + " = 0, " + phase(s) + " = 0";
            }
        }
        if (!state.empty()) {
            out_->line(state + ";");
        }
        const bool engine = r == Role::kFetch && !launch_.threads_fetch(fetching_);
        if (engine) {
            out_->open("if (thread == 0) {");
        }
        const int blocks = launch_.blocks_of_tile();
        if (blocks == 1) {
            out_->line("const int tiles = " + e(launch_.tiles()) + ";");
            out_->open("for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {");
        } else {
            out_->line("const int tile = blockIdx.x / " + number(blocks) + ";");
        }
        place_of_tile();
        if (r == Role::kMultiply) {
            declare_held();
            declare_rows();
        }
        print_loops(*text_, r);
        if (blocks == 1) {
            out_->close();
        }
        if (engine) {
            out_->close();
        }
        // Until the sums are there, and until they have been added up.
        for (int meetings = r == Role::kMultiply ? 1 : 2; meetings > 0; meetings--) {
            print_cluster_barrier(*text_);
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
        print_numbers(*text_, program_.numbers);
    }

    void declare_held() {
        const std::set<std::string> operands = held_operands();
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
            } else if (operands.count(name)) {  // two in each, as the instruction takes them
                out_->declare_registers(name, "uint32_t", held.columns / 4 * fragments);
            } else {
                out_->declare_registers(name, type_text(held.type), (held.columns == 0 ? 2 : held.columns / 2) * fragments);
            }
        }
    }

    // Rows that are computed, and by wgmma those of the next step, which come while these are multiplied.
    void declare_rows() {
        std::map<std::string, int> registers;
        for (const TileNode *n : program_.products()) {
            if (n->product.a.value.defined()) {
                const int own = n->product.depth / 4 * launch_.fragments();
                registers[rows_of(n->product)] = std::max(registers[rows_of(n->product)], own);
                if (launch_.by_wgmma()) {
                    registers[next_rows_of(n->product)] = registers[rows_of(n->product)];
                }
            }
        }
        for (const auto &[name, count] : registers) {
            out_->declare_registers(name, "uint32_t", count);
            if (launch_.by_wgmma()) {
                out_->line("clear_registers(" + out_->name(name) + ");");
            }
        }
        if (launch_.by_wgmma() && !registers.empty()) {
            out_->line("const uint32_t none = no_bits();");
        }
    }

    const BlockProgram &program_;
    const Kernel &base_;
    const PrintOptions &print_;
    const bool hopper_;
    const BlockLaunch launch_;
    // Of the text that is printed:
    KernelPrinter *out_ = nullptr;
    const BlockText *text_ = nullptr;
    Fetching fetching_ = Fetching::kEngine;
};

}  // namespace

TileKernel make_block_kernel(const BlockProgram &program, const Kernel &base, const Strides &strides, const PrintOptions &print,
                             bool hopper) {
    return BlockKernel(program, base, strides, print, hopper).make();
}

}  // namespace halyard
