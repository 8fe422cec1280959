#include "lowering/cuda/tensor_cores/tile_kernel.h"

#include <functional>

#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/joined_kernels.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tensor_cores/wgmma.h"
#include "lowering/cuda/tensor_cores/wgmma_operands.h"
#include "lowering/cuda/tensor_cores/wgmma_results.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class WgmmaKernel : public WgmmaResults {
public:
    WgmmaKernel(const TileProgram &program, const PrintOptions &print, const DependentLaunch &together)
        : WgmmaResults(program, print), together_(together) {}

    TileKernel make(bool whole) {
        const int bytes = layout_.shared_bytes(WgmmaForm::kWhole);
        if (bytes > kSharedBytesOfHopper) {
            program_.asked.fail("takes " + number(bytes) + " bytes of shared memory, and a block has " + number(kSharedBytesOfHopper) +
                                "; take fewer stages or smaller tiles");
        }
        TileKernel result;
        const Expr results = results_are_tensors();
        if (whole || is_const_one(results)) {
            result.usable = operands_are_tensors() && results;
            result.whole = with_arguments(WgmmaForm::kWhole);
            result.text = "\n" + text(result.whole, WgmmaForm::kWhole, {this});
        }
        if (!is_const_one(results)) {
            result.fetches = operands_are_tensors();
            result.fetching = with_arguments(WgmmaForm::kFetching);
            result.fetching.name += "_stored_by_elements";
            result.text += "\n" + text(result.fetching, WgmmaForm::kFetching, {this});
        }
        result.by_elements = with_arguments(WgmmaForm::kElements);
        result.by_elements.name += "_elements";
        result.text_by_elements = "\n" + text(result.by_elements, WgmmaForm::kElements, {this});
        add_instructions(result);
        return result;
    }

    /** Whether tiles of the other can go through the same stages. Warpgroups that take turns, and tiles that are loaded early, have
     * more to hand on from tile to tile than a stage. */
    bool joins(const WgmmaKernel &other) const {
        const auto facts = [](const WgmmaKernel &k) {
            const TileOfProduct &t = k.tile();
            const WgmmaForm form = WgmmaForm::kWhole;
            return std::vector<int>{t.rows,
                                    t.columns,
                                    t.depth,
                                    t.a.type.code(),
                                    t.a.type.bits(),
                                    t.b.type.code(),
                                    t.b.type.bits(),
                                    k.products(),
                                    k.program_.asked.stages,
                                    k.layout_.blocks(),
                                    k.layout_.offset_results(form),
                                    k.layout_.bytes_of_results(form),
                                    k.layout_.shared_bytes(form)};
        };
        const auto plain = [](const WgmmaKernel &k) {
            return !k.layout_.ping_pong() && k.layout_.cluster(WgmmaForm::kWhole) == 1 && k.tiles_.empty();
        };
        return plain(*this) && plain(other) && facts(*this) == facts(other);
    }

    /** This program and others, tiles of one after tiles of the other. */
    std::optional<JoinedKernel> make_joined(const std::vector<WgmmaKernel *> &parts, const std::string &name) {
        const WgmmaForm form = WgmmaForm::kWhole;
        JoinedKernel result;
        result.usable = const_true();
        Expr all = 0;
        for (WgmmaKernel *p : parts) {
            if (!joins(*p) || !add_arguments(result.kernel, p->with_arguments(form))) {
                return std::nullopt;
            }
            result.usable = result.usable && p->operands_are_tensors() && p->results_are_tensors();
            all = all + p->tiles();
            p->add_instructions(result);
        }
        result.kernel.name = name;
        result.kernel.blocks[0] = blocks_that_stay(all);
        result.text = "\n" + text(result.kernel, form, parts);
        return result;
    }

private:
    template<typename Result>
    void add_instructions(Result &result) const {
        for (const auto &t : program_.tiles) {
            result.instructions[instruction(t).name()] = instruction(t).text();
        }
    }

    static WgmmaInstruction instruction(const TileOfProduct &t) {
        return {t.a.number(), t.b.number(), t.columns, t.b.depth_dimension != 0, false};
    }

    using Parts = std::vector<WgmmaKernel *>;

    // Of all parts, of which this is the first.
    std::string text(const Kernel &k, WgmmaForm form, const Parts &parts) {
        KernelPrinter out(k, print_, parts.size() == 1 && together_.beside_last ? Works::kBesideLast : Works::kAfterLast);
        std::vector<std::unique_ptr<WgmmaOperands>> operands;
        for (WgmmaKernel *p : parts) {
            operands.push_back(std::make_unique<WgmmaOperands>(p->program_, p->layout_, out, [p](const Expr &x) { return p->e(x); }));
            p->out_ = &out;
            p->operands_ = operands.back().get();
            p->declare_divisors(k);
        }
        declare_array(type_text(tile().a.type), "a_tiles", 0, layout_.stages(form) * tile().rows * tile().depth);
        declare_array(type_text(tile().b.type), "b_tiles", layout_.offset_b(form),
                      layout_.stages(form) * products() * layout_.elements_b());
        out.line("const int warpgroup = threadIdx.x / " + number(kWarpgroup) + ", thread = threadIdx.x % " + number(kWarpgroup) + ";");
        if (layout_.cluster(form) > 1) {
            out.line("const int rank = cluster_rank();");
        }
        if (parts.size() > 1) {
            declare_ends(parts);
        }
        if (by_tma(form)) {
            declare_barriers(form);
            open_producer(out, layout_.warpgroups(), layout_.blocks() == 1 ? 40 : 0);
            producer(form, parts);
            out.otherwise();
            take_registers(out, layout_.warpgroups(), layout_.blocks() == 1 ? 232 : 0);
            consumers(form, parts);
            out.close();
        } else {
            consumers(form, parts);
        }
        return out.finish();
    }

    static std::string end_of(size_t part) {
        return "end_" + number(int(part) + 1);
    }

    // Tiles of all parts are numbered one after the other.
    void declare_ends(const Parts &parts) {
        for (size_t i = 0; i < parts.size(); i++) {
            out_->line("const int " + end_of(i) + " = " + (i > 0 ? end_of(i - 1) + " + " : "") + parts[i]->e(parts[i]->tiles()) + ";");
        }
    }

    void declare_barriers(WgmmaForm form) {
        const int stages = program_.asked.stages, offset = layout_.offset_barriers(form);
        declare_array("uint64_t", "full", offset, stages);
        declare_array("uint64_t", "empty", offset + 8 * stages, stages);
        const bool early = form == WgmmaForm::kWhole && !tiles_.empty();
        if (early) {
            declare_array("uint64_t", "early_full", offset + 16 * stages, layout_.warpgroups());
        }
        out_->open("if (threadIdx.x == 0) {");
        out_->open("for (int i = 0; i < " + number(stages) + "; i++) {");
        out_->line("barrier_init(&full[i], 1);");
        out_->line("barrier_init(&empty[i], " + number(layout_.ping_pong() ? 1 : layout_.warpgroups()) + ");");
        out_->close();
        if (early) {
            out_->open("for (int i = 0; i < " + number(layout_.warpgroups()) + "; i++) {");
            out_->line("barrier_init(&early_full[i], 1);");
            out_->close();
        }
        out_->line("barriers_ready();");
        out_->close();
        out_->line("__syncthreads();");
    }

    // A loop over the tiles that this block takes, or this warpgroup of those that take turns, with their coordinates; `body`: of a tile of
    // a part.
    void each_tile(WgmmaForm form, bool in_turns, const Parts &parts, const std::function<void(WgmmaKernel &)> &body) {
        const std::string blocks = layout_.cluster(form) > 1 ? " / " + number(layout_.cluster(form)) : "";
        const std::string first = in_turns ? " + warpgroup * gridDim.x" : "", next = in_turns ? "2 * " : "";
        const auto open_loop = [&](const std::string &name, const std::string &end) {
            out_->open("for (int " + name + " = blockIdx.x" + blocks + first + "; " + name + " < " + end + "; " + name + " += " + next +
                       "gridDim.x" + blocks + ") {");
        };
        if (parts.size() == 1) {
            open_loop("tile", tiles_of_grid());
            coordinates_of_tile("tile");
            declare_steps();
            body(*this);
            out_->close();
            return;
        }
        open_loop("in_all", end_of(parts.size() - 1));
        for (size_t i = 0; i < parts.size(); i++) {
            const std::string begin = i > 0 ? end_of(i - 1) : "";
            out_->open("if (" + (i > 0 ? "in_all >= " + begin + " && " : "") + "in_all < " + end_of(i) + ") {");
            out_->line("const int tile = in_all" + (i > 0 ? " - " + begin : "") + ";");
            parts[i]->declare_tiles_of_grid();
            parts[i]->coordinates_of_tile("tile");
            parts[i]->declare_steps();
            body(*parts[i]);
            out_->close();
        }
        out_->close();
    }

    // Blocks of a cluster take the steps in turns.
    std::string steps_loop(WgmmaForm form) {
        const ProductPart &first = program_.first();
        const std::string s = out_->name(first.step);
        const Expr end = simplify(first.min + steps());
        const bool shares = layout_.cluster(form) > 1;
        return "for (int " + s + " = " + e(first.min) + (shares ? " + rank; " : "; ") + s + " < " + e(end) + "; " + s +
               (shares ? " += " + number(layout_.cluster(form)) : "++") + ") {";
    }

    void next_stage() {
        out_->open("if (++stage == " + number(program_.asked.stages) + ") {");
        out_->line("stage = 0;");
        out_->line("phase ^= 1;");
        out_->close();
    }

    void producer(WgmmaForm form, const Parts &parts) {
        out_->open("if (thread == 0) {");
        out_->line("int stage = 0, phase = 0;");
        if (parts.size() == 1) {
            declare_tiles_of_grid();
        }
        each_tile(form, false, parts, [&](WgmmaKernel &k) { k.fetch_steps(form); });
        out_->close();
    }

    void fetch_steps(WgmmaForm form) {
        out_->open(steps_loop(form));
        out_->line("barrier_wait(&empty[stage], phase ^ 1);");
        operands_->fetch();
        next_stage();
        out_->close();
    }

    void consumers(WgmmaForm form, const Parts &parts) {
        out_->line("const int lane = thread % 32, warp = thread / 32;");
        if (by_tma(form)) {
            out_->line("int stage = 0, phase = 0;");
        }
        const bool in_turns = layout_.ping_pong() && by_tma(form);
        if (parts.size() == 1) {
            declare_tiles_of_grid();
        }
        if (form == WgmmaForm::kWhole) {
            declare_tiles(layout_.rows_of_results());
        }
        if (in_turns) {
            out_->open("if (warpgroup == 1) {");
            out_->line(skip_steps());
            out_->line("ping_pong_ends<2>(warpgroup);");
            out_->close();
        }
        each_tile(form, in_turns, parts, [&](WgmmaKernel &k) { k.tile_of_consumers(form, in_turns); });
        if (in_turns) {
            out_->open("if ((" + tiles_of_grid() + " - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x) % 2 == warpgroup) {");
            out_->line("ping_pong_begins<2>(warpgroup);  // the one that is left");
            out_->close();
        }
        if (layout_.bytes_of_results(form) > 0) {
            out_->open("if (thread == 0) {");
            out_->line("tensor_store_wait();");
            out_->close();
        }
        if (parts.size() == 1 && together_.beside_last) {
            // Not by the producer, of whose warp one thread works: the others would hold it up.
            out_->line("wait_for_last();");
        }
    }

    std::string skip_steps() {
        return "skip_steps<" + number(program_.asked.stages) + ">(stage, phase, " + e(program_.first().extent) + ");";
    }

    void tile_of_consumers(WgmmaForm form, bool in_turns) {
        begin_sums(form);
        if (in_turns) {
            out_->line("ping_pong_begins<2>(warpgroup);");
        }
        sum_up(form);
        if (in_turns) {
            out_->line("ping_pong_ends<2>(warpgroup);");
            out_->line(skip_steps());
        }
        wait_for_sums(form);
        if (layout_.cluster(form) > 1) {
            add_parts(form);
            out_->open("if (rank == 0) {");
        }
        store_results(form);
        reduce_rows({row_of_thread()}, tile().columns);
        if (layout_.cluster(form) > 1) {
            out_->close();
        }
    }

    void begin_sums(WgmmaForm form) {
        for (const auto &t : program_.tiles) {
            out_->declare_sums(t.accumulator, type_text(t.sum), t.columns / 2);
            for (int i = 0; i < layout_.sums_of_steps(); i++) {
                out_->declare_sums(of_step(t, i), type_text(t.sum), t.columns / 2);
            }
        }
        for (const auto &p : program_.before) {
            first_value(p);
        }
        if (layout_.cluster(form) > 1) {
            begin_part();
        }
        if (by_tma(form) && layout_.sums_of_steps() != 1) {
            out_->line("int before = -1;  // the stage of the step before, which may still be read");
        }
        if (form == WgmmaForm::kWhole) {
            prepare_tiles(program_.first().min, steps());
        }
    }

    void sum_up(WgmmaForm form) {
        if (by_tma(form) && layout_.sums_of_steps() == 2) {
            sum_up_in_turns(form);
            return;
        }
        out_->open(steps_loop(form));
        if (by_tma(form)) {
            out_->line("warp_wait(&full[stage], phase);");
        } else {
            operands_->fetch_elements();
        }
        multiply(form);
        if (layout_.sums_of_steps() > 0) {
            add_this_step(form);
        } else if (by_tma(form)) {
            out_->line("wgmma_wait<1>();");
            give_back_stage();
            out_->line("before = stage;");
        }
        if (by_tma(form)) {
            next_stage();
            if (form == WgmmaForm::kWhole) {
                fetch_tiles_at(out_->name(step_name()));
            }
        } else {
            out_->line("wgmma_wait<0>();");
            out_->line("__syncthreads();");
        }
        out_->close();
    }

    // The tensor cores keep 14 bits of sums of 8-bit numbers (DeepSeek-V3, 2024, 3.3.2), so those of a step are added up as f32. Meanwhile
    // another warpgroup multiplies.
    void add_this_step(WgmmaForm form) {
        out_->line("wgmma_wait<0>();");
        if (by_tma(form)) {
            out_->open("if (thread == 0) {");
            out_->line("barrier_arrive(&empty[stage]);");
            out_->close();
        }
        add_step(0);
    }

    // Or this one does: the sums of a step are added up while those of the next come. Sums are registers, which have no index: two steps a turn.
    void sum_up_in_turns(WgmmaForm form) {
        const std::string s = out_->name(step_name()), apart = number(layout_.cluster(form));
        const std::string end = e(simplify(program_.first().min + steps()));
        const auto step = [&](int own, const std::string &at) {
            out_->open("{");
            out_->line("warp_wait(&full[stage], phase);");
            multiply(form, own);
            out_->line("wgmma_wait<1>();");
            give_back_stage();
            out_->line("before = stage;");
            next_stage();
            add_step(1 - own);
            if (form == WgmmaForm::kWhole) {
                fetch_tiles_at(at);
            }
            out_->close();
        };
        const auto last = [&](int own) {
            out_->line("wgmma_wait<0>();");
            add_step(own);
        };
        for (const auto &t : program_.tiles) {
            out_->line("#pragma unroll");
            out_->open("for (int i = 0; i < " + number(sums()) + "; i++) {");
            out_->line(out_->name(of_step(t, 1)) + "[i] = 0;");
            out_->close();
        }
        out_->line("int " + s + " = " + e(program_.first().min) + (layout_.cluster(form) > 1 ? " + rank;" : ";"));
        out_->open("for (; " + s + " + " + apart + " < " + end + "; " + s + " += 2 * " + apart + ") {");
        step(0, s);
        step(1, s + " + " + apart);
        out_->close();
        out_->open("if (" + s + " < " + end + ") {");
        step(0, s);
        last(0);
        out_->otherwise();
        last(1);
        out_->close();
        give_back_stage();
    }

    void add_step(int own) {
        for (const auto &t : program_.tiles) {
            out_->line("#pragma unroll");
            out_->open("for (int i = 0; i < " + number(sums()) + "; i++) {");
            out_->line(out_->name(t.accumulator) + "[i] += " + out_->name(of_step(t, own)) + "[i];");
            out_->close();
        }
    }

    static std::string of_step(const TileOfProduct &t, int own) {
        return t.accumulator + (own == 0 ? ".of_step" : ".of_next_step");
    }

    // Meanwhile what is loaded early comes, and what left of the tile before makes room.
    void wait_for_sums(WgmmaForm form) {
        if (form == WgmmaForm::kWhole) {
            fetch_tiles_without_steps(steps());
            load_columns();
            wait_for_tiles();
        }
        if (layout_.bytes_of_results(form) > 0 && (form != WgmmaForm::kWhole || tiles_.empty())) {
            wait_for_result(*out_);
        }
        if (by_tma(form) && layout_.sums_of_steps() == 0) {
            out_->line("wgmma_wait<0>();");
            give_back_stage();
        }
    }

    void give_back_stage() {
        out_->open("if (before >= 0 && thread == 0) {");
        out_->line("barrier_arrive(&empty[before]);");
        out_->close();
    }

    // What sums begin with is in those of the first block.
    void begin_part() {
        for (const auto &p : program_.before) {
            if (is_const_zero(p.value)) {
                continue;
            }
            out_->open("for (int i = 0; i < " + number(sums()) + " && rank > 0; i++) {");
            out_->line(out_->name(p.stored) + "[i] = 0;");
            out_->close();
        }
    }

    // The sums of all blocks of a cluster, in the first one. All tiles have come and been multiplied: sums stand in place of
    // them, and the first block adds up those of the rows that are inside.
    void add_parts(WgmmaForm form) {
        const std::string columns = number(tile().columns), threads = number(layout_.warpgroups() * kWarpgroup);
        const auto part = [&](int product) { return "parts + " + number(product * tile().rows * tile().columns) + ", rows"; };
        const auto each = [&](const std::string &function) {
            for (int i = 0; i < products(); i++) {
                out_->line(function + "<" + columns + ">(" + out_->name(program_.tiles[size_t(i)].accumulator) + ", " + part(i) + ");");
            }
        };
        const std::string meet = "warpgroups_barrier<" + number(layout_.warpgroups()) + ">();";
        declare_array(type_text(tile().sum), "parts", 0, products() * tile().rows * tile().columns);
        out_->line("const int rows = " + e(rows_inside()) + ";");
        if (layout_.warpgroups() > 1) {
            out_->line(meet);
        }
        each("give_sums");
        out_->line("cluster_barrier<" + threads + ">();");
        out_->open("if (rank == 0) {");
        for (int i = 0; i < products(); i++) {
            out_->line("add_parts<" + number(layout_.cluster(form)) + ", " + threads + ", " + columns + ">(" + part(i) + ");");
        }
        out_->line(meet);
        each("take_sums");
        out_->close();
        out_->line("cluster_barrier<" + threads + ">();  // until then the others may not end");
    }

    Expr rows_inside() const {
        Expr rows = program_.rows.empty() ? 0 : tile().rows;
        for (const auto &p : after_) {
            rows = max(rows, p.rows.size() == 1 ? p.rows[0].inside : make_const(Int(32), tile().rows));
        }
        return simplify(min(rows, tile().rows));
    }

    // `own`: which sums of steps, where there are such.
    void multiply(WgmmaForm form, int own = 0) {
        const std::string stage = by_tma(form) ? "stage" : "0";
        out_->line("wgmma_fence();");
        out_->line("const uint32_t a_start = shared_address(a_tiles + " + stage + " * " + number(tile().rows * tile().depth) +
                   (layout_.ping_pong() ? "" : " + warpgroup * " + number(kRowsOfWarpgroup * tile().depth)) + ");");
        out_->line("const uint32_t b_start = shared_address(b_tiles + " + stage + " * " + number(products() * layout_.elements_b()) + ");");
        out_->line("#pragma unroll");
        out_->open("for (int d = 0; d < " + number(tile().depth / depth_of_instruction(tile().a.type)) + "; d++) {");
        for (int i = 0; i < products(); i++) {
            const TileOfProduct &t = program_.tiles[size_t(i)];
            const std::string start = i == 0 ? "b_start" : "b_start + " + number(i * layout_.bytes_b());
            const std::string b = t.b.depth_dimension != 0
                                      ? "matrix_descriptor(" + start + " + d * 2048, " + number(t.depth * kSwizzledBytes) + ", 1024)"
                                      : "matrix_descriptor(" + start + " + d * 32, 16, 1024)";
            const bool of_steps = layout_.sums_of_steps() > 0;
            out_->line(instruction(t).name() + "(" + out_->name(of_steps ? of_step(t, own) : t.accumulator) +
                       ", matrix_descriptor(a_start + d * 32, 16, 1024), " + b + (of_steps ? ", d > 0);" : ", true);"));
        }
        out_->close();
        out_->line("wgmma_commit();");
    }

    const DependentLaunch together_;
    WgmmaOperands *operands_ = nullptr;  // of the text that is printed
};

}  // namespace

TileKernel make_wgmma_kernel(const TileProgram &program, const PrintOptions &print, const DependentLaunch &together, bool whole) {
    return WgmmaKernel(program, print, together).make(whole);
}

std::optional<JoinedKernel> join_wgmma_kernels(const std::vector<TileProgram> &programs, const PrintOptions &print,
                                               const std::string &name) {
    std::vector<std::unique_ptr<WgmmaKernel>> all;
    std::vector<WgmmaKernel *> parts;
    for (const auto &p : programs) {
        all.push_back(std::make_unique<WgmmaKernel>(p, print, DependentLaunch()));
        parts.push_back(all.back().get());
    }
    return parts.front()->make_joined(parts, name);
}

}  // namespace halyard
