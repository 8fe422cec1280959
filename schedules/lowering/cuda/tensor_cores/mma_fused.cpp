#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "lowering/cuda/tensor_cores/fused_kernel.h"
#include "lowering/cuda/tensor_cores/fused_pieces.h"
#include "lowering/cuda/tensor_cores/fused_text.h"
#include "lowering/cuda/tensor_cores/fused_warps.h"
#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/tensor_argument.h"
#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kSumsOfFusedThread = 192;

// How a tile is divided: blocks take `rows` of it, warps `fragments` of 16 rows each.
struct Layout {
    int rows = 0, fragments = 1, warps = 4;
    int blocks = 1;  // on a multiprocessor
};

class MmaChain : public FusedText {
public:
    MmaChain(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
             const PrintOptions &print)
        : FusedText(kernel, products, host, strides, print) {
        mask_ = take_mask(meanwhile_, parts_, true);
        between_ = in_pieces(parts_, meanwhile_, waiting_);
        lay_out();
    }

    TileKernel make() {
        TileKernel result;
        result.usable = usable();
        result.whole = with_arguments();
        result.by_elements = result.whole;
        result.by_elements.name += "_elements";
        result.text = "\n" + text(result.whole, false);
        result.text_by_elements = "\n" + text(result.by_elements, true);
        return result;
    }

private:
    int threads() const {
        return layout_.warps * kWarp;
    }
    // That share the steps, each with stages of its own.
    int sharing() const {
        return parts_.first_asked->warps;
    }
    int elements_a() const {
        return layout_.rows * panels(first().depth) * kAcross;
    }
    // A warp with all rows waits for nobody, and other blocks compute while it waits for a tile.
    int stages() const {
        return is_skinny(parts_) ? std::max(parts_.first_asked->stages, 2) : 1;
    }
    int elements_b() const {
        return stages() * launch_.elements_b();
    }
    int elements_c() const {
        return stages() * launch_.elements_c();
    }
    int shared_bytes() const {
        return 2 * (elements_a() + sharing() * (elements_b() + elements_c()));
    }
    int tiles_of_rows() const {
        return parts_.rows / layout_.rows;
    }

    // Warps of 32 rows read half as much of shared memory for each product, where a thread has registers for as many sums: with
    // heads of 128, those are 64 keys in two blocks of 4 warps, which are faster than 128 keys with 16 rows. Of the latter, blocks of 4
    // warps are faster than of 8. Several stages of both operands were slower, before the second product's operand was made piece by
    // piece. Where 16 rows are all there are, each warp has them all.
    void lay_out() {
        const bool few = is_skinny(parts_);
        const std::vector<std::pair<int, int>> forms =
            few ? std::vector<std::pair<int, int>>{{1, sharing()}} : std::vector<std::pair<int, int>>{{2, 4}, {2, 6}, {1, 4}};
        const int sums = (first().columns + second().columns) / 2;
        int least = 0;
        for (const int room : {kSharedOfBlock, kSharedOfAmpere}) {
            for (const auto &[fragments, warps] : forms) {
                layout_.rows = few ? kRowsOfFragment : fragments * warps * kRowsOfFragment;
                layout_.fragments = fragments;
                layout_.warps = warps;
                if (fragments * sums > kSumsOfFusedThread || parts_.rows % layout_.rows != 0) {
                    continue;
                }
                // Beside sums, fragments of both operands, statistics of rows, and addresses.
                const int registers = std::min(fragments * sums + 56, 255);
                const int most = few ? std::max(kSharedOfAmpere / shared_bytes(), 1) : 2;
                layout_.blocks = std::clamp(kRegisters / (threads() * registers), 1, most);
                if (shared_bytes() <= room) {
                    return;
                }
                least = shared_bytes();
            }
        }
        if (least == 0) {
            fail("has tiles of " + number(parts_.rows) + " rows; take 64, 128 or 192");
        }
        fail("takes " + number(least) + " bytes of shared memory, and a block of sm_80 has " + number(kSharedOfAmpere) +
             "; take smaller tiles");
    }

    // ---- What the host asks ----

    Expr usable() const {
        Expr all = const_true();
        for (const auto *o : launch_.operands()) {
            const auto begin = as_const_int(o->origin[0]);
            if (!begin || *begin % 8 != 0) {
                return const_false();
            }
            const int across = o == &second().b ? second().columns : first().depth;
            all = all && is_tensor(o->buffer, o->type, o->rank()) &&
                  field_on_host(o->buffer, Call::buffer_get_extent, 0) >= int(*begin) + across;
        }
        for (const auto *r : launch_.results()) {
            if (in_fours(*r)) {
                all = all && is_tensor(r->stored, r->value.type(), int(launch_.place_of(*r)->size()));
            }
        }
        return simplify(all);
    }

    // Whether four neighbours of a result may be stored at once.
    bool in_fours(const Assignment &a) const {
        const auto at = launch_.place_of(a);
        return at && can_prove((*at)[0] % 4 == 0);
    }

    Kernel with_arguments() const {
        Kernel k = launch_.with_arguments(false);
        k.name = base_.name + "_mma";
        k.threads = {threads(), 1, 1};
        k.blocks = {base_.blocks[0] * base_.blocks[1] * base_.blocks[2] * tiles_of_rows(), 1, 1};
        k.shared_bytes = shared_bytes();
        k.blocks_per_multiprocessor = ", " + number(layout_.blocks);
        return k;
    }

    // ---- Text ----

    std::string text(const Kernel &k, bool by_elements) {
        KernelPrinter out(k, print_);
        FusedNests nests(out, parts_, {"row_of_thread", layout_.fragments});
        out_ = &out;
        threads_ = &nests;
        by_elements_ = by_elements;
        const std::string type = type_text(first().a.type);
        const auto array = [&](const std::string &name, int at, int n) {
            out.line("const shared<" + type + "> " + name + " = shared_array<" + type + ">(" + number(at) + ", " + number(n) + ");");
        };
        array("a_tile", 0, elements_a());
        array(stages() > 1 ? "b_tiles" : "b_tile", 2 * elements_a(), sharing() * elements_b());
        array(stages() > 1 ? "c_tiles" : "c_tile", 2 * (elements_a() + sharing() * elements_b()), sharing() * elements_c());
        const std::string parts = number(tiles_of_rows());
        out.line("const int lane = threadIdx.x % 32, row_of_warp = " +
                 (is_skinny(parts_) ? "0" : "threadIdx.x / 32 * " + number(layout_.fragments * kRowsOfFragment)) + ";");
        if (sharing() > 1) {
            // By a shuffle, which tells the compiler that it is the same in all lanes.
            out.line("const int warp = __shfl_sync(0xffffffff, int(threadIdx.x / 32), 0);");
        }
        out.line("const int row_of_block = " + (tiles_of_rows() == 1 ? "0" : "int(blockIdx.x) % " + parts + " * " + number(layout_.rows)) +
                 ", row_of_thread = row_of_block + row_of_warp + lane / 4;");
        place_of_tile(tiles_of_rows() == 1 ? "int(blockIdx.x)" : "(int(blockIdx.x) / " + parts + ")");
        declare_held(layout_.fragments);
        nests.nests(parts_.before);
        if (between_.pieces.empty()) {
            define_between();
        }
        if (!by_elements) {
            declare_places();
        }
        define_fetch("fetch_b", first().b, "b_tile", first().depth, first().columns);
        define_fetch("fetch_c", second().b, "c_tile", second().columns, second().depth);
        steps();
        sum_lanes();
        if (sharing() > 1) {
            print_together(out, parts_, nests);
        }
        for (const auto &n : parts_.after) {
            store_nest(n);
        }
        return out.finish();
    }

    void declare_sums(const std::string &name, int elements) override {
        out_->declare_registers(name, "float", elements);
    }

    // ---- Fetches ----

    bool moves_with_step(const Operand &o) const {
        return std::any_of(o.origin.begin() + 2, o.origin.end(), [&](const Expr &x) { return expr_uses_var(x, parts_.step); });
    }

    // Of heads and batches once: the compiler leaves divisions in a loop that waits, and makes each anew.
    void declare_places() {
        const char *names[] = {"a_place", "b_place", "c_place"};
        const auto operands = launch_.operands();
        for (size_t i = 0; i < operands.size(); i++) {
            const std::string value = e(operands[i]->origin[0]) + place_of_others(*operands[i]);
            places_[operands[i]] = moves_with_step(*operands[i]) ? value : names[i];
            if (places_[operands[i]] == names[i]) {
                out_->line("const int " + std::string(names[i]) + " = " + value + ";");
            }
        }
    }

    void define_fetch(const std::string &name, const Operand &o, const std::string &array, int columns, int rows) {
        const bool staged = stages() > 1;
        out_->open("const auto " + name + " = [&](int " + out_->name(parts_.step) + (staged ? ", int stage" : "") + ") {");
        const bool by_warp = sharing() > 1;
        fetch(o, staged ? array + "s + " + tile_of(o, "stage") : array, columns, rows, "", by_warp ? kWarp : threads(),
              by_warp ? "lane" : "threadIdx.x");
        out_->close("};");
    }

    void fetch(const Operand &o, const std::string &to, int columns, int rows, const std::string &more_lines, int threads,
               const std::string &thread) {
        if (by_elements_) {
            fetch_elements(o, "(" + to + ")", columns, rows, threads, more_lines, thread);
            return;
        }
        const int along = o.line_dimension();
        const std::string extent = e(field(o.buffer, "extent", along)), lines = number(rows);
        out_->line("const int first_line = " + e(o.origin[size_t(along)]) + more_lines + ";");
        std::string whole = "first_line >= 0 && first_line + " + lines + " <= " + extent,
                    inside = "uint32_t(first_line + line) < uint32_t(" + extent + ")";
        if (o.counts.defined()) {
            Scope<Interval> tile;
            tile.push(kOperandDepth, Interval(0, rows - 1));
            whole += " && (" + e(simplify(and_condition_over_domain(o.counts, tile))) + ")";
            inside += " && " + counts_at(o, "line");
        }
        out_->line("fetch_lines<" + lines + ", " + number(columns / 8) + ", " + number(threads) + ">(" + to + ", " + out_->name(o.buffer) +
                   " + (" + places_.at(&o) + "), " + e(field(o.buffer, "stride", along)) + ", first_line, " + whole + ", " + thread + ",");
        out_->line("            [&](int line) { return " + inside + "; });");
    }

    // ---- Steps ----

    void arrive() {
        if (!by_elements_) {
            out_->line("copy_async_wait_all();");
        }
        out_->line("__syncthreads();");
    }

    void fetch_if_in_time(const std::string &name, const std::string &step) {
        out_->open("if (" + step + " < end) {");
        out_->line(name + "(" + step + ");");
        out_->close();
    }

    std::string tile_of(const Operand &o, const std::string &stage) const {
        const std::string of_warp = sharing() > 1 ? "(warp * " + number(stages()) + " + " + stage + ")" : stage;
        return of_warp + " * " + number(&o == &first().b ? launch_.elements_b() : launch_.elements_c());
    }

    // All of a step's operands are fetched together, `stages` steps ahead.
    void fetch_step(const std::string &step, const std::string &stage) {
        out_->open("if (" + step + " < end) {");
        out_->line("fetch_b(" + step + ", " + stage + ");");
        out_->line("fetch_c(" + step + ", " + stage + ");");
        out_->close();
        if (!by_elements_) {
            out_->line("copy_async_commit();");
        }
    }

    void staged_steps() {
        const bool share = sharing() > 1;
        const std::string step = out_->name(parts_.step), ahead = number(stages() - 1), begin = share ? "first_step + warp" : "first_step",
                          times = share ? " * " + number(sharing()) : "";
        out_->line("int stage = 0;");
        out_->line("#pragma unroll");
        out_->open("for (int i = 0; i < " + ahead + "; i++) {");
        fetch_step(begin + " + i" + times, "i");
        out_->close();
        const auto arrived = [&](const std::string &barrier) {
            if (!by_elements_) {
                out_->line("copy_async_wait<" + number(stages() - 2) + ">();");
            }
            out_->line(barrier);
        };
        if (share) {
            arrived("__syncthreads();  // for the rows, which all have fetched");
        }
        open_steps(begin, sharing());
        expect_promises();
        arrived(share ? "__syncwarp();" : "__syncthreads();");
        fetch_step(step + " + " + number((stages() - 1) * sharing()), "(stage == 0 ? " + ahead + " : stage - 1)");
        for (const auto *o : {&first().b, &second().b}) {
            const std::string name = o == &first().b ? "b_tile" : "c_tile", type = type_text(o->type);
            out_->line("const shared<" + type + "> " + name + " = " + name + "s + " + tile_of(*o, "stage") + ";");
        }
        multiply_first();
        weigh();
        multiply_second();
        threads_->nests(between_.behind);
        out_->line("stage = stage + 1 == " + number(stages()) + " ? 0 : stage + 1;");
        out_->close();
    }

    void weigh() {
        if (between_.pieces.empty()) {
            out_->line("between(" + out_->name(parts_.step) + ");");
            threads_->nests(waiting_);
        } else {
            apply_mask();
            threads_->nests(between_.early);
        }
    }

    void steps() {
        const std::string step = out_->name(parts_.step);
        out_->open("{");
        fetch(first().a, "a_tile", first().depth, layout_.rows, " + row_of_block", threads(), "threadIdx.x");
        out_->close();
        if (stages() > 1) {
            staged_steps();
            return;
        }
        fetch_if_in_time("fetch_b", "first_step");
        open_steps("first_step");
        expect_promises();
        arrive();
        fetch_if_in_time("fetch_c", step);
        multiply_first();
        arrive();
        fetch_if_in_time("fetch_b", step + " + 1");
        weigh();
        multiply_second();
        threads_->nests(between_.behind);
        out_->close();
    }

    void multiply_first() {
        const std::string sums = out_->name(first().accumulator);
        out_->line("#pragma unroll");
        out_->open("for (int i = 0; i < " + number(first().columns / 2 * layout_.fragments) + "; i++) {");
        out_->line(sums + "[i] = 0.0f;");
        out_->close();
        out_->line("multiply_tiles<" + type_text(first().a.type) + ", " + type_text(first().b.type) + ", " + number(layout_.fragments) +
                   ", " + number(layout_.rows) + ", " + number(first().columns) + ", " + number(first().depth) + ">(" + sums +
                   ", a_tile + row_of_warp * 64, b_tile);");
    }

    void multiply_second() {
        for (const auto &n : between_.pieces) {
            threads_->begin(n);
        }
        out_->open("const auto make_piece = [&](int piece) {");
        if (!between_.pieces.empty()) {
            std::vector<Expr> reads = {Variable::make(Int(32), kChainHeldRow)};
            for (const auto &n : between_.pieces) {
                for (const auto &a : n.assignments) {
                    reads.push_back(a.value);
                }
            }
            out_->line("#pragma unroll");
            out_->open("for (int i = 0; i < " + number(8 * layout_.fragments) + "; i += 2) {");
            out_->line("const int " + out_->name(kChainElement) + " = i / 8 * " + number(first().columns / 2) + " + piece * 8 + i % 8;");
            threads_->coordinates_of_element(first().columns, reads);
            for (const auto &n : between_.pieces) {
                threads_->at_element(n);
            }
            out_->close();
        }
        out_->close("};");
        out_->line("multiply_rows<" + type_text(second().b.type) + ", " + number(layout_.fragments) + ", " + number(second().columns) +
                   ", " + number(second().depth) + ">(" + out_->name(second().accumulator) + ", " + out_->name(second().a.buffer) +
                   ", c_tile, make_piece);");
        for (const auto &n : between_.pieces) {
            threads_->end(n);
        }
    }

    // ---- Results ----

    void store_nest(const FusedNest &n) {
        if (!stores(n)) {
            threads_->nest(n);
            return;
        }
        for (const auto &a : n.assignments) {
            if (!by_elements_ && n.kind == FusedNest::kTile && in_fours(a)) {
                store_fours(n, a);
            } else {
                threads_->store_elements(n, a);
            }
        }
    }

    // 16 columns of a row, and of the one 8 below, at a time: lanes exchange pairs, so that each has four neighbours.
    void store_fours(const FusedNest &n, const Assignment &a) {
        const std::string pairs = a.stored + ".pairs", i = out_->name(kChainElement), of_fragment = number(n.columns / 2),
                          row = out_->name(kChainRow), column = out_->name(kChainColumn), below = out_->name("below");
        out_->line("#pragma unroll");
        out_->open("for (int first = 0; first < " + number(n.columns / 2 * layout_.fragments) + "; first += 8) {");
        out_->declare_registers(pairs, type_text(a.value.type()), 8);
        out_->line("#pragma unroll");
        out_->open("for (int " + i + " = first; " + i + " < first + 8; " + i + " += 2) {");
        threads_->coordinates_of_element(n.columns, {a.value});
        out_->print(FusedNests::store_of(pairs, threads_->pair(a.value), Ramp::make(Variable::make(Int(32), kChainElement) % 8, 1, 2)));
        out_->close();
        out_->line("exchange_pairs(" + out_->name(pairs) + ");");
        out_->line("#pragma unroll");
        out_->open("for (int " + below + " = 0; " + below + " < 2; " + below + "++) {");
        out_->line("const int " + row + " = row_of_thread + first / " + of_fragment + " * 16 + " + below + " * 8, " + column +
                   " = first % " + of_fragment + " / 4 * 8 + lane % 2 * 8 + lane % 4 / 2 * 4;");
        out_->open("if (" + e(Variable::make(Int(32), kChainRow) < n.row_extent) + ") {");
        const Expr four = Load::make(a.value.type().with_lanes(4), pairs, Ramp::make(Variable::make(Int(32), "below") * 4, 1, 4),
                                     Buffer<>(), Parameter(), const_true(4), ModulusRemainder());
        out_->print(Store::make(a.stored, four, Ramp::make(a.index, 1, 4), Parameter(), const_true(4), ModulusRemainder(4, 0)));
        out_->close();
        out_->close();
        out_->close();
    }

    Layout layout_;
    FusedPieces between_;
    std::map<const Operand *, std::string> places_;  // text: where lines of a tile are, but for the first two dimensions
    bool by_elements_ = false;
};

}  // namespace

TileKernel make_mma_fused(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
                          const PrintOptions &print) {
    return MmaChain(kernel, products, host, strides, print).make();
}

}  // namespace halyard
