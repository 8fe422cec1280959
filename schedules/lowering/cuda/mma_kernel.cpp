#include <algorithm>
#include <set>

#include "print_expr.h"
#include "tensor_argument.h"
#include "tile_kernel.h"
#include "tile_text.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kWarp = 32;             // threads
constexpr int kRowsOfFragment = 16;   // of an instruction, as are the columns of a b of four registers
constexpr int kBytesOfStage = 64;     // of the depth: stage_depth of ampere.h
constexpr int kChunk = 16;            // bytes that are copied at once
constexpr int kChunksOfBlock = 256;   // 64 columns that are neighbours, of a stage
constexpr int kSumsOfThread = 128;    // at most, beside two sets of fragments
constexpr int kThreadsOfBlock = 512;
constexpr int kRegisters = 65536;     // of a multiprocessor
// Of shared memory a block of sm_86, sm_89 and sm_120 has so much, and all blocks of a multiprocessor of sm_80.
constexpr int kSharedOfBlock = 99 * 1024, kSharedOfMultiprocessor = 163 * 1024;

// How the warps of a block divide a tile.
struct Warps {
    int down = 0, across = 0;

    int threads() const {
        return down * across * kWarp;
    }
};

// How much is read of shared memory for each step of the depth: rows by all warps across, columns by all down.
int reads(const Warps &w, int rows, int columns) {
    return w.across * rows + w.down * columns;
}

// The layout that reads least, with as many warps for each of the four parts of a multiprocessor.
Warps lay_out(int rows, int columns, int products) {
    Warps best;
    for (int down = 1; down * kRowsOfFragment <= rows; down++) {
        for (int across = 1; across * kRowsOfFragment <= columns; across++) {
            const Warps w{down, across};
            const bool whole = rows % (down * kRowsOfFragment) == 0 && columns % (across * kRowsOfFragment) == 0;
            const bool fits = w.threads() <= kThreadsOfBlock && down * across % 4 == 0 &&
                              rows * columns * products <= kSumsOfThread * w.threads();
            const int all = columns * products;
            if (whole && fits && (best.down == 0 || reads(w, rows, all) < reads(best, rows, all))) {
                best = w;
            }
        }
    }
    return best;
}

// A nest that uses the sums.
struct Result {
    Pair pair;  // with the alignment of what it loads
    int lanes = 2;  // that are stored at once
    ModulusRemainder alignment;
};

class MmaKernel : public TileText {
public:
    MmaKernel(const TileProgram &program, const PrintOptions &print)
        : TileText(program, print),
          warps_(lay_out(tile().rows, tile().columns, products())) {
        const TensorCores &asked = program_.asked;
        if (warps_.down == 0) {
            asked.fail("has tiles of " + number(tile().rows) + " rows and " + number(tile().columns) +
                       " columns, which cannot be divided among warps; take multiples of 32, with up to " +
                       number(kSumsOfThread * kThreadsOfBlock) + " sums of all products");
        }
        if (tile().depth % depth_of_stage() != 0) {
            asked.fail("has steps of " + number(tile().depth) + "; take " + number(depth_of_stage()) + " or " +
                       number(2 * depth_of_stage()));
        }
        rows_ = tile().rows / warps_.down;
        columns_ = tile().columns / warps_.across;
        // Sums, two sets of fragments, and what addresses take.
        const int fragments = rows_ / 4 + products() * columns_ / 4;
        const int registers = products() * sums() + 2 * fragments + 60;
        blocks_ = std::clamp(kRegisters / (warps_.threads() * registers), 1, 2);
        const int room = std::min(kSharedOfBlock, kSharedOfMultiprocessor / blocks_);
        stages_ = std::min(asked.stages * slices_of_step(), room / stage_bytes());
        if (stages_ < 2) {
            asked.fail("takes " + number(2 * stage_bytes()) + " bytes of shared memory for two stages, of " +
                       number(room) + "; take smaller tiles");
        }
        align();
    }

    TileKernel make() {
        TileKernel result;
        result.usable = usable_;
        result.whole = with_arguments();
        result.by_elements = result.whole;
        result.by_elements.name += "_elements";
        result.text = "\n" + text(result.whole, false) + "\n" + text(result.by_elements, true);
        return result;
    }

private:
    int sums() const override {
        return rows_ * columns_ / kWarp;
    }
    // A stage has a slice of the depth of a step.
    int depth_of_stage() const {
        return kBytesOfStage / tile().a.type.bytes();
    }
    int slices_of_step() const {
        return tile().depth / depth_of_stage();
    }
    int elements_a() const {
        return tile().rows * depth_of_stage();
    }
    int elements_b() const {  // of one product
        return tile().columns * depth_of_stage();
    }
    int stage_bytes() const {
        return (elements_a() + products() * elements_b()) * tile().a.type.bytes();
    }
    static bool across(const Operand &o) {
        return o.depth_dimension != 0;
    }

    // ---- What the host asks ----

    // Chunks of an operand begin at multiples of 16 bytes, and so do the pairs of f at theirs.
    void align() {
        usable_ = const_true();
        for (const auto &o : program_.operands()) {
            usable_ = usable_ && aligned(o);
        }
        for (const auto &p : program_.after) {
            Result r{p, lanes_at_once(p), ModulusRemainder()};
            Stmt value = Evaluate::make(p.value);
            ask(value, 2);
            r.pair.value = value.as<Evaluate>()->value;
            Stmt store = Store::make(p.stored, make_zero(p.value.type().with_lanes(r.lanes)), index(r), Parameter(),
                                     const_true(r.lanes), ModulusRemainder());
            ask(store, r.lanes);
            r.alignment = store.as<Store>()->alignment;
            after_.push_back(r);
        }
        usable_ = simplify(usable_);
    }

    void ask(Stmt &s, int multiple_of_col) {
        AlignmentFacts known = program_.facts();
        known.multiples[kCol] = multiple_of_col;
        const Expr asked = mark_aligned_vectors(s, known);
        usable_ = asked.defined() ? usable_ && asked : usable_;
    }

    // Four neighbours of 16 bits, two of two lanes, fill 32 bytes of a row with those of the next lanes.
    int lanes_at_once(const Pair &p) const {
        const auto *ramp = p.index.as<Ramp>();
        const bool four = ramp && is_const_one(ramp->stride) && linear(ramp->base).factor_of(kCol) == 1 &&
                          !linear(ramp->base).hides(kCol) && p.value.type().is_float() && p.value.type().bits() == 16;
        return four ? 4 : 2;
    }

    static Expr index(const Result &r) {
        return r.lanes == 2 ? r.pair.index : Ramp::make(r.pair.index.as<Ramp>()->base, 1, 4);
    }

    Expr aligned(const Operand &o) const {
        const Linear at = linear(o.origin[0]);
        Linear rest = at;
        const int chunk = kChunk / o.type.bytes();
        rest.terms.clear();
        for (const auto &t : at.terms) {
            if (t.factor % chunk != 0) {
                rest.terms.push_back(t);
            }
        }
        FreeVariables free;
        rest.expr().accept(&free);
        const auto &blocks = program_.parts.block_names;
        for (const auto &v : free.types) {
            if (v.first == step_name() || std::count(blocks.begin(), blocks.end(), v.first)) {
                return const_false();
            }
        }
        Expr all = address_on_host(o.buffer) % make_const(UInt(64), kChunk) == make_zero(UInt(64)) &&
                   rest.expr() % chunk == 0;
        for (int d = 1; d < o.rank(); d++) {
            const Expr whole = field_on_host(o.buffer, Call::buffer_get_stride, d) % chunk == 0;
            // A dimension of one has no stride that matters.
            all = all && (o.rank() == 2 ? whole : whole || field_on_host(o.buffer, Call::buffer_get_extent, d) == 1);
        }
        return all;
    }

    Kernel with_arguments() const {
        Kernel k;
        k.name = program_.base.name + "_mma";
        k.threads = {warps_.threads(), 1, 1};
        k.blocks = {tiles(), 1, 1};
        k.shared_bytes = std::max(stages_ * stage_bytes(), int(program_.rows.size()) * bytes_of_reduction());
        k.blocks_per_multiprocessor = ", " + number(blocks_);
        std::vector<Expr> all = used();
        for (const auto &o : program_.operands()) {
            for (int d = 0; d < o.rank(); d++) {
                all.push_back(field(o.buffer, "extent", d));
                if (d > 0) {
                    all.push_back(field(o.buffer, "stride", d));
                }
            }
        }
        for (const auto &p : program_.after) {
            all.push_back(p.index);
        }
        add_scalars(k, all);
        for (const auto &a : program_.base.arguments) {
            if (a.is_buffer) {
                k.arguments.push_back(a);
            }
        }
        return k;
    }

    // ---- Text ----

    std::string text(const Kernel &k, bool by_elements) {
        KernelPrinter out(k, print_);
        out_ = &out;
        declare_array(type_text(tile().a.type), "a_tiles", 0, stages_ * elements_a());
        declare_array(type_text(tile().b.type), "b_tiles", stages_ * elements_a() * tile().a.type.bytes(),
                      stages_ * products() * elements_b());
        out.line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
        out.line("const int warp_row = warp / " + number(warps_.across) + " * " + number(rows_) +
                 ", warp_col = warp % " + number(warps_.across) + " * " + number(columns_) +
                 ";  // its part of the tile");
        declare_tiles_of_grid();
        coordinates_of_tile("int(blockIdx.x)");
        declare_steps();
        declare_matrices();
        for (const auto &t : program_.tiles) {
            out.declare_registers(t.accumulator, type_text(t.sum), sums());
        }
        for (const auto &p : program_.before) {
            first_value(p);
        }
        sum_up(by_elements);
        for (const auto &r : after_) {
            store(r, by_elements);
        }
        reduce_rows();
        return out.finish();
    }

    // Warps that have parts of the same rows give them each other in shared memory, in place of the stages, each reduction in
    // its own.
    void reduce_rows() {
        RowsOfThread rows = {"warp_row + lane / 4", row_parts(), "warp_col"};
        std::map<std::string, int> places;
        rows.across_warps = [&](const std::string &array, const Type &t, const Combine &combine) {
            const std::string parts = out_->name(array + ".of_warps"), type = type_text(t);
            const std::string line = out_->name(kChainHeldRow), row = "warp_row + lane / 4 + " + line + " * 8";
            const int place = places.emplace(array, int(places.size())).first->second;
            declare_array(type, parts, place * bytes_of_reduction(), warps_.across * tile().rows);
            open_lines();
            out_->open("if (lane % 4 == 0) {");
            out_->line(parts + "[warp % " + number(warps_.across) + " * " + number(tile().rows) + " + " + row + "] = " +
                       out_->name(array) + "[" + line + "];");
            out_->close();
            out_->close();
            out_->line("__syncthreads();");
            open_lines();
            const Expr at = Variable::make(Int(32), kChainHeldRow);
            for (int i = 0; i < warps_.across; i++) {
                const std::string part = array + ".of_" + number(i);
                out_->line("const " + type + " " + out_->name(part) + " = " + parts + "[" + number(i * tile().rows) + " + " +
                           row + "];");
                const Expr value = Variable::make(t, part);
                out_->print(ChainNests::store_of(
                    array, i == 0 ? value : combine(ChainNests::held_at(array, t, at), value), at));
            }
            out_->close();
        };
        if (warps_.across == 1) {
            rows.across_warps = nullptr;
        } else if (!program_.rows.empty()) {
            out_->line("__syncthreads();");
        }
        TileText::reduce_rows(rows, columns_, warps_.across > 1 ? "warp_col == 0" : "");
    }

    int bytes_of_reduction() const {
        return warps_.across * tile().rows * 8;
    }

    void open_lines() {
        const std::string line = out_->name(kChainHeldRow);
        out_->line("#pragma unroll");
        out_->open("for (int " + line + " = 0; " + line + " < " + number(2 * row_parts()) + "; " + line + "++) {");
    }

    void declare_matrices() {
        std::set<std::string> declared;
        for (const auto &o : program_.operands()) {
            if (!declared.insert(o.buffer).second) {
                continue;
            }
            if (is_box(o)) {
                declare_tensor(o);
            } else {
                out_->line("const matrix<" + type_text(o.type) + "> " + out_->name(o.buffer + ".matrix") + " = {" +
                           out_->name(o.buffer) + ", " + e(field(o.buffer, "stride", 1)) + ", " +
                           e(field(o.buffer, "extent", 0)) + ", " + e(field(o.buffer, "extent", 1)) + "};");
            }
        }
    }

    // Whether a tile is more than rows of a matrix.
    static bool is_box(const Operand &o) {
        return o.rank() > 2 || o.step[1] != 1;
    }

    void declare_tensor(const Operand &o) {
        const std::string rank = number(o.rank()), name = out_->name(o.buffer + ".tensor");
        std::string strides = "1", extents = e(field(o.buffer, "extent", 0)), box, step;
        for (int d = 1; d < o.rank(); d++) {
            strides += ", " + e(field(o.buffer, "stride", d));
            extents += ", " + e(field(o.buffer, "extent", d));
        }
        for (int d = 0; d < o.rank(); d++) {
            // A stage has a slice of the depth.
            const int lines = d == o.depth_dimension ? depth_of_stage() : o.box[size_t(d)];
            box += (d ? ", " : "") + number(lines);
            step += (d ? ", " : "") + number(o.step[size_t(d)]);
        }
        out_->line("const tensor<" + type_text(o.type) + ", " + rank + "> " + name + " = {" + out_->name(o.buffer) +
                   ", {" + strides + "}, {" + extents + "}};");
        out_->line("constexpr tensor_box<" + rank + "> " + out_->name(o.buffer + ".box") + " = {{" + box + "}, {" +
                   step + "}};");
    }

    // While one half of a stage is multiplied, the next comes into registers, and a later stage into shared memory: before
    // the products of each 16 rows a part of both, so that warps do not wait with nothing to multiply.
    //
    // H200, bf16, 4096^3: 303 us, where the products alone take 287; the loads of a half before all of its products, and
    // addresses computed anew for each copy, 396. The same by hand: 297; in stages twice as deep 299, two tiles of 128 x 128
    // on a multiprocessor 309 to 316, and with mbarriers in place of __syncthreads, so that warps may be apart, 328 to 341.
    void sum_up(bool by_elements) {
        const std::string ahead = number(stages_ - 1);
        const bool by_chunks = !by_elements && has_chunks();
        out_->line("const int slices = " + parenthesised(steps()) + " * " + number(slices_of_step()) +
                   ";  // of the depth, a stage each");
        out_->open("for (int slice = 0; slice < " + ahead + "; slice++) {");
        fetch("slice", "slice", by_elements);
        commit(by_elements);
        out_->close();
        if (by_chunks) {
            declare_chunks();
        }
        arrive(by_elements);
        out_->line("uint32_t a_part[2][" + number(rows_ / 4) + "], b_part[2][" + number(products()) + "][" +
                   number(columns_ / 4) + "];");
        define_load_part();
        out_->line("int stage = 0;");
        out_->line("#pragma unroll");
        out_->open("for (int part = 0; part < " + number(parts()) + "; part++) {");
        out_->line("load_part(part, 0, stage);");
        out_->close();
        out_->line("int slice = 0;");
        if (by_chunks) {
            // A loop of their own: in one with the others, what these ask was computed for all of them (377 us for 300).
            out_->open("for (; slice + " + ahead + " < slices_inside; slice++) {");
            multiply_slice(by_elements, true);
            out_->close();
        }
        out_->open("for (; slice < slices; slice++) {");
        multiply_slice(by_elements, false);
        out_->close();
        if (!by_elements) {
            out_->line("copy_async_wait<0>();");
        }
    }

    void multiply_slice(bool by_elements, bool by_chunks) {
        const std::string last = number(stages_ - 1);
        out_->line("const int next = slice + " + last + ", behind = stage == 0 ? " + last +
                   " : stage - 1;  // a later slice, where the one before was");
        if (by_chunks) {
            define_fetch_part();
        } else {
            fetch("next", "behind", by_elements);
        }
        multiply(0, by_chunks);
        commit(by_elements);
        arrive(by_elements);
        out_->line("stage = stage == " + last + " ? 0 : stage + 1;");
        multiply(1, false);
    }

    // ---- Parts of a stage: one for each 16 rows of a warp, of all products ----

    int row_parts() const {
        return rows_ / kRowsOfFragment;
    }
    int parts() const {
        return products() * row_parts();
    }

    void define_load_part() {
        const std::string a = type_text(tile().a.type), parts = number(row_parts()),
                          fragments = number(columns_ / kRowsOfFragment);
        out_->line("const int a_place = place_of_rows<" + a + ">(warp_row);");
        for (int i = 0; i < products(); i++) {
            const Operand &b = program_.tiles[size_t(i)].b;
            const std::string type = type_text(b.type);
            if (across(b)) {
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
        out_->line("const place_in_shared<" + a + "> a_stage = a_tiles + stage * " + number(elements_a()) + ";");
        out_->open("if (part < " + parts + ") {");
        out_->line("load_matrices(a_part[half_of_depth] + part * 4, a_stage + place_along_depth<" + a +
                   ">(a_place, part, half_of_depth));");
        out_->close();
        for (int i = 0; i < products(); i++) {
            const Operand &b = program_.tiles[size_t(i)].b;
            const std::string type = type_text(b.type);
            out_->open("if (part / " + parts + " == " + number(i) + ") {");
            out_->line("const place_in_shared<" + type + "> b_stage = b_tiles + " + "(" + b_tile("stage", i) + ")" + ";");
            out_->line("#pragma unroll");
            out_->open("for (int j = part % " + parts + " * " + fragments + " / " + parts + "; j < (part % " + parts +
                       " + 1) * " + fragments + " / " + parts + "; j++) {");
            const std::string place = across(b) ? "place_across_columns<" + type + ">(" + b_place(i) + "[j], half_of_depth)"
                                                : "place_along_depth<" + type + ">(" + b_place(i) + ", j, half_of_depth)";
            out_->line(std::string(across(b) ? "load_matrices_across" : "load_matrices") + "(b_part[half_of_depth][" +
                       number(i) + "] + j * 4, b_stage + " + place + ");");
            out_->close();
            out_->close();
        }
        out_->close("};");
    }

    static std::string b_place(int product) {
        return "b_place_" + number(product + 1);
    }

    // Where tiles are whole, threads fetch chunks whose places they found once.
    bool has_chunks() const {
        const Expr step = Variable::make(Int(32), step_name());
        const auto operands = program_.operands();
        for (size_t i = 0; i < operands.size(); i++) {
            const Operand &o = operands[i];
            const bool regular = lines_of(i) * kBytesOfStage / kChunk % warps_.threads() == 0 &&
                                 (kChunksOfBlock % warps_.threads() == 0 || warps_.threads() % kChunksOfBlock == 0);
            if (is_box(o) || !regular) {
                return false;
            }
            for (int d = 0; d < o.rank(); d++) {
                const Expr &at = o.origin[size_t(d)];
                const int moved = d == o.depth_dimension ? tile().depth : 0;
                if (!can_prove(simplify(substitute(step_name(), step + 1, at) - at) == moved)) {
                    return false;
                }
            }
        }
        return true;
    }

    static std::string chunk_type(const Operand &o, int lines) {
        return (across(o) ? "chunk_across_columns<" : "chunk_along_depth<") + number(lines) + ">";
    }
    static std::string chunks_name(size_t operand) {
        return operand == 0 ? "a_chunks" : "b_chunks_" + number(int(operand));
    }
    int lines_of(size_t operand) const {
        return operand == 0 ? tile().rows : tile().columns;
    }
    int chunks_of_thread(size_t operand) const {  // of a stage
        return lines_of(operand) * kBytesOfStage / kChunk / warps_.threads();
    }

    void declare_chunks() {
        const auto operands = program_.operands();
        std::string inside = "slices";
        for (size_t i = 0; i < operands.size(); i++) {
            const Operand &o = operands[i];
            const std::string matrix = out_->name(o.buffer + ".matrix"), depth = number(depth_of_stage()),
                              lines = number(lines_of(i));
            std::string at;
            for (const auto &c : o.origin) {
                at += ", " + e(simplify(substitute(step_name(), program_.first().min, c)));
            }
            out_->line("const chunks_of_thread<" + chunk_type(o, lines_of(i)) + ", " + number(warps_.threads()) + ", " +
                       type_text(o.type) + "> " + chunks_name(i) + "(" + matrix + at + ");");
            inside = "minimum(" + inside + ", tiles_inside<" + (across(o) ? "1" : "0") + ">(" + matrix + at + ", " +
                     (across(o) ? lines + ", " + depth : depth + ", " + lines) + "))";
        }
        out_->line("const int slices_inside = " + inside + ";  // of which tiles are whole");
    }

    void define_fetch_part() {
        const auto operands = program_.operands();
        int all = 0;
        for (size_t i = 0; i < operands.size(); i++) {
            all += chunks_of_thread(i);
        }
        const std::string at_once = number((all + parts() - 1) / parts());
        out_->open("const auto fetch_part = [&](int part) {");
        out_->line("#pragma unroll");
        out_->open("for (int i = part * " + at_once + "; i < (part + 1) * " + at_once + "; i++) {");
        int first = 0;
        for (size_t i = 0; i < operands.size(); i++) {
            const Operand &o = operands[i];
            const int end = first + chunks_of_thread(i);
            const std::string tile = i == 0 ? "a_tiles + behind * " + number(elements_a())
                                            : "b_tiles + " + b_tile("behind", int(i) - 1),
                              further = "next * " + number(depth_of_stage()) +
                                        (across(o) ? " * " + e(field(o.buffer, "stride", 1)) : "");
            out_->open("if (i >= " + number(first) + " && i < " + number(end) + ") {");
            out_->line(chunks_name(i) + ".fetch(i - " + number(first) + ", " + tile + ", " + further + ");");
            out_->close();
            first = end;
        }
        out_->close();
        out_->close("};");
    }

    void multiply(int half, bool fetches) {
        const std::string h = "[" + number(half) + "]";
        for (int i = 0; i < products(); i++) {
            const TileOfProduct &t = program_.tiles[size_t(i)];
            out_->open("multiply_fragments<" + type_text(t.a.type) + ", " + type_text(t.b.type) + ">(" +
                       out_->name(t.accumulator) + ", a_part" + h + ", b_part" + h + "[" + number(i) + "], [&](int i) {");
            const std::string part = i == 0 ? "i" : number(i * row_parts()) + " + i";
            out_->line("load_part(" + part + ", " + number(1 - half) + ", stage);");
            if (fetches) {
                out_->line("fetch_part(" + part + ");");
            }
            out_->close("});");
        }
    }

    // ---- Fetches of whole stages, of which any part may lie outside ----

    void fetch(const std::string &slice, const std::string &stage, bool by_elements) {
        const ProductPart &first = program_.first();
        const std::string n = number(slices_of_step());
        const std::string from = is_const_zero(first.min) ? "" : parenthesised(first.min) + " + ";
        out_->line("const int " + out_->name(first.step) + " = " + from + slice + " / " + n + ", depth = " + slice + " % " + n + " * " + number(depth_of_stage()) + ";");
        fetch_tile(tile().a, tile().rows, "a_tiles + " + stage + " * " + number(elements_a()), by_elements);
        for (int i = 0; i < products(); i++) {
            fetch_tile(program_.tiles[size_t(i)].b, tile().columns, "b_tiles + " + b_tile(stage, i), by_elements);
        }
    }

    void commit(bool by_elements) {
        if (!by_elements) {
            out_->line("copy_async_commit();");
        }
    }

    void fetch_tile(const Operand &o, int others, const std::string &to, bool by_elements) {
        const std::string chunk = chunk_type(o, others);
        std::string at;
        for (int d = 0; d < o.rank(); d++) {
            const Expr &origin = o.origin[size_t(d)];
            at += ", " + (d == o.depth_dimension ? parenthesised(origin) + " + depth" : e(origin));
        }
        const std::string from = is_box(o) ? out_->name(o.buffer + ".tensor") + ", " + out_->name(o.buffer + ".box") +
                                                 ", {" + at.substr(2) + "}" :
                                             out_->name(o.buffer + ".matrix") + at;
        out_->line(std::string(by_elements ? "fetch_elements<" : "fetch<") + chunk + ", " + number(warps_.threads()) +
                   ">(" + to + ", " + from + ");");
    }

    // Where the tile of b of a product begins, in elements.
    std::string b_tile(const std::string &stage, int product) const {
        const std::string start = stage + " * " + number(products() * elements_b());
        return product == 0 ? start : start + " + " + number(product * elements_b());
    }

    // The stage after the current one has arrived, for all threads.
    void arrive(bool by_elements) {
        if (!by_elements) {
            out_->line("copy_async_wait<" + number(stages_ - 2) + ">();");
        }
        out_->line("__syncthreads();");
    }

    void coordinates_of_element() override {
        const std::string i = out_->name(kElement), of_rows = number(columns_ / 2);  // sums of 16 rows
        coordinates(i + " / " + of_rows + " * 16 + " + i + " / 2 % 2 * 8",
                    i + " % " + of_rows + " / 4 * 8 + lane % 4 * 2");
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
        const std::string pairs = p.stored + ".pairs", of_rows = number(columns_ / 2);
        out_->line("#pragma unroll");
        out_->open("for (int first = 0; first < " + number(sums()) + "; first += 8) {");
        out_->declare_registers(pairs, type_text(p.value.type().element_of()), 8);
        open_elements("first", "first + 8");
        coordinates_of_element();
        print(Store::make(pairs, p.value, Ramp::make(Variable::make(Int(32), kElement) % 8, 1, 2), Parameter(),
                                const_true(2), ModulusRemainder()));
        out_->close();
        out_->line("exchange_pairs(" + out_->name(pairs) + ");");
        out_->line("#pragma unroll");
        const std::string below = out_->name("below");
        out_->open("for (int " + below + " = 0; " + below + " < 2; " + below + "++) {");
        coordinates("first / " + of_rows + " * 16 + " + below + " * 8",
                    "first % " + of_rows + " / 4 * 8 + lane % 2 * 8 + lane % 4 / 2 * 4");
        const Expr four = Load::make(p.value.type().with_lanes(4), pairs,
                                     Ramp::make(Variable::make(Int(32), "below") * 4, 1, 4), Buffer<>(), Parameter(),
                                     const_true(4), ModulusRemainder());
        print(Store::make(p.stored, four, index(r), Parameter(), const_true(4), r.alignment));
        out_->close();
        out_->close();
    }

    std::vector<Result> after_;
    const Warps warps_;
    int rows_ = 0, columns_ = 0;  // of a warp
    int blocks_ = 1;              // on a multiprocessor
    int stages_ = 0;
    Expr usable_;
};

}  // namespace

TileKernel make_mma_kernel(const TileProgram &program, const PrintOptions &print) {
    return MmaKernel(program, print).make();
}

}  // namespace halyard
