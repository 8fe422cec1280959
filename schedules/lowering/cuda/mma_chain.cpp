#include <algorithm>

#include "chain_kernel.h"
#include "chain_text.h"
#include "print_expr.h"
#include "tensor_argument.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kWarp = 32;
constexpr int kRowsOfFragment = 16;
constexpr int kRegisters = 65536;  // of a multiprocessor
constexpr int kSumsOfThread = 192;
// Of shared memory a block of sm_86, sm_89 and sm_120 has so much, and all blocks of a multiprocessor of sm_80.
constexpr int kSharedOfBlock = 99 * 1024, kSharedOfMultiprocessor = 163 * 1024;

std::string number(int n) {
    return std::to_string(n);
}

// How a tile is divided: blocks take `rows` of it, warps `fragments` of 16 rows each.
struct Layout {
    int rows = 0, fragments = 1, warps = 4;
    int blocks = 1;  // on a multiprocessor
    int stages = 0;
};

class MmaChain : public ChainText {
public:
    MmaChain(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
             const PrintOptions &print)
        : ChainText(kernel, products, host, strides, print) {
        lay_out();
    }

    TileKernel make() {
        TileKernel result;
        result.usable = usable();
        result.whole = with_arguments();
        result.by_elements = result.whole;
        result.by_elements.name += "_elements";
        result.text = "\n" + text(result.whole, false) + "\n" + text(result.by_elements, true);
        return result;
    }

private:
    int threads() const {
        return layout_.warps * kWarp;
    }
    int elements_a() const {
        return layout_.rows * panels(first().depth) * kAcross;
    }
    int stage_bytes() const {
        return 2 * (launch_.elements_b() + launch_.elements_c());
    }
    int shared_bytes() const {
        return 2 * elements_a() + layout_.stages * stage_bytes();
    }
    int tiles_of_rows() const {
        return parts_.rows / layout_.rows;
    }

    // Warps of 32 rows read half as much of shared memory for each product, where a thread has registers for as many sums.
    void lay_out() {
        const int sums = (first().columns + second().columns) / 2;
        int least = 0;
        for (const int room : {kSharedOfBlock, kSharedOfMultiprocessor}) {
            for (const auto &[fragments, warps] : {std::pair(2, 4), std::pair(2, 6), std::pair(1, 8), std::pair(1, 4)}) {
                layout_.rows = fragments * warps * kRowsOfFragment;
                layout_.fragments = fragments;
                layout_.warps = warps;
                if (fragments * sums > kSumsOfThread || parts_.rows % layout_.rows != 0) {
                    continue;
                }
                // Beside sums, fragments of both operands, statistics of rows, and addresses.
                const int registers = std::min(fragments * sums + 56, 255);
                for (layout_.blocks = std::clamp(kRegisters / (threads() * registers), 1, 2); layout_.blocks > 0; layout_.blocks--) {
                    const int of_block = std::min(room, kSharedOfMultiprocessor / layout_.blocks);
                    layout_.stages = std::min(parts_.first_asked->stages, (of_block - 2 * elements_a()) / stage_bytes());
                    if (layout_.stages > 0) {
                        return;
                    }
                }
                least = 2 * elements_a() + stage_bytes();
            }
        }
        if (least == 0) {
            fail("has tiles of " + number(parts_.rows) + " rows; take 64, 128 or 192");
        }
        fail("takes " + number(least) + " bytes of shared memory, and a block of sm_80 has " + number(kSharedOfMultiprocessor) +
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
        ChainNests nests(out, parts_, {"row_of_thread", layout_.fragments});
        out_ = &out;
        threads_ = &nests;
        by_elements_ = by_elements;
        const std::string type = type_text(first().a.type);
        const auto array = [&](const std::string &name, int at, int n) {
            out.line("const shared<" + type + "> " + name + " = shared_array<" + type + ">(" + number(at) + ", " + number(n) +
                     ");");
        };
        const int s = layout_.stages;
        array("a_tile", 0, elements_a());
        array("b_tiles", 2 * elements_a(), s * launch_.elements_b());
        array("c_tiles", 2 * (elements_a() + s * launch_.elements_b()), s * launch_.elements_c());
        const std::string parts = number(tiles_of_rows());
        out.line("const int lane = threadIdx.x % 32, row_of_warp = threadIdx.x / 32 * " +
                 number(layout_.fragments * kRowsOfFragment) + ";");
        out.line("const int row_of_block = " + (tiles_of_rows() == 1 ? "0" : "int(blockIdx.x) % " + parts + " * " + number(layout_.rows)) +
                 ", row_of_thread = row_of_block + row_of_warp + lane / 4;");
        place_of_tile(tiles_of_rows() == 1 ? "int(blockIdx.x)" : "(int(blockIdx.x) / " + parts + ")");
        declare_held(layout_.fragments);
        nests.nests(parts_.before);
        define_between();
        define_fetch("fetch_b", first().b, "b_tiles", launch_.elements_b(), first().depth, first().columns);
        define_fetch("fetch_c", second().b, "c_tiles", launch_.elements_c(), second().columns, second().depth);
        steps();
        sum_lanes();
        for (const auto &n : parts_.after) {
            store_nest(n);
        }
        return out.finish();
    }

    void declare_sums(const std::string &name, int elements) override {
        out_->declare_registers(name, "float", elements);
    }

    // ---- Fetches ----

    void define_fetch(const std::string &name, const Operand &o, const std::string &array, int elements, int columns, int rows) {
        out_->open("const auto " + name + " = [&](int " + out_->name(parts_.step) + ", int stage) {");
        fetch(o, array + (layout_.stages > 1 ? " + stage * " + number(elements) : ""), columns, rows, "");
        out_->close("};");
    }

    void fetch(const Operand &o, const std::string &to, int columns, int rows, const std::string &more_lines) {
        if (by_elements_) {
            fetch_elements(o, "(" + to + ")", columns, rows, threads(), more_lines);
            return;
        }
        const std::string extent = e(field(o.buffer, "extent", 1)), lines = number(rows);
        out_->line("const int first_line = " + e(o.origin[1]) + more_lines + ";");
        std::string whole = "first_line >= 0 && first_line + " + lines + " <= " + extent,
                    inside = "uint32_t(first_line + line) < uint32_t(" + extent + ")";
        if (o.counts.defined()) {
            Scope<Interval> tile;
            tile.push(kOperandDepth, Interval(0, rows - 1));
            whole += " && (" + e(simplify(and_condition_over_domain(o.counts, tile))) + ")";
            inside += " && " + counts_at(o, "line");
        }
        out_->line("fetch_lines<" + lines + ", " + number(columns / 8) + ", " + number(threads()) + ">(" + to + ", " +
                   out_->name(o.buffer) + " + (" + e(o.origin[0]) + place_of_others(o) + "), " +
                   e(field(o.buffer, "stride", 1)) + ", first_line, " + whole + ",");
        out_->line("            [&](int line) { return " + inside + "; });");
    }

    void commit() {
        if (!by_elements_) {
            out_->line("copy_async_commit();");
        }
    }

    // ---- Steps ----

    // The tiles of b and of c arrive in turns, a group each; up to the one that is waited for, all but the last ones have.
    void arrive() {
        if (!by_elements_) {
            out_->line("copy_async_wait<" + number(2 * (layout_.stages - 1)) + ">();");
        }
        out_->line("__syncthreads();");
    }

    void fetch_if_in_time(const std::string &name, const std::string &step, const std::string &stage) {
        out_->open("if (" + step + " < end) {");
        out_->line(name + "(" + step + ", " + stage + ");");
        out_->close();
        commit();
    }

    void steps() {
        const std::string step = out_->name(parts_.step);
        const int s = layout_.stages;
        out_->open("{");
        fetch(first().a, "a_tile", first().depth, layout_.rows, " + row_of_block");
        out_->close();
        for (int i = 0; i < s; i++) {
            fetch_if_in_time("fetch_b", "first_step + " + number(i), number(i));
            if (i + 1 < s) {
                fetch_if_in_time("fetch_c", "first_step + " + number(i), number(i));
            }
        }
        if (s > 1) {
            out_->line("int stage = 0;");
        }
        const std::string stage = s > 1 ? "stage" : "0";
        open_steps("first_step");
        expect_promises();
        arrive();
        const std::string last = number(s - 1);
        fetch_if_in_time("fetch_c", s > 1 ? step + " + " + last : step, s > 1 ? "stage == 0 ? " + last + " : stage - 1" : "0");
        multiply_first();
        out_->line("between(" + step + ");");
        threads_->nests(waiting_);
        arrive();
        fetch_if_in_time("fetch_b", step + " + " + number(s), stage);
        multiply_second();
        if (s > 1) {
            out_->line("stage = stage == " + last + " ? 0 : stage + 1;");
        }
        out_->close();
    }

    std::string of_stage(int elements) const {
        return layout_.stages > 1 ? " + stage * " + number(elements) : "";
    }

    void multiply_first() {
        const std::string sums = out_->name(first().accumulator), type = type_text(first().a.type);
        out_->line("#pragma unroll");
        out_->open("for (int i = 0; i < " + number(first().columns / 2 * layout_.fragments) + "; i++) {");
        out_->line(sums + "[i] = 0.0f;");
        out_->close();
        out_->line("multiply_tiles<" + type + ", " + number(layout_.fragments) + ", " + number(layout_.rows) + ", " +
                   number(first().columns) + ", " + number(first().depth) + ">(" + sums + ", a_tile + row_of_warp * 64, b_tiles" +
                   of_stage(launch_.elements_b()) + ");");
    }

    void multiply_second() {
        out_->line("multiply_rows<" + type_text(second().b.type) + ", " + number(layout_.fragments) + ", " +
                   number(second().columns) + ", " + number(second().depth) + ">(" + out_->name(second().accumulator) + ", " +
                   out_->name(second().a.buffer) + ", c_tiles" + of_stage(launch_.elements_c()) + ");");
    }

    // ---- Results ----

    void store_nest(const ChainNest &n) {
        if (!stores(n)) {
            threads_->nest(n);
            return;
        }
        for (const auto &a : n.assignments) {
            if (!by_elements_ && n.kind == ChainNest::kTile && in_fours(a)) {
                store_fours(n, a);
            } else {
                store_elements(n, a);
            }
        }
    }

    // 16 columns of a row, and of the one 8 below, at a time: lanes exchange pairs, so that each has four neighbours.
    void store_fours(const ChainNest &n, const Assignment &a) {
        const std::string pairs = a.stored + ".pairs", i = out_->name(kChainElement), of_fragment = number(n.columns / 2),
                          row = out_->name(kChainRow), column = out_->name(kChainColumn), below = out_->name("below");
        out_->line("#pragma unroll");
        out_->open("for (int first = 0; first < " + number(n.columns / 2 * layout_.fragments) + "; first += 8) {");
        out_->declare_registers(pairs, type_text(a.value.type()), 8);
        out_->line("#pragma unroll");
        out_->open("for (int " + i + " = first; " + i + " < first + 8; " + i + " += 2) {");
        threads_->coordinates_of_element(n.columns, {a.value});
        out_->print(ChainNests::store_of(pairs, threads_->pair(a.value),
                                         Ramp::make(Variable::make(Int(32), kChainElement) % 8, 1, 2)));
        out_->close();
        out_->line("exchange_pairs(" + out_->name(pairs) + ");");
        out_->line("#pragma unroll");
        out_->open("for (int " + below + " = 0; " + below + " < 2; " + below + "++) {");
        out_->line("const int " + row + " = row_of_thread + first / " + of_fragment + " * 16 + " + below + " * 8, " + column +
                   " = first % " + of_fragment + " / 4 * 8 + lane % 2 * 8 + lane % 4 / 2 * 4;");
        out_->open("if (" + e(Variable::make(Int(32), kChainRow) < n.row_extent) + ") {");
        const Expr four = Load::make(a.value.type().with_lanes(4), pairs,
                                     Ramp::make(Variable::make(Int(32), "below") * 4, 1, 4), Buffer<>(), Parameter(),
                                     const_true(4), ModulusRemainder());
        out_->print(Store::make(a.stored, four, Ramp::make(a.index, 1, 4), Parameter(), const_true(4), ModulusRemainder(4, 0)));
        out_->close();
        out_->close();
        out_->close();
    }

    Layout layout_;
    bool by_elements_ = false;
};

}  // namespace

TileKernel make_mma_chain(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host,
                          const Strides &strides, const PrintOptions &print) {
    return MmaChain(kernel, products, host, strides, print).make();
}

}  // namespace halyard
