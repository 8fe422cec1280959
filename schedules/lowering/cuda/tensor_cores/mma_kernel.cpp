#include "lowering/cuda/tensor_cores/tile_kernel.h"

#include <map>

#include "lowering/cuda/tensor_cores/mma_launch.h"
#include "lowering/cuda/tensor_cores/mma_operands.h"
#include "lowering/cuda/print/print_expr.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class MmaKernel : public MmaLaunch {
public:
    MmaKernel(const TileProgram &program, const PrintOptions &print) : MmaLaunch(program, print) {}

    TileKernel make() {
        TileKernel result;
        result.usable = usable_;
        result.whole = with_arguments();
        result.by_elements = result.whole;
        result.by_elements.name += "_elements";
        result.text = "\n" + text(result.whole, false);
        result.text_by_elements = "\n" + text(result.by_elements, true);
        return result;
    }

private:
    std::string text(const Kernel &k, bool by_elements) {
        KernelPrinter out(k, print_);
        MmaOperands operands(program_, layout_, by_elements, out, [this](const Expr &x) { return e(x); });
        out_ = &out;
        declare_divisors(k);
        operands_ = &operands;
        declare_array(type_text(tile().a.type), "a_tiles", 0, layout_.stages() * layout_.elements_a());
        declare_array(type_text(tile().b.type), "b_tiles", layout_.stages() * layout_.elements_a() * tile().a.type.bytes(),
                      layout_.stages() * products() * layout_.elements_b());
        out.line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
        out.line("const int warp_row = warp / " + number(layout_.warps_across()) + " * " + number(layout_.rows()) + ", warp_col = warp % " +
                 number(layout_.warps_across()) + " * " + number(layout_.columns()) + ";  // its part of the tile");
        declare_tiles_of_grid();
        coordinates_of_tile("int(blockIdx.x)");
        declare_steps();
        operands.declare();
        for (const auto &t : program_.tiles) {
            out.declare_registers(t.accumulator, type_text(t.sum), sums());
        }
        for (const auto &p : program_.before) {
            first_value(p);
        }
        sum_up();
        for (const auto &r : after_) {
            store(r, by_elements);
        }
        reduce_rows();
        return out.finish();
    }

    // Warps that have parts of the same rows give them each other in shared memory, in place of the stages, each reduction in
    // its own.
    void reduce_rows() {
        RowsOfThread rows = {"warp_row + lane / 4", layout_.row_parts(), "warp_col"};
        std::map<std::string, int> places;
        rows.across_warps = [&](const std::string &array, const Type &t, const Combine &combine) {
            const std::string parts = out_->name(array + ".of_warps"), type = type_text(t);
            const std::string line = out_->name(kChainHeldRow), row = "warp_row + lane / 4 + " + line + " * 8";
            const int place = places.emplace(array, int(places.size())).first->second;
            declare_array(type, parts, place * bytes_of_reduction(), layout_.warps_across() * tile().rows);
            open_lines();
            out_->open("if (lane % 4 == 0) {");
            out_->line(parts + "[warp % " + number(layout_.warps_across()) + " * " + number(tile().rows) + " + " + row +
                       "] = " + out_->name(array) + "[" + line + "];");
            out_->close();
            out_->close();
            out_->line("__syncthreads();");
            open_lines();
            const Expr at = Variable::make(Int(32), kChainHeldRow);
            for (int i = 0; i < layout_.warps_across(); i++) {
                const std::string part = array + ".of_" + number(i);
                out_->line("const " + type + " " + out_->name(part) + " = " + parts + "[" + number(i * tile().rows) + " + " + row + "];");
                const Expr value = Variable::make(t, part);
                out_->print(FusedNests::store_of(array, i == 0 ? value : combine(FusedNests::held_at(array, t, at), value), at));
            }
            out_->close();
        };
        if (layout_.warps_across() == 1) {
            rows.across_warps = nullptr;
        } else if (!program_.rows.empty()) {
            out_->line("__syncthreads();");
        }
        TileText::reduce_rows(rows, layout_.columns(), layout_.warps_across() > 1 ? "warp_col == 0" : "");
    }

    void open_lines() {
        const std::string line = out_->name(kChainHeldRow);
        out_->line("#pragma unroll");
        out_->open("for (int " + line + " = 0; " + line + " < " + number(2 * layout_.row_parts()) + "; " + line + "++) {");
    }

    // While one half of a stage is multiplied, the next comes into registers, and a later stage into shared memory: before
    // the products of each 16 rows a part of both, so that warps do not wait with nothing to multiply. The products alone are hardly
    // faster.
    //
    // What is slower: the loads of a half before all of its products, with addresses computed anew for each copy; two tiles of
    // 128 x 128 on a multiprocessor; mbarriers in place of __syncthreads, so that warps may be apart. Stages twice as deep gain nothing.
    void sum_up() {
        const std::string ahead = number(layout_.stages() - 1);
        const bool by_chunks = operands_->has_chunks();
        out_->line("const int slices = " + parenthesised(steps()) + " * " + number(layout_.slices_of_step()) +
                   ";  // of the depth, a stage each");
        out_->open("for (int slice = 0; slice < " + ahead + "; slice++) {");
        operands_->fetch("slice", "slice");
        operands_->commit();
        out_->close();
        if (by_chunks) {
            operands_->declare_chunks();
        }
        operands_->arrive();
        out_->line("uint32_t a_part[2][" + number(layout_.rows() / 4) + "], b_part[2][" + number(products()) + "][" +
                   number(layout_.columns() / 4) + "];");
        define_load_part();
        out_->line("int stage = 0;");
        out_->line("#pragma unroll");
        out_->open("for (int part = 0; part < " + number(layout_.parts()) + "; part++) {");
        out_->line("load_part(part, 0, stage);");
        out_->close();
        out_->line("int slice = 0;");
        if (by_chunks) {
            // These have a loop of their own: in one loop with the others, what those ask for would be computed for all of them.
            out_->open("for (; slice + " + ahead + " < slices_inside; slice++) {");
            multiply_slice(true);
            out_->close();
        }
        out_->open("for (; slice < slices; slice++) {");
        multiply_slice(false);
        out_->close();
        operands_->finish();
    }

    void multiply_slice(bool by_chunks) {
        const std::string last = number(layout_.stages() - 1);
        out_->line("const int next = slice + " + last + ", behind = stage == 0 ? " + last +
                   " : stage - 1;  // a later slice, where the one before was");
        if (by_chunks) {
            operands_->define_fetch_part();
        } else {
            operands_->fetch("next", "behind");
        }
        multiply(0, by_chunks);
        operands_->commit();
        operands_->arrive();
        out_->line("stage = stage == " + last + " ? 0 : stage + 1;");
        multiply(1, false);
    }

    void define_load_part() {
        const std::string a = type_text(tile().a.type), parts = number(layout_.row_parts()),
                          fragments = number(layout_.columns() / kRowsOfFragment);
        out_->line("const int a_place = place_of_rows<" + a + ">(warp_row);");
        for (int i = 0; i < products(); i++) {
            const Operand &b = program_.tiles[size_t(i)].b;
            const std::string type = type_text(b.type);
            if (is_across(b)) {
                out_->line("int " + b_place(i) + "[" + fragments + "];");
                out_->line("#pragma unroll");
                out_->open("for (int j = 0; j < " + fragments + "; j++) {");
                out_->line(b_place(i) + "[j] = place_of_columns_across<" + type + ">(warp_col + j * 16);");
                out_->close();
            } else {
                out_->line("const int " + b_place(i) + " = place_of_columns<" + type + ">(warp_col);");
            }
        }
        out_->open("const auto load_part = [&](int part, int half_of_depth, int stage) {");
        out_->line("const place_in_shared<" + a + "> a_stage = a_tiles + stage * " + number(layout_.elements_a()) + ";");
        out_->open("if (part < " + parts + ") {");
        out_->line("load_matrices(a_part[half_of_depth] + part * 4, a_stage + place_along_depth<" + a +
                   ">(a_place, part, half_of_depth));");
        out_->close();
        for (int i = 0; i < products(); i++) {
            const Operand &b = program_.tiles[size_t(i)].b;
            const std::string type = type_text(b.type);
            out_->open("if (part / " + parts + " == " + number(i) + ") {");
            out_->line("const place_in_shared<" + type + "> b_stage = b_tiles + (" + operands_->b_tile("stage", i) + ");");
            out_->line("#pragma unroll");
            out_->open("for (int j = part % " + parts + " * " + fragments + " / " + parts + "; j < (part % " + parts + " + 1) * " +
                       fragments + " / " + parts + "; j++) {");
            const std::string place = is_across(b) ? "place_across_columns<" + type + ">(" + b_place(i) + "[j], half_of_depth)"
                                                   : "place_along_depth<" + type + ">(" + b_place(i) + ", j, half_of_depth)";
            out_->line(std::string(is_across(b) ? "load_matrices_across" : "load_matrices") + "(b_part[half_of_depth][" + number(i) +
                       "] + j * 4, b_stage + " + place + ");");
            out_->close();
            out_->close();
        }
        out_->close("};");
    }

    static std::string b_place(int product) {
        return "b_place_" + number(product + 1);
    }

    void multiply(int half, bool fetches) {
        const std::string h = "[" + number(half) + "]";
        for (int i = 0; i < products(); i++) {
            const TileOfProduct &t = program_.tiles[size_t(i)];
            out_->open("multiply_fragments<" + t.a.number().text() + ", " + t.b.number().text() + ">(" + out_->name(t.accumulator) +
                       ", a_part" + h + ", b_part" + h + "[" + number(i) + "], [&](int i) {");
            const std::string part = i == 0 ? "i" : number(i * layout_.row_parts()) + " + i";
            out_->line("load_part(" + part + ", " + number(1 - half) + ", stage);");
            if (fetches) {
                out_->line("fetch_part(" + part + ");");
            }
            out_->close("});");
        }
    }

    void coordinates_of_element() override {
        const std::string i = out_->name(kElement), of_rows = number(layout_.columns() / 2);  // sums of 16 rows
        coordinates(i + " / " + of_rows + " * 16 + " + i + " / 2 % 2 * 8", i + " % " + of_rows + " / 4 * 8 + lane % 4 * 2");
    }

    void coordinates(const std::string &row, const std::string &col) {
        declare_place("warp_row + " + row + " + lane / 4", "warp_col + " + col);
    }

    // Tiles that are whole in vectors, of others the elements that are inside.
    void store(const Result &r, bool by_elements) {
        const Pair &p = r.pair;
        if (by_elements) {
            store_inside(p);
            return;
        }
        out_->open("if (" + e(p.is_whole(tile().columns)) + ") {");
        if (r.lanes == 2) {
            open_elements();
            coordinates_of_element();
            print(Store::make(p.stored, p.value, p.index, Parameter(), const_true(2), r.alignment));
            out_->close();
        } else {
            store_fours(r);
        }
        out_->otherwise();
        store_inside(p);
        out_->close();
    }

    // 16 columns of a row, and of the one 8 below, at a time.
    void store_fours(const Result &r) {
        const Pair &p = r.pair;
        const std::string pairs = p.stored + ".pairs", of_rows = number(layout_.columns() / 2);
        out_->line("#pragma unroll");
        out_->open("for (int first = 0; first < " + number(sums()) + "; first += 8) {");
        out_->declare_registers(pairs, type_text(p.value.type().element_of()), 8);
        open_elements("first", "first + 8");
        coordinates_of_element();
        print(Store::make(pairs, p.value, Ramp::make(Variable::make(Int(32), kElement) % 8, 1, 2), Parameter(), const_true(2),
                          ModulusRemainder()));
        out_->close();
        out_->line("exchange_pairs(" + out_->name(pairs) + ");");
        out_->line("#pragma unroll");
        const std::string below = out_->name("below");
        out_->open("for (int " + below + " = 0; " + below + " < 2; " + below + "++) {");
        coordinates("first / " + of_rows + " * 16 + " + below + " * 8",
                    "first % " + of_rows + " / 4 * 8 + lane % 2 * 8 + lane % 4 / 2 * 4");
        const Expr four = Load::make(p.value.type().with_lanes(4), pairs, Ramp::make(Variable::make(Int(32), "below") * 4, 1, 4),
                                     Buffer<>(), Parameter(), const_true(4), ModulusRemainder());
        print(Store::make(p.stored, four, r.index(), Parameter(), const_true(4), r.alignment));
        out_->close();
        out_->close();
    }

    MmaOperands *operands_ = nullptr;  // of the text that is printed
};

}  // namespace

TileKernel make_mma_kernel(const TileProgram &program, const PrintOptions &print) {
    return MmaKernel(program, print).make();
}

}  // namespace halyard
