#include "lowering/cuda/tensor_cores/fused_kernel.h"

#include <algorithm>
#include <functional>

#include "lowering/cuda/tensor_cores/fused_text.h"
#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tensor_cores/wgmma.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class WgmmaChain : public FusedText {
public:
    WgmmaChain(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
               const PrintOptions &print)
        : FusedText(kernel, products, host, strides, print), warpgroups_(parts_.rows / kRowsOfWarpgroup) {
        if (parts_.rows % kRowsOfWarpgroup != 0 || warpgroups_ > 3) {
            fail("has tiles of " + number(parts_.rows) + " rows; take 64, 128 or 192");
        }
        mask_ = take_mask(meanwhile_, parts_, false);
        in_place_ = find_in_place();
    }

    TileKernel make() {
        if (launch_.shared_bytes(true) > kSharedBytesOfHopper) {
            fail("takes " + number(launch_.shared_bytes(true)) + " bytes of shared memory, and a block has " +
                 number(kSharedBytesOfHopper) + "; take fewer stages or smaller tiles");
        }
        TileKernel result;
        result.usable = launch_.usable();
        result.whole = launch_.with_arguments(true);
        result.by_elements = launch_.with_arguments(false);
        result.by_elements.name += "_elements";
        for (const auto &i : {first_instruction(), second_instruction()}) {
            result.instructions[i.name()] = i.text();
        }
        result.text = "\n" + text(result.whole, true);
        result.text_by_elements = "\n" + text(result.by_elements, false);
        return result;
    }

private:
    WgmmaInstruction first_instruction() const {
        return {first().a.number(), first().b.number(), first().columns, first().b.depth_dimension != 0, false};
    }
    WgmmaInstruction second_instruction() const {
        return {second().b.number(), second().b.number(), second().columns, second().b.depth_dimension != 0, true};
    }

    // ---- Text ----

    std::string text(const Kernel &k, bool by_tma) {
        KernelPrinter out(k, print_);
        FusedNests threads(out, parts_, {"warpgroup * 64 + warp * 16 + lane / 4", 1});
        out_ = &out;
        threads_ = &threads;
        by_tma_ = by_tma;
        tiles_together_ = by_tma && launch_.counts_tiles();
        const std::string type = type_text(first().a.type);
        int offset = launch_.offset_barriers(true);
        const auto array = [&](const std::string &t, const std::string &name, int at, int n) {
            out.line("const shared<" + t + "> " + name + " = shared_array<" + t + ">(" + number(at) + ", " + number(n) + ");");
        };
        const auto barriers = [&](const std::string &name, int n) {
            array("uint64_t", name, offset, n);
            offset += 8 * n;
        };
        const int s = launch_.stages(by_tma);
        const int s_a = launch_.stages_a(by_tma);
        array(type, "a_tiles", 0, s_a * launch_.elements_a());
        array(type, "b_tiles", launch_.offset_b(by_tma), s * launch_.elements_b());
        array(type, "c_tiles", launch_.offset_c(by_tma), s * launch_.elements_c());
        // By a shuffle, which tells the compiler that it is the same in all lanes.
        out.line("const int warpgroup = __shfl_sync(0xffffffff, int(threadIdx.x / " + number(kWarpgroup) +
                 "), 0), thread = threadIdx.x % " + number(kWarpgroup) + ";");
        if (!by_tma) {
            consumers(false);
            return out.finish();
        }
        barriers("a_full", s_a);
        barriers("a_empty", s_a);
        for (const char *name : {"b_full", "b_empty", "c_full", "c_empty"}) {
            barriers(name, s);
        }
        if (launch_.counts_tiles()) {
            array("int", "tile_of", offset, s_a);
        }
        out.open("if (threadIdx.x == 0) {");
        out.open("for (int i = 0; i < " + number(s_a) + "; i++) {");
        out.line("barrier_init(&a_full[i], 1);");
        out.line("barrier_init(&a_empty[i], " + number(warpgroups_) + ");");
        out.close();
        out.open("for (int i = 0; i < " + number(s) + "; i++) {");
        for (const char *name : {"b_full", "c_full"}) {
            out.line("barrier_init(&" + std::string(name) + "[i], 1);");
        }
        for (const char *name : {"b_empty", "c_empty"}) {
            out.line("barrier_init(&" + std::string(name) + "[i], " + number(warpgroups_) + ");");
        }
        out.close();
        out.line("barriers_ready();");
        out.close();
        out.line("__syncthreads();");
        open_producer(out, warpgroups_, 24);
        producer();
        out.otherwise();
        take_registers(out, warpgroups_, 240);
        consumers(true);
        out.close();
        return out.finish();
    }

    void open_tiles() {
        out_->line("const int tiles = " + tiles() + ";");
        out_->open("for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {");
        place_of_tile("tile");
    }

    // The number of a tile comes to the warpgroups with its rows.
    void open_counted_tiles() {
        const std::string counter = out_->name("next_tile");
        out_->line("const int tiles = " + tiles() + ";");
        out_->line("const bool counted = tiles > int(gridDim.x) * " + number(kTilesToCount) + ";");
        // Few tiles are dealt out to and fro, so that who has one with many steps gets one with few.
        out_->line("const int blocks = gridDim.x;");
        out_->open("for (int tile = blockIdx.x;; tile = counted ? blocks + atomicAdd(" + counter +
                   ", 1) : (tile / blocks + 2) * blocks - 1 - tile % blocks) {");
        out_->line("barrier_wait(&a_empty[a_stage], a_phase ^ 1);");
        out_->line("tile_of[a_stage] = tile;");
        out_->open("if (tile >= tiles) {");
        out_->line("barrier_arrive(&a_full[a_stage]);");
        out_->line("break;");
        out_->close();
        place_of_tile("tile");
    }

    std::string tiles() {
        return e(base_.blocks[0] * base_.blocks[1] * base_.blocks[2]);
    }

    void declare_sums(const std::string &name, int elements) override {
        out_->declare_sums(name, "float", elements);
    }

    // Where a tile of the operand begins, in all dimensions; what is the same in all steps has a name before them.
    std::vector<std::string> origin(const Operand &o, const std::string &name, bool named) {
        std::vector<std::string> at = {""};
        for (int d = 1; d < o.rank(); d++) {
            const Expr &c = o.origin[size_t(d)];
            at.push_back(e(c));
            if (named && !expr_uses_var(c, parts_.step)) {
                at.back() = name + "_at_" + number(d);
                out_->line("const int " + at.back() + " = " + e(c) + ";");
            }
        }
        return at;
    }

    // Panels of 64 elements across, `rows` long, one after the other.
    void load(const Operand &o, const std::vector<std::string> &at, const std::string &to, const std::string &barrier, int columns,
              int rows) {
        const std::string map = out_->name(o.buffer + ".map");
        std::string rest;
        for (size_t d = 1; d < at.size(); d++) {
            rest += ", " + at[d];
        }
        out_->line("barrier_expect(&" + barrier + ", " + number(panels(columns) * rows * kSwizzledBytes) + ");");
        for (int p = 0; p < panels(columns); p++) {
            const Expr c0 = simplify(o.origin[0] + p * kAcross);
            out_->line("tensor_load(" + to + (p ? " + " + number(p * rows * kAcross) : "") + ", " + map + ", &" + barrier + ", " + e(c0) +
                       rest + ");");
        }
    }

    void next_stage(const std::string &stage, const std::string &phase, int stages) {
        out_->open("if (++" + stage + " == " + number(stages) + ") {");
        out_->line(stage + " = 0;");
        out_->line(phase + " ^= 1;");
        out_->close();
    }
    void next_stage() {
        next_stage("stage", "phase", launch_.stages(true));
    }
    void next_stage_a() {
        next_stage("a_stage", "a_phase", launch_.stages_a(true));
    }

    void producer() {
        out_->open("if (thread == 0) {");
        out_->line("int stage = 0, phase = 0, a_stage = 0, a_phase = 0;");
        if (launch_.counts_tiles()) {
            open_counted_tiles();
        } else {
            open_tiles();
            out_->line("barrier_wait(&a_empty[a_stage], a_phase ^ 1);");
        }
        load(first().a, origin(first().a, "a", false), "a_tiles + a_stage * " + number(launch_.elements_a()), "a_full[a_stage]",
             first().depth, parts_.rows);
        next_stage_a();
        const auto b = origin(first().b, "b", true), c = origin(second().b, "c", true);
        open_steps("first_step");
        expect_promises();
        out_->line("barrier_wait(&b_empty[stage], phase ^ 1);");
        load(first().b, b, "b_tiles + stage * " + number(launch_.elements_b()), "b_full[stage]", first().depth, first().columns);
        out_->line("barrier_wait(&c_empty[stage], phase ^ 1);");
        load(second().b, c, "c_tiles + stage * " + number(launch_.elements_c()), "c_full[stage]", second().columns, second().depth);
        next_stage();
        out_->close();
        out_->close();
        out_->close();
    }

    void consumers(bool by_tma) {
        out_->line("const int lane = thread % 32, warp = thread / 32;");
        const auto matrix = [&](const std::string &name, const std::string &tile, int leading) {
            out_->line("const uint64_t " + name + " = matrix_descriptor(shared_address(" + tile + "), " + number(leading) + ", 1024);");
        };
        matrix("a_matrix", "a_tiles + warpgroup * " + number(kRowsOfWarpgroup * kAcross), 16);
        matrix("b_matrix", "b_tiles", 16);
        matrix("c_matrix", "c_tiles", second().depth * kSwizzledBytes);
        if (!by_tma) {
            open_tiles();
            open_tile(true);
            steps_by_elements();
            results(false);
            out_->close();
            return;
        }
        tiles_by_tma();
        if (launch_.results_by_engine() > 0) {
            out_->open("if (thread == 0) {");
            out_->line("tensor_store_wait();");
            out_->close();
        }
    }

    // What a tile begins with.
    void open_tile(bool first_sums) {
        declare_held(1, first_sums);
        threads_->nests(parts_.before);
        if (first_sums) {
            multiply_first();
        }
        multiply_second();
        define_between();
    }

    void results(bool by_tma) {
        sum_lanes();
        int result = 0;
        for (const auto &n : parts_.after) {
            store_nest(n, by_tma, result);
        }
    }

    void arrive(const std::string &barrier) {
        out_->open("if (thread == 0) {");
        out_->line("barrier_arrive(&" + barrier + ");");
        out_->close();
    }

    // The first product of a tile's first step is under way while the results of the tile before leave, and the tensor cores do
    // not wait for these. It has ended where the loop goes round: across that, ptxas would have all products wait for each other.
    void tiles_by_tma() {
        if (takes_turns()) {
            out_->open("if (warpgroup == " + number(warpgroups_ - 1) + ") {");
            turn("ends");
            out_->close();
        }
        out_->line("int stage = 0, phase = 0, a_stage = 0, a_phase = 0;");
        declare_place();
        out_->open("const auto place = [&](int tile) {");
        place_of_tile("tile", true);
        out_->close("};");
        declare_sums(first().accumulator, first().columns / 2);
        multiply_first();
        out_->line("const int tiles = " + tiles() + ";");
        out_->line("int tile = blockIdx.x;");
        out_->open("if (tile < tiles) {");
        out_->line("place(tile);");
        out_->line("warp_wait(&a_full[0], 0);");
        out_->open("if (first_step < end) {");
        first_of_tile();
        out_->close();
        out_->close();
        out_->open("while (tile < tiles) {");
        open_tile(false);
        if (second().b.counts.defined()) {
            clear_what_does_not_count();
        }
        steps_by_tma();
        last_step();
        out_->close();
        if (takes_turns()) {
            out_->open("if (warpgroup == 0) {");
            turn("begins");
            out_->close();
        }
    }

    // The first product of the first step of a tile, to its end.
    void first_of_tile() {
        out_->line("warp_wait(&b_full[stage], phase);");
        turn("begins");
        out_->line("multiply_first(stage);");
        turn("ends");
        out_->line("wgmma_wait<0>();");
        arrive("b_empty[stage]");
    }

    void steps_by_tma() {
        const std::string step = out_->name(parts_.step), s = number(launch_.stages(true));
        out_->open("if (first_step < end) {");
        out_->line("const int " + step + " = first_step;");
        out_->line("between(" + step + ");");
        threads_->nests(waiting_);
        out_->close();
        open_steps("first_step + 1");
        out_->line("const int next = stage + 1 == " + s + " ? 0 : stage + 1;");
        out_->line("const int next_phase = phase ^ (next == 0);");
        out_->line("warp_wait(&b_full[next], next_phase);");
        clear(step + " - 1");
        turn("begins");
        out_->line("multiply_first(next);");
        out_->line("warp_wait(&c_full[stage], phase);");
        out_->line("multiply_second(stage);");
        turn("ends");
        out_->line("wgmma_wait<1>();");
        arrive("b_empty[next]");
        out_->line("between(" + step + ");  // while the second product is under way");
        out_->line("wgmma_wait<0>();");
        arrive("c_empty[stage]");
        threads_->nests(waiting_);
        out_->line("stage = next;");
        out_->line("phase = next_phase;");
        out_->close();
        arrive("a_empty[a_stage]");
        next_stage_a();
    }

    // The second product of a tile's last step, and its results; with them begins the next tile.
    void last_step() {
        std::string declared, given;
        for (const auto &name : parts_.block_names) {
            if (!name.empty()) {
                const std::string n = out_->name(name), comma = declared.empty() ? "" : ", ";
                out_->line("const int " + n + "_left = " + n + ";");
                declared += comma + "int " + n;
                given += comma + n + "_left";
            }
        }
        out_->open("const auto leave = [&](" + declared + ") {");
        results(true);
        out_->close("};");
        out_->line("const bool some = first_step < end;");
        out_->line("const int last = stage, last_phase = phase;");
        out_->open("if (some) {");
        clear("end - 1");
        next_stage();
        out_->close();
        if (launch_.counts_tiles()) {
            out_->line("warp_wait(&a_full[a_stage], a_phase);");
            out_->line("tile = __shfl_sync(0xffffffff, int(tile_of[a_stage]), 0);");
            out_->line("warpgroup_barrier(warpgroup);");
        } else {
            out_->line("tile += gridDim.x;");
        }
        out_->open("if (tile < tiles) {");
        out_->line("place(tile);");
        out_->close();
        const auto second_of_last = [&] {
            out_->line("warp_wait(&c_full[last], last_phase);");
            out_->line("multiply_second(last);");
        };
        out_->open("if (some && tile < tiles && first_step < end) {");
        turn("begins");
        second_of_last();
        out_->line("warp_wait(&a_full[a_stage], a_phase);");
        out_->line("warp_wait(&b_full[stage], phase);");
        out_->line("multiply_first(stage);");
        turn("ends");
        out_->line("wgmma_wait<1>();");
        arrive("c_empty[last]");
        out_->line("leave(" + given + ");");
        out_->line("wgmma_wait<0>();");
        arrive("b_empty[stage]");
        out_->otherwise();
        out_->open("if (some) {");
        second_of_last();
        out_->line("wgmma_wait<0>();");
        arrive("c_empty[last]");
        out_->close();
        out_->line("leave(" + given + ");");
        out_->open("if (tile < tiles) {");
        out_->line("warp_wait(&a_full[a_stage], a_phase);");
        out_->open("if (first_step < end) {");
        first_of_tile();
        out_->close();
        out_->close();
        out_->close();
    }

    bool takes_turns() const {
        return warpgroups_ > 1 && parts_.first_asked->ping_pong;
    }

    // So that one warpgroup computes while the other multiplies.
    void turn(const std::string &what) {
        if (takes_turns()) {
            out_->line("ping_pong_" + what + "<" + number(warpgroups_) + ">(warpgroup);");
        }
    }

    // Outside of a turn: all warpgroups do it together.
    void clear(const std::string &step) {
        if (second().b.counts.defined()) {
            out_->line("warp_wait(&c_full[stage], phase);");
            out_->line("clear(stage, " + step + ");");
        }
    }

    void steps_by_elements() {
        const std::string step = out_->name(parts_.step);
        fetch_elements(first().a, "a_tiles", first().depth, parts_.rows, warpgroups_ * kWarpgroup);
        open_steps("first_step");
        expect_promises();
        fetch_elements(first().b, "b_tiles", first().depth, first().columns, warpgroups_ * kWarpgroup);
        fetch_elements(second().b, "c_tiles", second().columns, second().depth, warpgroups_ * kWarpgroup);
        out_->line("fence_shared();");
        out_->line("__syncthreads();");
        out_->line("multiply_first(0);");
        out_->line("wgmma_wait<0>();");
        out_->line("between(" + step + ");");
        threads_->nests(waiting_);
        out_->line("multiply_second(0);");
        out_->line("wgmma_wait<0>();");
        out_->line("__syncthreads();");
        out_->close();
    }

    // ---- Products ----

    void multiply_first() {
        out_->open("const auto multiply_first = [&](int stage) {");
        out_->line("wgmma_fence();");
        out_->line("const uint64_t a = a_matrix" +
                   (launch_.stages_a(by_tma_) > 1 ? " + a_stage * " + number(launch_.elements_a() * 2 / 16) : "") +
                   ", b = b_matrix + stage * " + number(launch_.elements_b() * 2 / 16) + ";");
        out_->line("#pragma unroll");
        out_->open("for (int d = 0; d < " + number(first().depth / depth_of_instruction(first().b.type)) + "; d++) {");
        // Descriptors count in 16 bytes.
        const auto start = [&](const std::string &name, int rows) {
            return panels(first().depth) == 1 ? name + " + d * 2"
                                              : name + " + d / 4 * " + number(rows * kSwizzledBytes / 16) + " + d % 4 * 2";
        };
        out_->line(first_instruction().name() + "(" + out_->name(first().accumulator) + ", " + start("a", parts_.rows) + ", " +
                   start("b", first().columns) + ", d > 0);");
        out_->close();
        out_->line("wgmma_commit();");
        out_->close("};");
    }

    void multiply_second() {
        out_->open("const auto multiply_second = [&](int stage) {");
        out_->line("wgmma_fence();");
        out_->line("const uint64_t c = c_matrix + stage * " + number(launch_.elements_c() * 2 / 16) + ";");
        out_->line("#pragma unroll");
        out_->open("for (int d = 0; d < " + number(second().depth / depth_of_instruction(second().b.type)) + "; d++) {");
        out_->line(second_instruction().name() + "(" + out_->name(second().accumulator) + ", " + out_->name(second().a.buffer) +
                   " + d * 4, c + d * 128, true);");
        out_->close();
        out_->line("wgmma_commit();");
        out_->close("};");
    }

    // Rows of the tile that do not count become 0: their weights are 0, but they may hold a NaN.
    void clear_what_does_not_count() {
        const std::string step = out_->name(parts_.step), depth = out_->name(kOperandDepth);
        const int rows = second().depth;
        Scope<Interval> tile;
        tile.push(kOperandDepth, Interval(0, rows - 1));
        const Expr all = simplify(and_condition_over_domain(second().b.counts, tile));
        out_->open("const auto clear = [&](int stage, int " + step + ") {");
        out_->open("if (" + e(all) + ") {");
        out_->line("return;");
        out_->close();
        out_->open("for (int i = threadIdx.x; i < " + number(launch_.elements_c()) + "; i += " + number(warpgroups_ * kWarpgroup) + ") {");
        out_->line("const int " + depth + " = i / 64 % " + number(rows) + ";");
        out_->open("if (!" + in_parentheses(e(second().b.counts)) + ") {");
        out_->line("c_tiles[stage * " + number(launch_.elements_c()) + " + i] = " + type_text(second().b.type) + "(0.0f);");
        out_->close();
        out_->close();
        out_->line("fence_shared();");
        out_->line("warpgroups_barrier<" + number(warpgroups_) + ">();");
        out_->close("};");
    }

    // ---- Results ----

    void store_nest(const FusedNest &n, bool by_tma, int &result) {
        if (!stores(n)) {
            threads_->nest(n);
            return;
        }
        for (const auto &a : n.assignments) {
            const auto at = by_tma ? launch_.tensor_of(a) : std::nullopt;
            if (at) {
                leave_by_tma(n, a, *at, result++);
            } else {
                threads_->store_elements(n, a);
            }
        }
    }

    // Through shared memory: stmatrix puts 16 columns at a time into the order in which TMA takes them.
    void leave_by_tma(const FusedNest &n, const Assignment &a, const std::vector<Expr> &at, int result) {
        const std::string type = type_text(a.value.type()), name = out_->name(a.stored + ".result"), pairs = a.stored + ".pairs",
                          i = out_->name(kChainElement);
        declare_result(*out_, type, name, launch_.offset_results(true) + result * parts_.rows * n.columns * 2, parts_.rows, n.columns);
        wait_for_result(*out_);
        out_->line("#pragma unroll");
        out_->open("for (int first = 0; first < " + number(n.columns / 2) + "; first += 8) {");
        out_->declare_registers(pairs, "alignas(16) " + type, 8);
        out_->line("#pragma unroll");
        out_->open("for (int " + i + " = first; " + i + " < first + 8; " + i + " += 2) {");
        threads_->coordinates_of_element(n.columns, {a.value});
        out_->print(FusedNests::store_of(pairs, threads_->pair(a.value), Ramp::make(Variable::make(Int(32), kChainElement) % 8, 1, 2)));
        out_->close();
        store_columns(*out_, out_->name(pairs), name);
        out_->close();
        std::vector<std::string> across;
        for (int panel = 0; panel < n.columns / kAcross; panel++) {
            across.push_back(e(simplify(at[0] + panel * kAcross)));
        }
        std::string rest;
        for (size_t d = 1; d < at.size(); d++) {
            rest += ", " + (d == 1 ? in_parentheses(e(at[1])) + " + warpgroup * 64" : e(at[d]));
        }
        send_result(*out_, out_->name(a.stored + ".map"), name, across, rest);
    }

    int warpgroups_ = 0;
    bool by_tma_ = true;  // of the kernel that is printed
};

}  // namespace

TileKernel make_wgmma_fused(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
                            const PrintOptions &print) {
    return WgmmaChain(kernel, products, host, strides, print).make();
}

}  // namespace halyard
