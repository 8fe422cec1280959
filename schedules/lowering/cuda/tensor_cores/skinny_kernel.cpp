#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lowering/accesses.h"
#include "lowering/cuda/simt/linear.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/joined_kernels.h"
#include "lowering/cuda/tensor_cores/skinny_layout.h"
#include "lowering/cuda/tensor_cores/tensor_argument.h"
#include "lowering/cuda/tensor_cores/tile_kernel.h"
#include "lowering/cuda/tensor_cores/tile_text.h"
#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// What an epilogue reads beside the sums: for each load an array of registers, by the element of the thread.
class TakeLoads : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        const int lanes = op->type.lanes();
        if (not_in_memory.count(op->name) || lanes > 2) {
            return IRMutator::visit(op);
        }
        const auto known = std::find_if(loads.begin(), loads.end(), [&](const auto &l) { return equal(l.second, Expr(op)); });
        const std::string name = known == loads.end() ? op->name + ".early." + number(int(loads.size())) : known->first;
        if (known == loads.end()) {
            loads.emplace_back(name, Expr(op));
        }
        const Expr element = Variable::make(Int(32), kElement);
        return Load::make(op->type, name, lanes == 1 ? element : Ramp::make(element, 1, lanes), Buffer<>(), Parameter(), const_true(lanes),
                          ModulusRemainder());
    }

    const std::set<std::string> not_in_memory;

public:
    explicit TakeLoads(std::set<std::string> not_in_memory) : not_in_memory(std::move(not_in_memory)) {}
    std::vector<std::pair<std::string, Expr>> loads;
};

class SkinnyKernel : public TileText {
public:
    SkinnyKernel(const TileProgram &program, const PrintOptions &print, bool hopper, const DependentLaunch &together)
        : TileText(program, print), form_(hopper ? FetchedBy::kEngine : FetchedBy::kCopies), together_(together), layout_(program_, form_) {
        take_loads();
    }

    TileKernel make() {
        TileKernel result;
        result.usable = usable();
        result.whole = with_arguments(form_);
        result.by_elements = with_arguments(FetchedBy::kElements);
        result.by_elements.name += "_elements";
        result.text = "\n" + text(result.whole, form_);
        result.text_by_elements = "\n" + text(result.by_elements, FetchedBy::kElements);
        return result;
    }

    /** This program, of which it is the first, and others: a block has a tile of one of them. */
    std::optional<JoinedKernel> make_joined(const std::vector<SkinnyKernel *> &parts, const std::string &name) {
        JoinedKernel result;
        result.usable = const_true();
        int blocks_of_multiprocessor = kMaxSkinnyBlocks;
        Expr down = 0, across = 0;
        for (SkinnyKernel *p : parts) {
            const Kernel k = p->with_arguments(form_);
            if (!p->program_.parts.block_names[2].empty() || !add_arguments(result.kernel, k)) {
                return std::nullopt;
            }
            result.usable = result.usable && p->usable();
            down = max(down, k.blocks[0]);
            across = across + k.blocks[1];
            blocks_of_multiprocessor = std::min(blocks_of_multiprocessor, p->layout_.blocks());
        }
        result.kernel.name = name;
        result.kernel.blocks = {simplify(down), across, 1};
        result.kernel.blocks_per_multiprocessor = ", " + number(blocks_of_multiprocessor);
        result.text = "\n" + text_of(result.kernel, parts);
        return result;
    }

private:
    Expr usable() const {
        Expr all = const_true();
        for (const auto &o : program_.operands()) {
            const Expr known = form_ == FetchedBy::kEngine ? const_true() : begins_at_chunks(o);
            all = all && is_tensor(o.buffer, o.type, o.rank()) && known;
        }
        return all;
    }

    void take_loads() {
        std::set<std::string> others = program_.accumulators;  // and what the nests before have stored
        for (const auto &p : program_.after) {
            others.insert(p.stored);
        }
        TakeLoads take(others);
        for (const auto &p : program_.after) {
            values_.push_back(take.mutate(loaded_inside(p, program_.accumulators)));
        }
        early_ = take.loads;
    }

    // Whether tiles begin at multiples of 16 bytes, of which threads copy so many at once.
    Expr begins_at_chunks(const Operand &o) const {
        const int chunk = elements_of_chunk(o);
        Linear rest = linear(o.origin[0]);
        rest.terms.erase(std::remove_if(rest.terms.begin(), rest.terms.end(), [&](const auto &t) { return t.factor % chunk == 0; }),
                         rest.terms.end());
        const Expr left = rest.expr();
        const auto &blocks = program_.parts.block_names;
        const bool moves = expr_uses_var(left, step_name()) || std::any_of(blocks.begin(), blocks.end(), [&](const std::string &b) {
                               return !b.empty() && expr_uses_var(left, b);
                           });
        return moves ? const_false() : simplify(left % chunk == 0);
    }
    static int elements_of_chunk(const Operand &o) {
        return 16 / o.type.bytes();
    }

    int sums() const override {  // a thread has pairs
        return (tile().rows * tile().columns / 2 + layout_.threads() - 1) / layout_.threads() * 2;
    }
    // ---- Arguments and the launch ----

    Kernel with_arguments(FetchedBy form) {
        Kernel k;
        k.name = program_.base.name + (form_ == FetchedBy::kEngine ? "" : "_mma");
        k.threads = {layout_.threads() + (form == FetchedBy::kEngine ? kWarp : 0), 1, 1};
        k.blocks = {program_.base.blocks[1], program_.base.blocks[0], program_.base.blocks[2]};
        k.shared_bytes = layout_.shared_bytes(form);
        k.blocks_per_multiprocessor = ", " + number(layout_.blocks());
        std::vector<Expr> all = used();
        for (const auto &p : program_.after) {
            all.push_back(p.index);
        }
        for (const auto &o : program_.operands()) {
            for (int d = 0; d < o.rank() && form != FetchedBy::kEngine; d++) {
                all.push_back(extent_of(o, d));
                if (d > 0) {
                    all.push_back(field(o.buffer, "stride", d));
                }
            }
        }
        add_scalars(k, all);
        const auto operands = program_.operands();
        const std::set<std::string> by_threads = loaded_by(used());
        for (const auto &a : program_.base.arguments) {
            const bool operand = std::any_of(operands.begin(), operands.end(), [&](const Operand &o) { return o.buffer == a.name; });
            if (a.is_buffer && (by_threads.count(a.name) || !(operand && form == FetchedBy::kEngine))) {
                k.arguments.push_back(a);
            }
        }
        for (const auto &o : operands) {
            if (form == FetchedBy::kEngine) {
                auto box = o.box;
                box[0] = is_across(o) ? layout_.line_of_b() / o.type.bytes() : elements_of_line(o.type);
                k.arguments.push_back({o.buffer + ".map", false, false, Handle(),
                                       tensor_argument(o.buffer, o.type, box, o.step, o.depth_dimension, o.end), Expr()});
            }
        }
        return k;
    }

    // ---- Text ----

    std::string text(const Kernel &k, FetchedBy form) {
        KernelPrinter out(k, print_, together_.beside_last ? Works::kBesideLast : Works::kAfterLast);
        out_ = &out;
        declare_divisors(k);
        declare_arrays(form);
        out.line("const int warp = threadIdx.x / " + number(kWarp) + ";");
        declare_coordinates();
        tile_of_block(form);
        if (together_.beside_last) {
            out.line("wait_for_last();");
        }
        return out.finish();
    }

    // The columns of tiles of all parts are numbered one after the other; parts may have different numbers of rows.
    std::string text_of(const Kernel &k, const std::vector<SkinnyKernel *> &parts) {
        KernelPrinter out(k, print_);
        out.line("const int warp = threadIdx.x / " + number(kWarp) + ";");
        std::string begin;
        for (size_t i = 0; i < parts.size(); i++) {
            SkinnyKernel &p = *parts[i];
            p.out_ = &out;
            p.declare_divisors(k);
            const std::string end = "end_" + number(int(i) + 1), y = "int(blockIdx.y)";
            const auto &blocks = p.program_.base.blocks;
            out.line("const int " + end + " = " + (i > 0 ? begin + " + " : "") + p.e(blocks[0]) + ";");
            out.open("if (" + (i > 0 ? y + " >= " + begin + " && " : "") + y + " < " + end + " && int(blockIdx.x) < " + p.e(blocks[1]) +
                     ") {");
            p.declare_arrays(form_);
            p.declare_coordinates(i > 0 ? " - " + begin : "");
            p.tile_of_block(form_);
            out.close();
            begin = end;
        }
        return out.finish();
    }

    void declare_arrays(FetchedBy form) {
        declare_array(type_text(tile().a.type), "a_tiles", 0, layout_.stages(form) * layout_.elements_a());
        declare_array(type_text(tile().b.type), "b_tiles", layout_.offset_b(form),
                      layout_.stages(form) * products() * layout_.elements_b());
        declare_array(type_text(tile().sum), "slices", 0, products() * layout_.sums_of_slices());
    }

    void tile_of_block(FetchedBy form) {
        KernelPrinter &out = *out_;
        out.line("const int steps = " + e(program_.first().extent) + ";");
        if (form == FetchedBy::kEngine) {
            fetch_and_multiply();
        } else if (form == FetchedBy::kCopies) {
            copy_and_multiply();
        } else {
            multiply_elements();
        }
        for (int i = 0; i < products(); i++) {
            out.line("give_slice<" + size() + ">(" + part(i) + ", slices" + slices_of(i) + ");");
        }
        out.line(form == FetchedBy::kEngine ? meet() : "__syncthreads();");
        for (const auto &t : program_.tiles) {
            out.declare_registers(t.accumulator, type_text(t.sum), sums());
        }
        for (const auto &p : program_.before) {
            first_value(p);
        }
        for (int i = 0; i < products(); i++) {
            out.line("add_slices<" + size() + ", " + number(layout_.threads()) + ">(" + out.name(program_.tiles[size_t(i)].accumulator) +
                     ", slices" + slices_of(i) + ");");
        }
        for (size_t i = 0; i < program_.after.size(); i++) {
            store_inside(program_.after[i], values_[i]);
        }
        if (form == FetchedBy::kEngine) {
            out.close();
        }
    }

    // Blocks that read the same columns are neighbours. The dimensions of the launch are those of blocks, so that no division stands
    // before the first fetch. `before`: columns of tiles that are others', with a minus.
    void declare_coordinates(const std::string &before = "") {
        const auto &names = program_.parts.block_names;
        const char *const of_launch[] = {"y", "x", "z"};
        for (size_t d = 0; d < names.size(); d++) {
            if (!names[d].empty()) {
                out_->line("const int " + out_->name(names[d]) + " = int(blockIdx." + of_launch[d] + ")" + (d == 0 ? before : "") + ";");
            }
        }
        declare_places();
    }

    std::string size() const {
        return number(tile().rows) + ", " + number(tile().columns);
    }
    std::string part(int product) const {
        return products() == 1 ? "part" : "part_" + number(product + 1);
    }
    std::string slices_of(int product) const {
        return product == 0 ? "" : " + " + number(product * layout_.sums_of_slices());
    }
    std::string meet() const {  // those that multiply
        return "warpgroups_barrier<" + number(layout_.threads() / kWarpgroup) + ">();";
    }

    // A warp that does nothing else fetches, `stages` steps ahead. Its first steps are under way before the other warps know of the
    // barriers. Several lanes that ask for steps are slower, and so are rows that the blocks of a cluster fetch together. It changes
    // nothing to have what is read once leave the L2 first.
    void fetch_and_multiply() {
        const std::string n = number(layout_.stages());
        declare_array("uint64_t", "full", layout_.offset_barriers(FetchedBy::kEngine), layout_.stages());
        declare_array("uint64_t", "empty", layout_.offset_barriers(FetchedBy::kEngine) + 8 * layout_.stages(), layout_.stages());
        if (!is_across(tile().b)) {
            // Lines of columns lie as far apart as the depth is long, so that blocks that went along it together would meet at few
            // channels of the memory: each begins elsewhere. Where columns are neighbours in memory, that would be slower.
            out_->line("const int turn = int((blockIdx.y * 40503u & 0xffff) * uint64_t(steps) >> 16);  // where its steps begin");
        }
        out_->open("if (threadIdx.x == " + number(layout_.threads()) + ") {");
        out_->open("for (int i = 0; i < " + n + "; i++) {");
        out_->line("barrier_init(&full[i], 1);");
        out_->line("barrier_init(&empty[i], " + number(layout_.warps()) + ");");
        out_->close();
        out_->line("barriers_ready();");
        out_->open("for (int i = 0; i < minimum(" + n + ", steps); i++) {");
        fetch_step("i");
        out_->close();
        out_->close();
        out_->line("__syncthreads();");
        out_->open("if (warp == " + number(layout_.warps()) + ") {  // the producer");
        out_->open("if (threadIdx.x == " + number(layout_.threads()) + ") {");
        out_->line("int stage = 0, phase = 0;");
        out_->open("for (int i = " + n + "; i < steps; i++) {");
        out_->line("barrier_wait(&empty[stage], phase);");
        fetch_step("stage");
        next_stage();
        out_->close();
        out_->close();
        out_->otherwise();
        declare_parts();
        out_->line("int stage = 0, phase = 0;");
        out_->open("for (int i = 0; i < steps; i++) {");
        out_->line("warp_wait(&full[stage], phase);");
        multiply("stage");
        out_->line("fence_shared();");  // what was read is read before TMA writes there
        out_->line("__syncwarp();");
        out_->open("if (threadIdx.x % " + number(kWarp) + " == 0) {");
        out_->line("barrier_arrive(&empty[stage]);");
        out_->close();
        next_stage();
        out_->close();
        out_->line(meet());
    }

    void next_stage() {
        out_->open("if (++stage == " + number(layout_.stages()) + ") {");
        out_->line("stage = 0;");
        out_->line("phase ^= 1;");
        out_->close();
    }

    // Step i of the block into a stage.
    void fetch_step(const std::string &stage) {
        const int bytes_a = layout_.elements_a() * tile().a.type.bytes(), bytes_b = layout_.elements_b() * tile().b.type.bytes();
        declare_step(is_across(tile().b) ? "i" : "(i + turn < steps ? i + turn : i + turn - steps)");
        out_->line("barrier_expect(&full[" + stage + "], " + number(bytes_a + products() * bytes_b) + ");");
        fetch_tile(tile().a, "a_tiles + " + stage + " * " + number(layout_.elements_a()), stage, tile().rows);
        for (int i = 0; i < products(); i++) {
            fetch_tile(program_.tiles[size_t(i)].b, "b_tiles + " + b_tile(stage, i), stage, tile().columns);
        }
    }

    void declare_step(const std::string &i) {
        const ProductPart &first = program_.first();
        out_->line("const int " + out_->name(first.step) + " = " + (is_const_zero(first.min) ? "" : parenthesised(first.min) + " + ") + i +
                   ";");
    }

    // In blocks of lines: neighbours are in the line, and the others one after the other.
    void fetch_tile(const Operand &o, const std::string &to, const std::string &stage, int others) {
        const int line = is_across(o) ? layout_.line_of_b() / o.type.bytes() : elements_of_line(o.type);
        const int blocks = is_across(o) ? others / line : layout_.lines(), elements = line * (is_across(o) ? tile().depth : others);
        std::string rest;
        for (int d = 1; d < o.rank(); d++) {
            rest += ", " + e(o.origin[size_t(d)]);
        }
        for (int i = 0; i < blocks; i++) {
            out_->line("tensor_load(" + to + (i ? " + " + number(i * elements) : "") + ", " + out_->name(o.buffer + ".map") + ", &full[" +
                       stage + "], " + (i ? parenthesised(o.origin[0]) + " + " + number(i * line) : e(o.origin[0])) + rest + ");");
        }
    }

    std::string b_tile(const std::string &stage, int product) const {
        const std::string start = stage + " * " + number(products() * layout_.elements_b());
        return product == 0 ? start : start + " + " + number(product * layout_.elements_b());
    }

    // Before the steps, so that nobody waits for it in the end.
    void load_early() {
        for (const auto &l : early_) {
            out_->declare_registers(l.first, type_text(l.second.type().element_of()), sums());
        }
        if (early_.empty()) {
            return;
        }
        open_elements();
        coordinates_of_element();
        for (const auto &l : early_) {
            const int lanes = l.second.type().lanes();
            const Expr element = Variable::make(Int(32), kElement);
            print(Store::make(l.first, l.second, lanes == 1 ? element : Ramp::make(element, 1, lanes), Parameter(), const_true(lanes),
                              ModulusRemainder()));
        }
        out_->close();
    }

    void declare_parts() {
        load_early();
        for (int i = 0; i < products(); i++) {
            out_->line(type_text(tile().sum) + " " + part(i) + "[" + number(layout_.sums_of_warp()) + "] = {};");
        }
    }

    void multiply(const std::string &stage) {
        out_->line("uint32_t a_part[" + number(tile().rows / 4) + "];");
        out_->line("load_slice_of_rows<" + number(tile().rows) + ">(a_part, a_tiles + " + stage + " * " + number(layout_.elements_a()) +
                   ", warp);");
        for (int i = 0; i < products(); i++) {
            const TileOfProduct &t = program_.tiles[size_t(i)];
            const std::string b = products() == 1 ? "b_part" : "b_part_" + number(i + 1);
            out_->line("uint32_t " + b + "[" + number(tile().columns / 4) + "];");
            out_->line(is_across(t.b)
                           ? "load_slice_of_columns_across<" + number(layout_.line_of_b()) + ", " + number(tile().depth) + ">(" + b +
                                 ", b_tiles + " + b_tile(stage, i) + ", warp);"
                           : "load_slice_of_columns<" + number(tile().columns) + ">(" + b + ", b_tiles + " + b_tile(stage, i) + ", warp);");
            out_->line("multiply_fragments<" + t.a.number().text() + ", " + t.b.number().text() + ">(" + part(i) + ", a_part, " + b + ");");
        }
    }

    // ---- Where the threads fetch ----

    void copy_and_multiply() {
        const std::string ahead = number(layout_.stages() - 1);
        declare_parts();
        out_->open("for (int i = 0; i < " + ahead + "; i++) {");
        copy_step("i", "i");
        out_->close();
        out_->line("int stage = 0;");
        out_->open("for (int i = 0; i < steps; i++) {");
        out_->line("copy_async_wait<" + number(layout_.stages() - 2) + ">();");
        out_->line("__syncthreads();");
        out_->line("const int later = i + " + ahead + ", behind = stage == 0 ? " + ahead + " : stage - 1;");
        copy_step("later", "behind");
        multiply("stage");
        out_->line("stage = stage == " + ahead + " ? 0 : stage + 1;");
        out_->close();
        out_->line("copy_async_wait<0>();");
        out_->line("__syncthreads();");
    }

    void copy_step(const std::string &i, const std::string &stage) {
        out_->open("if (" + i + " < steps) {");
        declare_step(i);
        copy_tiles(FetchedBy::kCopies, stage);
        out_->close();
        out_->line("copy_async_commit();");
    }

    void multiply_elements() {
        declare_parts();
        out_->open("for (int i = 0; i < steps; i++) {");
        declare_step("i");
        copy_tiles(FetchedBy::kElements, "0");
        out_->line("__syncthreads();");
        multiply("0");
        out_->line("__syncthreads();");
        out_->close();
    }

    void copy_tiles(FetchedBy form, const std::string &stage) {
        copy_tile(form, tile().a, "a_tiles + " + stage + " * " + number(layout_.elements_a()), tile().rows);
        for (int i = 0; i < products(); i++) {
            copy_tile(form, program_.tiles[size_t(i)].b, "b_tiles + " + b_tile(stage, i), tile().columns);
        }
    }

    // Puts elements where TMA would have, or chunks of 16 bytes; what lies outside is 0.
    void copy_tile(FetchedBy form, const Operand &o, const std::string &array, int others) {
        const int line = is_across(o) ? layout_.line_of_b() / o.type.bytes() : elements_of_line(o.type), chunk = elements_of_chunk(o);
        const int along = is_across(o) ? others : tile().depth;  // neighbours of the tile
        const int unit = form == FetchedBy::kElements ? 1 : chunk;
        const std::string in_row = "n % " + number(along / unit) + (unit == 1 ? "" : " * " + number(unit));
        const std::string x = out_->name(o.buffer);
        out_->open("for (int n = threadIdx.x; n < " + number(others * tile().depth / unit) + "; n += " + number(layout_.threads()) + ") {");
        out_->line("const int line = n / " + number(along / unit) + ", in_line = " + in_row + " % " + number(line) + ", block = " + in_row +
                   " / " + number(line) + ";");
        std::string at, inside;
        int lines_inside = 1;
        for (int d = 0; d < o.rank(); d++) {
            const int box = o.box[size_t(d)], step = o.step[size_t(d)];
            std::string c = parenthesised(o.origin[size_t(d)]);
            if (d == 0) {
                c += " + " + in_row;
            } else if (box > 1) {
                c += " + line / " + number(lines_inside) + " % " + number(box) + (step == 1 ? "" : " * " + number(step));
                lines_inside *= box;
            }
            const std::string name = "c" + number(d);
            out_->line("const int " + name + " = " + c + ";");
            inside += (d ? " && " : "") + name + " >= 0 && " + name + " < " + e(extent_of(o, d));
            at += d ? " + " + name + " * " + e(field(o.buffer, "stride", d)) : name;
        }
        const std::string to = array + " + ((block * " + number((is_across(o) ? tile().depth : others) * line / chunk) +
                               " + swizzled_chunk<" + number(line * o.type.bytes()) + ">(line, in_line / " + number(chunk) + ")) * " +
                               number(chunk);
        if (form == FetchedBy::kElements) {
            out_->line("(" + to + " + in_line % " + number(chunk) + "))[0] = " + inside + " ? " + x + "[" + at +
                       "] : " + type_text(o.type) + "(0.0f);");
        } else {
            out_->line("const int valid = " + inside + " ? minimum(" + e(extent_of(o, 0)) + " - c0, " + number(chunk) + ") : 0;");
            out_->line("copy_async_part(" + to + "), " + x + " + (valid > 0 ? " + at + " : 0), valid * " + number(o.type.bytes()) + ");");
        }
        out_->close();
    }

    void coordinates_of_element() override {
        const std::string pair = "(" + out_->name(kElement) + " / 2 * " + number(layout_.threads()) + " + int(threadIdx.x))",
                          across = number(tile().columns / 2);
        declare_place(pair + " / " + across, pair + " % " + across + " * 2");
    }

    const FetchedBy form_;  // of the kernel that is called where the operands are tensors
    const DependentLaunch together_;
    const SkinnyLayout layout_;
    std::vector<Expr> values_;  // of the nests after the product, with loads from early_
    std::vector<std::pair<std::string, Expr>> early_;
};

}  // namespace

bool is_skinny(const TileProgram &program) {
    return program.tile().rows <= kSkinnyRows;
}

TileKernel make_skinny_kernel(const TileProgram &program, const PrintOptions &print, bool hopper, const DependentLaunch &together) {
    return SkinnyKernel(program, print, hopper, together).make();
}

std::optional<JoinedKernel> join_skinny_kernels(const std::vector<TileProgram> &programs, const PrintOptions &print,
                                                const std::string &name, bool hopper) {
    std::vector<std::unique_ptr<SkinnyKernel>> all;
    std::vector<SkinnyKernel *> parts;
    for (const auto &p : programs) {
        all.push_back(std::make_unique<SkinnyKernel>(p, print, hopper, DependentLaunch()));
        parts.push_back(all.back().get());
    }
    return parts.front()->make_joined(parts, name);
}

}  // namespace halyard
