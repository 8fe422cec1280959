#include "wgmma.h"

#include <algorithm>
#include <set>

#include "early_loads.h"
#include "print_expr.h"
#include "tensor_argument.h"
#include "tile_kernel.h"
#include "warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// What the copy engine takes along a dimension: elements so far apart, and a box that spans so many.
constexpr int kMaxStep = 8, kMaxBox = 256;

// Who moves tiles: the copy engine both ways, the copy engine in and the threads out, or the threads.
enum class Form { kWhole, kFetching, kElements };

bool by_copy_engine(Form f) {
    return f != Form::kElements;
}

class WgmmaKernel : public EarlyLoads {
public:
    WgmmaKernel(const TileProgram &program, const PrintOptions &print)
        : EarlyLoads(program, print),
          turns_(program.asked.turns),
          warpgroups_(turns_ ? 2 : tile().rows / kRowsOfWarpgroup),
          after_(program.after) {
        for (const auto &p : program_.parts.products) {
            check_tile(*p.asked);
        }
        take_parts();
        align_pairs();
        find_early();
    }

    TileKernel make() {
        const int bytes = shared_bytes(Form::kWhole);
        if (bytes > kSharedBytesOfHopper) {
            program_.asked.fail("takes " + number(bytes) + " bytes of shared memory, and a block has " +
                                number(kSharedBytesOfHopper) + "; take fewer stages or smaller tiles");
        }
        TileKernel result;
        const Expr results = results_are_tensors();
        result.usable = operands_are_tensors() && results;
        result.whole = with_arguments(Form::kWhole);
        result.text = "\n" + text(result.whole, Form::kWhole);
        if (!is_const_one(results)) {
            result.fetches = operands_are_tensors();
            result.fetching = with_arguments(Form::kFetching);
            result.fetching.name += "_stored_by_elements";
            result.text += "\n" + text(result.fetching, Form::kFetching);
        }
        result.by_elements = with_arguments(Form::kElements);
        result.by_elements.name += "_elements";
        result.text += "\n" + text(result.by_elements, Form::kElements);
        for (const auto &t : program_.tiles) {
            result.instructions[instruction(t).name()] = instruction(t).text();
        }
        return result;
    }

private:
    int sums() const override {
        return tile().columns / 2;
    }

    static WgmmaInstruction instruction(const TileOfProduct &t) {
        return {t.a.type, t.b.type, t.columns, t.b.depth_dimension != 0, false};
    }

    void check_tile(const TensorCores &product) const {
        const int rows = tile().rows, columns = tile().columns;
        if (rows % kRowsOfWarpgroup != 0 || rows > 3 * kRowsOfWarpgroup) {
            product.fail("has tiles of " + number(rows) + " rows; take 16, 32, 64, 128 or 192");
        }
        if (turns_ && (rows != kRowsOfWarpgroup || program_.asked.cluster > 1)) {
            product.fail("has warpgroups that take turns, each with a tile of its own; take tiles of 64 rows and no cluster");
        }
        if (columns % 16 != 0 || columns * products() > 256) {
            product.fail("has tiles of " + number(columns) +
                         " columns; take a multiple of 16, up to 256 for all products of a kernel");
        }
        if (tile().depth != elements_of_line(tile().a.type)) {
            product.fail("has steps of " + number(tile().depth) + "; take " + number(elements_of_line(tile().a.type)));
        }
        const auto all = program_.operands();
        for (const auto &o : all) {
            for (int d = 0; d < o.rank(); d++) {
                if (o.step[size_t(d)] > kMaxStep || o.box[size_t(d)] * o.step[size_t(d)] > kMaxBox) {
                    product.fail("has tiles of " + number(o.box[size_t(d)]) + " elements of " + o.buffer + ", " +
                                 number(o.step[size_t(d)]) + " apart, along a dimension; they may be up to " +
                                 number(kMaxStep) + " apart, and span " + number(kMaxBox));
                }
            }
        }
    }

    // Whether a result may leave by the copy engine: a type that it has, a box of a tensor, one store for each sum. Stored by
    // the threads, a tile of 128 x 256 f32 takes 10 us, while nothing is multiplied (H200).
    bool leaves_by_copy_engine(const Pair &p) const {
        return moves_by_copy_engine(p.value.type().element_of(), tile().columns) && box_of(p).has_value();
    }

    std::optional<TensorBox> box_of(const Pair &p) const {
        return tensor_box(program_, p.stored, p.value.type().element_of(), p.index, p.rows);
    }

    // Pairs of what f reads beside the sums are loaded whole where the host finds them aligned, and so are those stored
    // that do not leave by the copy engine.
    void align_pairs() {
        const AlignmentFacts known = program_.facts();
        const auto ask = [&](Stmt &s) {
            const Expr asked = mark_aligned_vectors(s, known);
            if (asked.defined()) {
                pairs_aligned_ = pairs_aligned_.defined() ? pairs_aligned_ && asked : asked;
            }
        };
        for (auto &p : after_) {
            Stmt value = Evaluate::make(p.value);
            ask(value);
            p.value = value.as<Evaluate>()->value;
            Stmt store = Store::make(p.stored, make_zero(p.value.type()), p.index, Parameter(), const_true(2),
                                     ModulusRemainder());
            if (!leaves_by_copy_engine(p)) {
                ask(store);
            }
            alignment_.push_back(store.as<Store>()->alignment);
        }
    }

    Expr operands_are_tensors() const {
        Expr e = is_tensor(tile().a.buffer, tile().a.type, tile().a.rank());
        for (const auto &t : program_.tiles) {
            e = e && is_tensor(t.b.buffer, t.b.type, t.b.rank());
        }
        return e;
    }

    Expr results_are_tensors() const {
        Expr e = pairs_aligned_.defined() ? pairs_aligned_ : const_true();
        for (const auto &p : after_) {
            if (leaves_by_copy_engine(p)) {
                e = e && is_tensor(p.stored, p.value.type().element_of(), int(box_of(p)->origin.size()));
            }
        }
        for (const auto &t : tiles_) {
            e = e && is_tensor(t.buffer, t.type(), int(t.box.origin.size()));
        }
        return e;
    }

    // ---- Arguments and the launch ----

    Kernel with_arguments(Form form) const {
        Kernel k;
        k.name = program_.base.name;
        k.threads = {(warpgroups(form) + (by_copy_engine(form) ? 1 : 0)) * kWarpgroup, 1, 1};
        const Expr multiprocessors =
            Call::make(Int(32), "halyard_cuda_multiprocessors",
                       {Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic)}, Call::Extern);
        // A cluster has one tile: how many of them a device runs at once depends on more than its multiprocessors.
        k.cluster = cluster(form);
        k.blocks = {k.cluster > 1 ? tiles() * k.cluster : min(tiles(), multiprocessors * blocks()), 1, 1};
        k.shared_bytes = shared_bytes(form);
        k.blocks_per_multiprocessor = ", " + number(blocks());
        add_scalars(k, used_by(form));
        const std::set<std::string> by_threads = loaded(form == Form::kWhole);
        for (const auto &a : program_.base.arguments) {
            if (a.is_buffer && (by_threads.count(a.name) || !moved_by_copy_engine(a.name, form))) {
                k.arguments.push_back(a);
            }
        }
        if (by_copy_engine(form)) {
            for (const auto &o : program_.operands()) {
                auto box = o.box;
                box[0] = elements_of_line(o.type);
                k.arguments.push_back({o.buffer + ".map", false, false, Handle(),
                                       tensor_argument(o.buffer, o.type, box, o.step), Expr()});
            }
        }
        for (const auto &p : after_) {
            if (leaves(p, form)) {
                k.arguments.push_back({p.stored + ".map", false, false, Handle(),
                                       tensor_argument(p.stored, p.value.type().element_of(), box_of(p)->box), Expr()});
            }
        }
        for (const auto &t : tiles_) {
            if (form == Form::kWhole) {
                k.arguments.push_back({t.buffer + ".map.early", false, false, Handle(),
                                       tensor_argument(t.buffer, t.type(), t.box.box), Expr()});
            }
        }
        return k;
    }

    bool moved_by_copy_engine(const std::string &buffer, Form form) const {
        const auto of_result = [&](const Pair &p) { return p.stored == buffer && leaves(p, form); };
        const auto of_tile = [&](const EarlyTile &t) { return t.buffer == buffer; };
        const auto of_b = [&](const TileOfProduct &t) { return t.b.buffer == buffer; };
        const bool operand = tile().a.buffer == buffer || std::any_of(program_.tiles.begin(), program_.tiles.end(), of_b);
        return (by_copy_engine(form) && operand) || std::any_of(after_.begin(), after_.end(), of_result) ||
               (form == Form::kWhole && std::any_of(tiles_.begin(), tiles_.end(), of_tile));
    }

    bool leaves(const Pair &p, Form form) const {
        return form == Form::kWhole && leaves_by_copy_engine(p);
    }

    std::vector<Expr> used_by(Form form) const {
        std::vector<Expr> all = used();
        for (const auto &o : program_.operands()) {
            for (int d = 0; d < o.rank() && !by_copy_engine(form); d++) {
                all.push_back(field(o.buffer, "extent", d));
                if (d > 0) {
                    all.push_back(field(o.buffer, "stride", d));
                }
            }
        }
        for (const auto &p : after_) {
            if (leaves(p, form)) {
                const auto at = box_of(p)->origin;
                all.insert(all.end(), at.begin(), at.end());
            } else {
                all.push_back(p.index);
            }
        }
        for (const auto &t : tiles_) {
            if (form == Form::kWhole) {
                all.insert(all.end(), t.box.origin.begin(), t.box.origin.end());
            }
        }
        return all;
    }

    // ---- Shared memory: stages of a, stages of b, a tile of each result, tiles that the epilogue reads, barriers ----

    int bytes_a() const {
        return tile().rows * kSwizzledBytes;
    }
    int bytes_b() const {  // of one product
        return tile().columns * kSwizzledBytes;
    }
    // Those that multiply. Where they take turns, a tile has one.
    int warpgroups(Form form) const {
        return turns_ && !by_copy_engine(form) ? 1 : warpgroups_;
    }
    int cluster(Form form) const {
        return by_copy_engine(form) ? program_.asked.cluster : 1;
    }
    int stages(Form form) const {
        return by_copy_engine(form) ? program_.asked.stages : 1;
    }
    int offset_b(Form form) const {
        return stages(form) * bytes_a();
    }
    int offset_results(Form form) const {
        const int tiles = offset_b(form) + stages(form) * products() * bytes_b();
        return cluster(form) > 1 ? std::max(tiles, products() * bytes_of_sums()) : tiles;
    }
    // Which other blocks of a cluster leave where the tiles were.
    int bytes_of_sums() const {
        return tile().rows * tile().columns * 4;
    }
    int rows_of_results() const {
        return warpgroups_ * kRowsOfWarpgroup;
    }
    // Of those of the first nests that leave by the copy engine, in parts one after the other.
    int bytes_of_results(size_t nests, Form form) const {
        int bytes = 0;
        for (size_t i = 0; i < nests; i++) {
            const Pair &p = after_[i];
            bytes += leaves(p, form) ? rows_of_results() * tile().columns / parts_ * p.value.type().bytes() : 0;
        }
        return bytes;
    }
    // As few as fit, each of whole lines.
    void take_parts() {
        const auto whole = [&](const Pair &p) {
            return !leaves_by_copy_engine(p) || tile().columns % (parts_ * elements_of_line(p.value.type())) == 0;
        };
        for (parts_ = 1; parts_ * 32 <= tile().columns; parts_++) {
            if (std::all_of(after_.begin(), after_.end(), whole) && shared_bytes(Form::kWhole) <= kSharedBytesOfHopper) {
                return;
            }
        }
        parts_ = 1;
    }
    int offset_early(Form form) const {
        return offset_results(form) + bytes_of_results(after_.size(), form);
    }
    int offset_barriers(Form form) const {
        return offset_early(form) + (form == Form::kWhole ? bytes_early_ : 0);
    }
    int shared_bytes(Form form) const {
        const int early = form == Form::kWhole && !tiles_.empty() ? warpgroups_ : 0;
        return offset_barriers(form) + (by_copy_engine(form) ? 8 * (2 * program_.asked.stages + early) : 0);
    }

    // On a multiprocessor: of small tiles two, so that one multiplies while results of the other leave.
    int blocks() const {
        constexpr int kRegisters = 65536, kSharedBytes = 228 * 1024, kSharedBytesOfSystem = 1024;
        constexpr int kRegistersBesideSums = 48;  // of a thread
        const int threads = (warpgroups_ + 1) * kWarpgroup;
        const bool fit = 2 * (shared_bytes(Form::kWhole) + kSharedBytesOfSystem) <= kSharedBytes &&
                         2 * threads * (products() * sums() + kRegistersBesideSums) <= kRegisters;
        return fit ? 2 : 1;
    }

    // ---- Text ----

    std::string text(const Kernel &k, Form form) {
        KernelPrinter out(k, print_);
        out_ = &out;
        declare_array(type_text(tile().a.type), "a_tiles", 0, stages(form) * tile().rows * tile().depth);
        declare_array(type_text(tile().b.type), "b_tiles", offset_b(form),
                      stages(form) * products() * elements_b());
        out.line("const int warpgroup = threadIdx.x / " + number(kWarpgroup) + ", thread = threadIdx.x % " +
                 number(kWarpgroup) + ";");
        if (cluster(form) > 1) {
            out.line("const int rank = cluster_rank();");
        }
        if (by_copy_engine(form)) {
            declare_array("uint64_t", "full", offset_barriers(form), program_.asked.stages);
            declare_array("uint64_t", "empty", offset_barriers(form) + 8 * program_.asked.stages,
                          program_.asked.stages);
            const bool early = form == Form::kWhole && !tiles_.empty();
            if (early) {
                declare_array("uint64_t", "early_full", offset_barriers(form) + 16 * program_.asked.stages, warpgroups_);
            }
            out.open("if (threadIdx.x == 0) {");
            out.open("for (int i = 0; i < " + number(program_.asked.stages) + "; i++) {");
            out.line("barrier_init(&full[i], 1);");
            out.line("barrier_init(&empty[i], " + number(turns_ ? 1 : warpgroups_) + ");");
            out.close();
            if (early) {
                out.open("for (int i = 0; i < " + number(warpgroups_) + "; i++) {");
                out.line("barrier_init(&early_full[i], 1);");
                out.close();
            }
            out.line("barriers_ready();");
            out.close();
            out.line("__syncthreads();");
            open_producer(out, warpgroups_, blocks() == 1 ? 40 : 0);
            producer(form);
            out.otherwise();
            take_registers(out, warpgroups_, blocks() == 1 ? 232 : 0);
            consumers(form);
            out.close();
        } else {
            consumers(form);
        }
        return out.finish();
    }

    // Opens the loop over the tiles that this block takes, or this warpgroup of those that take turns, with their coordinates.
    void open_tiles(Form form, bool in_turns) {
        const std::string blocks = cluster(form) > 1 ? " / " + number(cluster(form)) : "";
        const std::string first = in_turns ? " + warpgroup * gridDim.x" : "", next = in_turns ? "2 * " : "";
        out_->open("for (int tile = blockIdx.x" + blocks + first + "; tile < across * down; tile += " + next + "gridDim.x" +
                   blocks + ") {");
        coordinates_of_tile("tile");
        declare_steps();
    }

    int elements_b() const {
        return tile().columns * tile().depth;
    }

    // Blocks of a cluster take the steps in turns.
    std::string steps_loop(Form form) {
        const ProductPart &first = program_.first();
        const std::string s = out_->name(first.step);
        const Expr end = simplify(first.min + steps());
        const bool shares = cluster(form) > 1;
        return "for (int " + s + " = " + e(first.min) + (shares ? " + rank; " : "; ") + s + " < " + e(end) + "; " + s +
               (shares ? " += " + number(cluster(form)) : "++") + ") {";
    }

    void next_stage() {
        out_->open("if (++stage == " + number(program_.asked.stages) + ") {");
        out_->line("stage = 0;");
        out_->line("phase ^= 1;");
        out_->close();
    }

    void producer(Form form) {
        out_->open("if (thread == 0) {");
        out_->line("int stage = 0, phase = 0;");
        declare_tiles_of_grid();
        open_tiles(form, false);
        out_->open(steps_loop(form));
        out_->line("barrier_wait(&empty[stage], phase ^ 1);");
        out_->line("barrier_expect(&full[stage], " + number(bytes_a() + products() * bytes_b()) + ");");
        const Operand &a = tile().a;
        out_->line("tensor_load(a_tiles + stage * " + number(tile().rows * tile().depth) + ", " +
                   out_->name(a.buffer + ".map") + ", &full[stage], " + e(a.origin[0]) + others(a) + ");");
        for (int i = 0; i < products(); i++) {
            fetch_b(program_.tiles[size_t(i)].b, "b_tiles + " + b_tile("stage", i));
        }
        next_stage();
        out_->close();
        out_->close();
        out_->close();
    }

    // Where the tile of b of a product begins, in elements.
    std::string b_tile(const std::string &stage, int product) const {
        const std::string start = stage + " * " + number(products() * elements_b());
        return product == 0 ? start : start + " + " + number(product * elements_b());
    }

    void fetch_b(const Operand &b, const std::string &to) {
        const std::string map = out_->name(b.buffer + ".map");
        if (b.depth_dimension == 0) {
            out_->line("tensor_load(" + to + ", " + map + ", &full[stage], " + e(b.origin[0]) + others(b) + ");");
            return;
        }
        out_->line("#pragma unroll");
        out_->open("for (int i = 0; i < " + number(tile().columns / 64) + "; i++) {");
        out_->line("tensor_load(" + to + " + i * " + number(64 * tile().depth) + ", " + map + ", &full[stage], " +
                   parenthesised(b.origin[0]) + " + i * 64" + others(b) + ");");
        out_->close();
    }

    // The coordinates of a tile but the first, with a comma before each.
    std::string others(const Operand &o) {
        std::string all;
        for (int d = 1; d < o.rank(); d++) {
            all += ", " + e(o.origin[size_t(d)]);
        }
        return all;
    }

    void consumers(Form form) {
        out_->line("const int lane = thread % 32, warp = thread / 32;");
        if (by_copy_engine(form)) {
            out_->line("int stage = 0, phase = 0;");
        }
        const bool in_turns = turns_ && by_copy_engine(form);
        declare_tiles_of_grid();
        if (form == Form::kWhole) {
            declare_tiles(rows_of_results());
        }
        const std::string skip = "skip_steps<" + number(program_.asked.stages) + ">(stage, phase, " + e(program_.first().extent) + ");";
        if (in_turns) {
            out_->open("if (warpgroup == 1) {");
            out_->line(skip);
            out_->line("turn_ends<2>(warpgroup);");
            out_->close();
        }
        open_tiles(form, in_turns);
        for (const auto &t : program_.tiles) {
            out_->declare_sums(t.accumulator, type_text(t.sum), t.columns / 2);
        }
        for (const auto &p : program_.before) {
            first_value(p);
        }
        if (cluster(form) > 1) {
            begin_part();
        }
        if (by_copy_engine(form)) {
            out_->line("int before = -1;  // the stage of the step before, which may still be read");
        }
        if (form == Form::kWhole) {
            prepare_tiles(program_.first().min, steps());
        }
        if (in_turns) {
            out_->line("turn_begins<2>(warpgroup);");
        }
        out_->open(steps_loop(form));
        if (by_copy_engine(form)) {
            out_->line("barrier_wait(&full[stage], phase);");
        } else {
            fetch_elements();
        }
        multiply(form);
        if (by_copy_engine(form)) {
            out_->line("wgmma_wait<1>();");
            out_->open("if (before >= 0 && thread == 0) {");
            out_->line("barrier_arrive(&empty[before]);");
            out_->close();
            out_->line("before = stage;");
            next_stage();
            if (form == Form::kWhole) {
                fetch_tiles_at(out_->name(step_name()));
            }
        } else {
            out_->line("wgmma_wait<0>();");
            out_->line("__syncthreads();");
        }
        out_->close();
        if (in_turns) {
            out_->line("turn_ends<2>(warpgroup);");
            out_->line(skip);
        }
        if (form == Form::kWhole) {
            fetch_tiles_without_steps(steps());
            load_columns();
            wait_for_tiles();
        }
        if (bytes_of_results(after_.size(), form) > 0 && (form != Form::kWhole || tiles_.empty())) {
            wait_for_result(*out_);
        }
        if (by_copy_engine(form)) {
            out_->line("wgmma_wait<0>();");
            out_->open("if (before >= 0 && thread == 0) {");
            out_->line("barrier_arrive(&empty[before]);");
            out_->close();
        }
        if (cluster(form) > 1) {
            add_parts(form);
            out_->open("if (rank == 0) {");
        }
        for (size_t i = 0; i < after_.size(); i++) {
            const Pair &p = after_[i];
            if (form != Form::kWhole) {
                store_inside(program_.after[i]);
            } else if (leaves_by_copy_engine(p)) {
                leave_by_engine(p, offset_results(form) + bytes_of_results(i, form));
            } else {
                store_pairs(p, alignment_[i]);
            }
        }
        reduce_rows({row_of_thread()}, tile().columns);
        if (cluster(form) > 1) {
            out_->close();
        }
        out_->close();
        if (in_turns) {
            out_->open("if ((across * down - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x) % 2 == warpgroup) {");
            out_->line("turn_begins<2>(warpgroup);  // the one that is left");
            out_->close();
        }
        if (bytes_of_results(after_.size(), form) > 0) {
            out_->open("if (thread == 0) {");
            out_->line("tensor_store_wait();");
            out_->close();
        }
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
    void add_parts(Form form) {
        const std::string columns = number(tile().columns), threads = number(warpgroups_ * kWarpgroup);
        const auto part = [&](int product) { return "parts + " + number(product * tile().rows * tile().columns) + ", rows"; };
        const auto each = [&](const std::string &function) {
            for (int i = 0; i < products(); i++) {
                out_->line(function + "<" + columns + ">(" + out_->name(program_.tiles[size_t(i)].accumulator) + ", " + part(i) +
                           ");");
            }
        };
        const std::string meet = "warpgroups_barrier<" + number(warpgroups_) + ">();";
        declare_array(type_text(tile().sum), "parts", 0, products() * tile().rows * tile().columns);
        out_->line("const int rows = " + e(rows_inside()) + ";");
        if (warpgroups_ > 1) {
            out_->line(meet);
        }
        each("give_sums");
        out_->line("cluster_barrier<" + threads + ">();");
        out_->open("if (rank == 0) {");
        for (int i = 0; i < products(); i++) {
            out_->line("add_parts<" + number(cluster(form)) + ", " + threads + ", " + columns + ">(" + part(i) + ");");
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

    void multiply(Form form) {
        const std::string stage = by_copy_engine(form) ? "stage" : "0";
        out_->line("wgmma_fence();");
        out_->line("const uint32_t a_start = shared_address(a_tiles + " + stage + " * " +
                   number(tile().rows * tile().depth) +
                   (turns_ ? "" : " + warpgroup * " + number(kRowsOfWarpgroup * tile().depth)) + ");");
        out_->line("const uint32_t b_start = shared_address(b_tiles + " + stage + " * " +
                   number(products() * elements_b()) + ");");
        out_->line("#pragma unroll");
        out_->open("for (int d = 0; d < " + number(tile().depth / depth_of_instruction(tile().a.type)) + "; d++) {");
        for (int i = 0; i < products(); i++) {
            const TileOfProduct &t = program_.tiles[size_t(i)];
            const std::string start = i == 0 ? "b_start" : "b_start + " + number(i * bytes_b());
            const std::string b = t.b.depth_dimension != 0 ? "matrix_descriptor(" + start + " + d * 2048, " +
                                                                 number(t.depth * kSwizzledBytes) + ", 1024)"
                                                           : "matrix_descriptor(" + start + " + d * 32, 16, 1024)";
            out_->line(instruction(t).name() + "(" + out_->name(t.accumulator) +
                       ", matrix_descriptor(a_start + d * 32, 16, 1024), " + b + ", true);");
        }
        out_->close();
        out_->line("wgmma_commit();");
    }

    // Each thread fetches elements, and puts them where the copy engine would have; what lies outside is 0.
    void fetch_elements() {
        fetch(tile().a, "a_tiles", tile().rows);
        for (int i = 0; i < products(); i++) {
            fetch(program_.tiles[size_t(i)].b, i == 0 ? "b_tiles" : "(b_tiles + " + number(i * elements_b()) + ")",
                  tile().columns);
        }
        out_->line("fence_shared();");
        out_->line("__syncthreads();");
    }

    void fetch(const Operand &o, const std::string &array, int others) {
        const bool across = o.depth_dimension != 0;  // lines run along the depth, so many others each
        const std::string of_line = number(elements_of_line(o.type)), of_chunk = number(elements_of_line(o.type) / 8);
        const std::string place = "line * " + of_line + " + ((in_line / " + of_chunk + ") ^ (line % 8)) * " + of_chunk +
                                  " + in_line % " + of_chunk + ";";
        const int elements = others * tile().depth;
        const std::string x = out_->name(o.buffer);
        out_->open("for (int i = threadIdx.x; i < " + number(elements) + "; i += " +
                   number(warpgroups(Form::kElements) * kWarpgroup) + ") {");
        coordinates_of_element_of(o, across ? others : elements_of_line(o.type));
        if (across) {
            out_->line("const int line = i / " + number(others) + ", in_line = i % " + number(others) + " % " + of_line + ";");
            out_->line("const int to = i % " + number(others) + " / " + of_line + " * " +
                       number(elements_of_line(o.type) * tile().depth) + " + " + place);
        } else {
            out_->line("const int line = i / " + of_line + ", in_line = i % " + of_line + ";");
            out_->line("const int to = " + place);
        }
        std::string inside, at;
        for (int d = 0; d < o.rank(); d++) {
            const std::string c = "c" + number(d);
            inside += (d ? " && " : "") + c + " >= 0 && " + c + " < " + e(field(o.buffer, "extent", d));
            at += d ? " + " + c + " * " + e(field(o.buffer, "stride", d)) : c;
        }
        out_->line(array + "[to] = " + inside + " ? " + x + "[" + at + "] : " + type_text(o.type) + "(0.0f);");
        out_->close();
    }

    // Of element i of a tile, whose lines have so many elements and go through its box one dimension after the other.
    void coordinates_of_element_of(const Operand &o, int line) {
        std::string text = "const int c0 = " + parenthesised(o.origin[0]) + " + i % " + number(line);
        int lines = line;  // elements of those inside
        for (int d = 1; d < o.rank(); d++) {
            const int box = o.box[size_t(d)], step = o.step[size_t(d)];
            text += ", c" + number(d) + " = " + parenthesised(o.origin[size_t(d)]);
            if (box > 1) {
                text += " + i / " + number(lines) + " % " + number(box) + (step == 1 ? "" : " * " + number(step));
            }
            lines *= box;
        }
        out_->line(text + ";");
    }

    // Pairs of a tile that is whole, and of another the elements that are inside.
    void store_pairs(const Pair &p, const ModulusRemainder &alignment) {
        out_->open("if (" + e(p.is_whole(tile().columns)) + ") {");
        open_elements();
        coordinates_of_element();
        print(Store::make(p.stored, p.value, p.index, Parameter(), const_true(2), alignment));
        out_->close();
        out_->otherwise();
        store_inside(p);
        out_->close();
    }

    void leave_by_engine(const Pair &p, int offset) {
        const Type t = p.value.type().element_of();
        const std::string name = out_->name(p.stored + ".result"), map = out_->name(p.stored + ".map");
        const int columns = tile().columns / parts_;
        const TensorBox to = *box_of(p);
        declare_result(*out_, type_text(t), name, offset, rows_of_results(), columns);
        for (int part = 0; part < parts_; part++) {
            if (part > 0) {
                wait_for_result(*out_);
            }
            Pair whole = p, inside = p;
            whole.value = with_early(p.value);
            inside.value = whole.value;
            inside.value = loaded_inside(inside, not_in_memory_);
            if (equal(whole.value, inside.value)) {
                values(whole, name, part);
            } else {
                out_->open("if (" + e(p.is_whole(tile().columns)) + ") {");
                values(whole, name, part);
                out_->otherwise();
                values(inside, name, part);
                out_->close();
            }
            send_result(*out_, map, name, across_box(to, t, part * columns, columns), rest_of_box(to), elements_of_line(t));
        }
    }

    // A part of the columns into shared memory, in the order in which the copy engine takes them.
    void values(const Pair &p, const std::string &name, int part) {
        const int first = part * sums() / parts_;
        if (p.value.type().bits() == 16) {
            matrices(p, name, first);
        } else {
            pairs(p, name, first);
        }
    }

    // A thread has sums of columns 8 j + 2 (lane % 4) and the next, in rows lane / 4 and 8 below, of the 16 rows of its warp.
    void coordinates_of_element() override {
        const std::string i = out_->name(kElement);
        declare_place(row_of_thread() + " + " + i + " / 2 % 2 * 8", i + " / 4 * 8 + lane % 4 * 2");
    }
    std::string row_of_thread() const {
        return (turns_ ? "" : "warpgroup * " + number(kRowsOfWarpgroup) + " + ") + "warp * 16 + lane / 4";
    }

    // The results of 16 columns at a time, by stmatrix.
    void matrices(const Pair &p, const std::string &name, int begin) {
        const std::string pairs = p.stored + ".pairs";
        const std::string type = type_text(p.value.type().element_of()), from = begin ? number(begin) + " + first" : "first";
        out_->line("#pragma unroll");
        out_->open("for (int first = 0; first < " + number(sums() / parts_) + "; first += 8) {");
        out_->declare_registers(pairs, "alignas(16) " + type, 8);
        open_elements(from, from + " + 8");
        coordinates_of_element();
        Stmt store = Store::make(pairs, p.value, Ramp::make(Variable::make(Int(32), kElement) % 8, 1, 2), Parameter(),
                                 const_true(2), ModulusRemainder());
        print(store);
        out_->close();
        if (is_read_in_place(p)) {
            out_->line("__syncwarp();  // each lane has read its elements, where others store");
        }
        store_columns(*out_, out_->name(pairs), name);
        out_->close();
    }

    bool is_read_in_place(const Pair &p) const {
        return std::any_of(tiles_.begin(), tiles_.end(),
                           [&](const EarlyTile &t) { return t.in_place && t.pair->stored == p.stored; });
    }

    // Those of 8 or 32 bits two columns at a time: stmatrix has 16 bytes of a row where a thread has two elements of eight.
    void pairs(const Pair &p, const std::string &name, int begin) {
        const std::string pair = p.stored + ".pair", col = out_->name(kCol);
        const Type t = p.value.type().element_of();
        const int line = elements_of_line(t), chunk = line / 8, columns = tile().columns / parts_;
        open_elements(number(begin), number(begin + sums() / parts_));
        coordinates_of_element();
        out_->declare_registers(pair, type_text(t), 2);
        print(Store::make(pair, p.value, Ramp::make(0, 1, 2), Parameter(), const_true(2), ModulusRemainder()));
        out_->line("const int line = " + out_->name(kRow) + " % " + number(kRowsOfWarpgroup) + ", in_line = " + col + " % " +
                   number(line) + ";");
        out_->line("store(" + name + " + (" + col + " % " + number(columns) + " / " + number(line) + " * " +
                   number(line * kRowsOfWarpgroup) + " + line * " + number(line) + " + ((in_line / " + number(chunk) +
                   ") ^ (line % 8)) * " + number(chunk) + " + in_line % " + number(chunk) + "), load_registers<2>(" +
                   out_->name(pair) + "));");
        out_->close();
    }

    // What the nests that leave by the copy engine load early: tiles where there is room for them in shared memory, columns as far
    // as there are registers beside the sums.
    void find_early() {
        not_in_memory_ = program_.accumulators;
        if (cluster(Form::kWhole) > 1) {
            return;
        }
        std::set<std::string> known = program_.accumulators;  // and what the kernel stores
        std::vector<const Pair *> leaving;
        for (const auto &p : after_) {
            known.insert(p.stored);
            if (leaves_by_copy_engine(p)) {
                leaving.push_back(&p);
            }
        }
        const int blocks_before = blocks();
        for (auto &t : find_tiles(leaving, known)) {
            place_tile(t, blocks_before);
        }
        constexpr int kBesides = 40;  // registers of a thread for all else
        const int registers = blocks() == 2 ? 85 : warpgroups_ == 3 ? 160 : 232;
        const size_t most = size_t(std::max(registers - kBesides - products() * sums(), 0) / (sums() / 4));
        columns_ = find_columns(leaving, known);
        columns_.resize(std::min(columns_.size(), most));
        for (const auto &l : columns_) {
            not_in_memory_.insert(l.name);
        }
        for (const auto &t : tiles_) {
            not_in_memory_.insert(t.name);
        }
    }

    // Where the result leaves from that it is read for: each thread reads an element before it puts the result there. Else behind
    // the results.
    void place_tile(EarlyTile &t, int blocks_before) {
        const size_t pair = size_t(t.pair - after_.data());
        const bool taken = std::any_of(tiles_.begin(), tiles_.end(), [&](const EarlyTile &o) { return o.pair == t.pair; });
        t.in_place = parts_ == 1 && t.users == 1 && !taken && t.type().bytes() == t.pair->value.type().bytes();
        const int bytes = t.in_place ? 0 : rows_of_results() * tile().columns * t.type().bytes();
        t.offset = t.in_place ? offset_results(Form::kWhole) + bytes_of_results(pair, Form::kWhole)
                              : offset_early(Form::kWhole) + bytes_early_;
        tiles_.push_back(t);
        bytes_early_ += bytes;
        if (shared_bytes(Form::kWhole) > kSharedBytesOfHopper || blocks() < blocks_before) {
            bytes_early_ -= bytes;
            tiles_.pop_back();
        }
    }

    const bool turns_;  // two warpgroups, with a tile each
    const int warpgroups_;
    int bytes_early_ = 0;  // of tiles that have a place of their own
    std::set<std::string> not_in_memory_;  // the sums, and what was loaded early
    int parts_ = 1;  // in which results leave: as many as shared memory makes necessary
    std::vector<Pair> after_;  // with the alignment of what they load
    std::vector<ModulusRemainder> alignment_;  // of what they store
    Expr pairs_aligned_;
};

}  // namespace

TileKernel make_wgmma_kernel(const TileProgram &program, const PrintOptions &print) {
    return WgmmaKernel(program, print).make();
}

}  // namespace halyard
