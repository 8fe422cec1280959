#include "chain_kernel.h"

#include <algorithm>

#include "chain_algebra.h"
#include "coordinates.h"
#include "print_expr.h"
#include "tensor_argument.h"
#include "wgmma.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kWarpgroup = 128;  // threads
constexpr int kRowsOfWarpgroup = 64;
constexpr int kSwizzledBytes = 128;  // across, of a block of shared memory
constexpr int kAcross = 64;          // elements in them
constexpr int kSharedBytes = 227 * 1024;

std::string number(int n) {
    return std::to_string(n);
}

std::string in_parentheses(const std::string &s) {
    return "(" + s + ")";
}

int panels(int n) {
    return (n + kAcross - 1) / kAcross;
}

class FreeVariables : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Variable *op) override {
        types[op->name] = op->type;
    }

public:
    std::map<std::string, Type> types;
};

class LoadedBuffers : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Load *op) override {
        names.insert(op->name);
        IRGraphVisitor::visit(op);
    }

public:
    std::set<std::string> names;
};

class MakeChainKernel {
public:
    MakeChainKernel(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host,
                    const Strides &strides, const PrintOptions &print)
        : base_(kernel),
          strides_(strides),
          print_(print),
          parts_(read_chain(kernel, products, host, strides)) {
        rewrite_chain(parts_);
        check();
        warpgroups_ = parts_.rows / kRowsOfWarpgroup;
        drop_zeros();
        sort_nests();
    }

    TileKernel make() {
        if (shared_bytes(true) > kSharedBytes) {
            fail("takes " + number(shared_bytes(true)) + " bytes of shared memory, and a block has " +
                 number(kSharedBytes) + "; take fewer stages or smaller tiles");
        }
        TileKernel result;
        result.usable = usable();
        result.by_copy_engine = with_arguments(true);
        result.by_elements = with_arguments(false);
        result.by_elements.name += "_elements";
        for (const auto &i : {first_instruction(), second_instruction()}) {
            result.instructions[i.name()] = i.text();
        }
        result.text = "\n" + text(result.by_copy_engine, true) + "\n" + text(result.by_elements, false);
        return result;
    }

private:
    [[noreturn]] void fail(const std::string &message) const {
        parts_.first_asked->fail(message);
        throw CompileError(message);
    }

    const TileOfProduct &first() const {
        return parts_.first;
    }
    const TileOfProduct &second() const {
        return parts_.second;
    }

    WgmmaInstruction first_instruction() const {
        return {first().a.type, first().columns, first().b.depth_dimension != 0, false};
    }
    WgmmaInstruction second_instruction() const {
        return {second().b.type, second().columns, second().b.depth_dimension != 0, true};
    }

    void check() const {
        const auto is_16 = [](const Type &t) { return t.is_float() && t.bits() == 16; };
        for (const auto *t : {&first(), &second()}) {
            if (t->a.type != t->b.type || !is_16(t->a.type)) {
                std::ostringstream s;
                s << "there are tensor cores for float16 by float16 and bfloat16 by bfloat16, not for " << t->a.type
                  << " by " << t->b.type;
                fail(s.str());
            }
            if (t->columns % 16 != 0 || t->columns > 256 || t->depth % 16 != 0) {
                fail("has a tile of " + number(t->columns) + " columns, " + number(t->depth) +
                     " deep; take multiples of 16, and up to 256 columns");
            }
        }
        if (parts_.rows % kRowsOfWarpgroup != 0 || parts_.rows > 3 * kRowsOfWarpgroup) {
            fail("has tiles of " + number(parts_.rows) + " rows; take 64, 128 or 192");
        }
        if (first().a.depth_dimension != 0 || first().b.depth_dimension != 0) {
            fail("reads operands by columns; the rows of both have to be neighbours along the depth");
        }
        if (second().b.other_dimension != 0) {
            fail("reads the second operand by columns; its rows have to be neighbours across");
        }
        for (const auto *o : {&first().a, &first().b, &second().b}) {
            if (o->rank() < 2 || o->rank() > 4 || o->depth_dimension + o->other_dimension != 1) {
                fail("reads " + o->buffer + ", of which a tile is not in its first two dimensions, of 2 to 4");
            }
        }
        if (first().a.counts.defined() || first().b.counts.defined()) {
            fail("reads an operand of the first product under a condition");
        }
        for (const auto &c : first().a.origin) {
            if (expr_uses_var(c, parts_.step)) {
                fail("reads other rows of " + first().a.buffer + " in each step");
            }
        }
    }

    // The first product begins with what it multiplies first, and needs no zeros.
    void drop_zeros() {
        auto &nests = parts_.between;
        const auto zero = std::find_if(nests.begin(), nests.end(), [&](const ChainNest &n) {
            return n.assignments.size() == 1 && n.assignments[0].stored == first().accumulator;
        });
        if (zero == nests.end() || !is_const_zero(zero->assignments[0].value)) {
            fail("does not begin with sums of 0 in each step");
        }
        nests.erase(zero);
    }

    // What the second product works on is left alone until that of the step before has ended.
    void sort_nests() {
        for (const auto &n : parts_.between) {
            bool wait = false;
            for (const auto &a : n.assignments) {
                wait = wait || a.stored == second().accumulator || a.stored == second().a.buffer;
                for (const auto &w : waiting_) {
                    for (const auto &b : w.assignments) {
                        wait = wait || held_in(b.value).count(a.stored) || held_in(a.value).count(b.stored);
                    }
                }
            }
            (wait ? waiting_ : meanwhile_).push_back(n);
        }
    }

    // ---- Arguments and the launch ----

    std::vector<const Operand *> operands() const {
        return {&first().a, &first().b, &second().b};
    }

    // The results, in the order of their nests.
    std::vector<const Assignment *> results() const {
        std::vector<const Assignment *> all;
        for (const auto &n : parts_.after) {
            for (const auto &a : n.assignments) {
                if (a.index.defined()) {
                    all.push_back(&a);
                }
            }
        }
        return all;
    }

    // Where a tile of a result begins, where it leaves by the copy engine: 16 bits, a tile of the accumulator's columns.
    std::optional<std::vector<Expr>> tensor_of(const Assignment &a) const {
        const Type t = a.value.type();
        if (!t.is_float() || t.bits() != 16 || second().columns % kAcross != 0) {
            return std::nullopt;
        }
        const auto own = strides_.find(a.stored);
        const Expr index = substitute_in_all_lets(expand(a.index, parts_.lets));
        FreeVariables free;
        index.accept(&free);
        std::set<std::string> names;
        for (const auto &v : free.types) {
            names.insert(v.first);
        }
        auto all = own == strides_.end() ? coordinates(index, a.stored, rank_of(names, a.stored))
                                         : coordinates(index, a.stored, int(own->second.size()), own->second);
        if (!all || all->size() < 2 || all->size() > 4) {
            return std::nullopt;
        }
        const char *loops[] = {kChainColumn, kChainRow};
        for (size_t d = 0; d < all->size(); d++) {
            Expr &c = (*all)[d];
            for (size_t l = 0; l < 2; l++) {
                const bool here = d == l;
                if (here ? linear(c).factor_of(loops[l]) != 1 : expr_uses_var(c, loops[l])) {
                    return std::nullopt;
                }
            }
            c = simplify(substitute({{kChainColumn, 0}, {kChainRow, 0}}, c));
        }
        return all;
    }

    std::vector<int> box(const Operand &o, int across, int down) const {
        std::vector<int> b(size_t(o.rank()), 1);
        b[0] = across;
        b[1] = down;
        return b;
    }

    static int rows_of(const TileOfProduct &t, bool is_a) {
        return is_a ? t.rows : t.b.depth_dimension == 0 ? t.columns : t.depth;
    }

    Expr usable() const {
        Expr e = const_true();
        for (const auto *o : operands()) {
            e = e && is_tensor(o->buffer, o->type, o->rank());
        }
        for (const auto *r : results()) {
            if (const auto at = tensor_of(*r)) {
                e = e && is_tensor(r->stored, r->value.type(), int(at->size()));
            }
        }
        return e;
    }

    static Expr field(const std::string &buffer, const char *what, int dimension) {
        return Variable::make(Int(32), buffer + "." + what + "." + number(dimension));
    }

    Kernel with_arguments(bool by_copy_engine) const {
        Kernel k;
        k.name = base_.name;
        k.threads = {(warpgroups_ + (by_copy_engine ? 1 : 0)) * kWarpgroup, 1, 1};
        const Expr tiles = base_.blocks[0] * base_.blocks[1] * base_.blocks[2];
        k.blocks = {min(tiles, Call::make(Int(32), "halyard_cuda_multiprocessors",
                                          {Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic)},
                                          Call::Extern)),
                    1, 1};
        k.shared_bytes = shared_bytes(by_copy_engine);
        k.blocks_per_multiprocessor = ", 1";

        FreeVariables free;
        LoadedBuffers loaded;
        for (const Expr &e : used(by_copy_engine)) {
            e.accept(&free);
            e.accept(&loaded);
        }
        std::set<std::string> local = {kChainRow, kChainColumn, kChainElement, kChainHeldRow, kOperandDepth, parts_.step};
        local.insert(parts_.block_names.begin(), parts_.block_names.end());
        for (const auto &[name, type] : free.types) {
            if (!local.count(name) && name.find(".buffer") == std::string::npos) {
                k.arguments.push_back({name, false, false, type, Expr(), of_host(name)});
            }
        }
        std::set<std::string> needed = loaded.names;
        if (!by_copy_engine) {
            for (const auto *o : operands()) {
                needed.insert(o->buffer);
            }
        }
        for (const auto *r : results()) {
            if (!by_copy_engine || !tensor_of(*r)) {
                needed.insert(r->stored);
            }
        }
        for (const auto &a : base_.arguments) {
            if (a.is_buffer && needed.count(a.name)) {
                k.arguments.push_back(a);
            }
        }
        if (!by_copy_engine) {
            return k;
        }
        const auto tensor = [&](const Operand &o, int rows) {
            k.arguments.push_back({o.buffer + ".map", false, false, Handle(),
                                   tensor_argument(o.buffer, o.type, box(o, kAcross, rows)), Expr()});
        };
        tensor(first().a, parts_.rows);
        tensor(first().b, rows_of(first(), false));
        tensor(second().b, rows_of(second(), false));
        for (const auto *r : results()) {
            if (const auto at = tensor_of(*r)) {
                std::vector<int> b(at->size(), 1);
                b[0] = kAcross;
                b[1] = kRowsOfWarpgroup;
                k.arguments.push_back({r->stored + ".map", false, false, Handle(),
                                       tensor_argument(r->stored, r->value.type(), b), Expr()});
            }
        }
        return k;
    }

    // Of operands that the pipeline allocates, Halide has no variables for their fields.
    Expr of_host(const std::string &name) const {
        for (const auto *o : operands()) {
            for (int d = 0; d < o->rank(); d++) {
                if (name == o->buffer + ".extent." + number(d)) {
                    return field_on_host(o->buffer, Call::buffer_get_extent, d);
                }
                if (name == o->buffer + ".stride." + number(d)) {
                    return field_on_host(o->buffer, Call::buffer_get_stride, d);
                }
            }
        }
        return Expr();
    }

    std::vector<Expr> used(bool by_copy_engine) const {
        std::vector<Expr> all = {base_.blocks[0], base_.blocks[1], base_.blocks[2], parts_.first_step, parts_.steps};
        for (const auto *o : operands()) {
            all.insert(all.end(), o->origin.begin(), o->origin.end());
            if (o->counts.defined()) {
                all.push_back(o->counts);
            }
            for (int d = 0; d < o->rank() && !by_copy_engine; d++) {
                if (d < 2) {
                    all.push_back(field(o->buffer, "extent", d));
                }
                if (d > 0) {
                    all.push_back(field(o->buffer, "stride", d));
                }
            }
        }
        all.insert(all.end(), parts_.promises.begin(), parts_.promises.end());
        for (const auto *list : {&parts_.before, &parts_.between, &parts_.after}) {
            for (const auto &n : *list) {
                if (n.row_extent.defined()) {
                    all.push_back(n.row_extent);
                }
                for (const auto &a : n.assignments) {
                    all.push_back(a.value);
                    if (a.index.defined()) {
                        const auto at = by_copy_engine ? tensor_of(a) : std::nullopt;
                        if (at) {
                            all.insert(all.end(), at->begin(), at->end());
                        } else {
                            all.push_back(a.index);
                        }
                    }
                }
            }
        }
        return all;
    }

    // ---- Shared memory: the rows' tile, stages of both other operands, results on their way out, barriers ----

    int elements_a() const {
        return parts_.rows * panels(first().depth) * kAcross;
    }
    int elements_b() const {
        return first().columns * panels(first().depth) * kAcross;
    }
    int elements_c() const {
        return second().depth * panels(second().columns) * kAcross;
    }
    int stages(bool by_copy_engine) const {
        return by_copy_engine ? parts_.first_asked->stages : 1;
    }
    int results_by_engine() const {
        const auto all = results();
        return int(std::count_if(all.begin(), all.end(), [&](const Assignment *a) { return tensor_of(*a).has_value(); }));
    }
    int offset_b() const {
        return elements_a() * 2;
    }
    int offset_c(bool by_copy_engine) const {
        return offset_b() + stages(by_copy_engine) * elements_b() * 2;
    }
    int offset_results(bool by_copy_engine) const {
        return offset_c(by_copy_engine) + stages(by_copy_engine) * elements_c() * 2;
    }
    int offset_barriers(bool by_copy_engine) const {
        return offset_results(by_copy_engine) +
               (by_copy_engine ? results_by_engine() * parts_.rows * second().columns * 2 : 0);
    }
    int shared_bytes(bool by_copy_engine) const {
        return offset_barriers(by_copy_engine) + (by_copy_engine ? 8 * (2 + 4 * stages(true)) : 0);
    }

    // ---- Text ----

    std::string text(const Kernel &k, bool by_copy_engine) {
        KernelPrinter out(k, print_);
        out_ = &out;
        const std::string type = type_text(first().a.type);
        int offset = offset_barriers(true);
        const auto array = [&](const std::string &t, const std::string &name, int at, int n) {
            out.line("const shared<" + t + "> " + name + " = shared_array<" + t + ">(" + number(at) + ", " + number(n) +
                     ");");
        };
        const auto barriers = [&](const std::string &name, int n) {
            array("uint64_t", name, offset, n);
            offset += 8 * n;
        };
        const int s = stages(by_copy_engine);
        array(type, "a_tile", 0, elements_a());
        array(type, "b_tiles", offset_b(), s * elements_b());
        array(type, "c_tiles", offset_c(by_copy_engine), s * elements_c());
        out.line("const int warpgroup = threadIdx.x / " + number(kWarpgroup) + ", thread = threadIdx.x % " +
                 number(kWarpgroup) + ";");
        if (!by_copy_engine) {
            consumers(false);
            return out.finish();
        }
        barriers("a_full", 1);
        barriers("a_empty", 1);
        for (const char *name : {"b_full", "b_empty", "c_full", "c_empty"}) {
            barriers(name, s);
        }
        out.open("if (threadIdx.x == 0) {");
        out.line("barrier_init(&a_full[0], 1);");
        out.line("barrier_init(&a_empty[0], " + number(warpgroups_) + ");");
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
        out.open("if (warpgroup == " + number(warpgroups_) + ") {  // the producer");
        // Of 65536 registers; with one warpgroup beside the producer each thread has as many as there are.
        if (warpgroups_ > 1) {
            out.line("registers_less<" + number(warpgroups_ == 3 ? 32 : 24) + ">();");
        }
        producer();
        out.otherwise();
        if (warpgroups_ > 1) {
            out.line("registers_more<" + number(warpgroups_ == 3 ? 160 : 240) + ">();");
        }
        consumers(true);
        out.close();
        return out.finish();
    }

    std::string e(const Expr &x) {
        return out_->expr(x);
    }

    std::string block_name(int dimension) const {
        return parts_.block_names[size_t(dimension)];
    }

    // The tiles that this block takes. The last along the first dimension come first: under a causal mask they have the
    // most steps, and what begins last should be short.
    void open_tiles() {
        out_->line("const int across = " + in_parentheses(e(base_.blocks[0])) + ", down = " +
                   in_parentheses(e(base_.blocks[1])) + ", tiles = across * down * " +
                   in_parentheses(e(base_.blocks[2])) + ";");
        out_->open("for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {");
        const std::string places[] = {"across - 1 - tile % across", "tile / across % down", "tile / across / down"};
        for (int d = 0; d < 3; d++) {
            if (!block_name(d).empty()) {
                out_->line("const int " + out_->name(block_name(d)) + " = " + places[d] + ";");
            }
        }
        out_->line("const int first_step = " + e(parts_.first_step) + ", end = first_step + maximum(" +
                   e(parts_.steps) + ", 0);");
    }

    void open_steps(const std::string &from) {
        const std::string s = out_->name(parts_.step);
        out_->open("for (int " + s + " = " + from + "; " + s + " < end; " + s + "++) {");
    }

    void expect_promises() {
        for (const auto &p : parts_.promises) {
            out_->line("expect(" + e(p) + ");");
        }
    }

    // Panels of 64 elements across, `rows` long, one after the other.
    void load(const Operand &o, const std::string &to, const std::string &barrier, int columns, int rows) {
        const std::string map = out_->name(o.buffer + ".map");
        std::string rest;
        for (int d = 1; d < o.rank(); d++) {
            rest += ", " + e(o.origin[size_t(d)]);
        }
        out_->line("barrier_expect(&" + barrier + ", " + number(panels(columns) * rows * kSwizzledBytes) + ");");
        for (int p = 0; p < panels(columns); p++) {
            const Expr c0 = simplify(o.origin[0] + p * kAcross);
            out_->line("tensor_load(" + to + (p ? " + " + number(p * rows * kAcross) : "") + ", " + map + ", &" +
                       barrier + ", " + e(c0) + rest + ");");
        }
    }

    void next_stage() {
        out_->open("if (++stage == " + number(stages(true)) + ") {");
        out_->line("stage = 0;");
        out_->line("phase ^= 1;");
        out_->close();
    }

    void producer() {
        out_->open("if (thread == 0) {");
        out_->line("int stage = 0, phase = 0, turn = 0;");
        open_tiles();
        out_->line("barrier_wait(&a_empty[0], turn ^ 1);");
        load(first().a, "a_tile", "a_full[0]", first().depth, parts_.rows);
        out_->line("turn ^= 1;");
        open_steps("first_step");
        expect_promises();
        out_->line("barrier_wait(&b_empty[stage], phase ^ 1);");
        load(first().b, "b_tiles + stage * " + number(elements_b()), "b_full[stage]", first().depth, first().columns);
        out_->line("barrier_wait(&c_empty[stage], phase ^ 1);");
        load(second().b, "c_tiles + stage * " + number(elements_c()), "c_full[stage]", second().columns,
             second().depth);
        next_stage();
        out_->close();
        out_->close();
        out_->close();
    }

    void declare_held() {
        std::set<std::string> declared;
        const auto sums = [&](const TileOfProduct &t) {
            out_->declare_sums(t.accumulator, t.columns / 2);
            declared.insert(t.accumulator);
        };
        sums(first());
        sums(second());
        for (const auto &[name, held] : parts_.held) {
            if (declared.count(name) || held.columns < 0) {
                continue;
            }
            const bool operand = name == second().a.buffer;
            out_->declare_registers(name, (operand ? "alignas(16) " : "") + type_text(held.type),
                                    held.columns == 0 ? 2 : held.columns / 2);
        }
    }

    void consumers(bool by_copy_engine) {
        out_->line("const int lane = thread % 32, warp = thread / 32;");
        if (by_copy_engine) {
            out_->line("int stage = 0, phase = 0, turn = 0;");
        }
        open_tiles();
        declare_held();
        nests(parts_.before, false);
        multiply_first();
        multiply_second();
        between();
        if (by_copy_engine && second().b.counts.defined()) {
            clear_what_does_not_count();
        }
        if (by_copy_engine) {
            steps_by_copy_engine();
        } else {
            steps_by_elements();
        }
        int result = 0;
        for (const auto &n : parts_.after) {
            store_nest(n, by_copy_engine, result);
        }
        out_->close();
        if (by_copy_engine && results_by_engine() > 0) {
            out_->open("if (thread == 0) {");
            out_->line("tensor_store_wait();");
            out_->close();
        }
    }

    void arrive(const std::string &barrier) {
        out_->open("if (thread == 0) {");
        out_->line("barrier_arrive(&" + barrier + ");");
        out_->close();
    }

    void steps_by_copy_engine() {
        const std::string step = out_->name(parts_.step), s = number(stages(true));
        out_->line("barrier_wait(&a_full[0], turn);");
        out_->line("turn ^= 1;");
        out_->open("if (first_step < end) {");
        out_->line("barrier_wait(&b_full[stage], phase);");
        out_->line("multiply_first(stage);");
        out_->line("wgmma_wait<0>();");
        arrive("b_empty[stage]");
        out_->open("{");
        out_->line("const int " + step + " = first_step;");
        out_->line("between(" + step + ");");
        nests(waiting_, false);
        out_->close();
        out_->close();
        open_steps("first_step + 1");
        out_->line("const int next = stage + 1 == " + s + " ? 0 : stage + 1;");
        out_->line("const int next_phase = phase ^ (next == 0);");
        out_->line("barrier_wait(&b_full[next], next_phase);");
        out_->line("multiply_first(next);");
        start_second(step + " - 1");
        out_->line("wgmma_wait<1>();");
        arrive("b_empty[next]");
        out_->line("between(" + step + ");  // while the second product is under way");
        out_->line("wgmma_wait<0>();");
        arrive("c_empty[stage]");
        nests(waiting_, false);
        out_->line("stage = next;");
        out_->line("phase = next_phase;");
        out_->close();
        arrive("a_empty[0]");
        out_->open("if (first_step < end) {");
        start_second("end - 1");
        out_->line("wgmma_wait<0>();");
        arrive("c_empty[stage]");
        next_stage();
        out_->close();
    }

    void start_second(const std::string &step) {
        out_->line("barrier_wait(&c_full[stage], phase);");
        if (second().b.counts.defined()) {
            out_->line("clear(stage, " + step + ");");
        }
        out_->line("multiply_second(stage);");
    }

    void steps_by_elements() {
        const std::string step = out_->name(parts_.step);
        fetch(first().a, "a_tile", first().depth, parts_.rows);
        open_steps("first_step");
        expect_promises();
        fetch(first().b, "b_tiles", first().depth, first().columns);
        fetch(second().b, "c_tiles", second().columns, second().depth);
        out_->line("fence_shared();");
        out_->line("__syncthreads();");
        out_->line("multiply_first(0);");
        out_->line("wgmma_wait<0>();");
        out_->line("between(" + step + ");");
        nests(waiting_, false);
        out_->line("multiply_second(0);");
        out_->line("wgmma_wait<0>();");
        out_->line("__syncthreads();");
        out_->close();
        out_->line("__syncthreads();  // before the next tile is fetched");
    }

    // ---- Products ----

    void multiply_first() {
        out_->open("const auto multiply_first = [&](int stage) {");
        out_->line("wgmma_fence();");
        out_->line("const uint32_t a_start = shared_address(a_tile + warpgroup * " +
                   number(kRowsOfWarpgroup * kAcross) + ");");
        out_->line("const uint32_t b_start = shared_address(b_tiles + stage * " + number(elements_b()) + ");");
        out_->line("#pragma unroll");
        out_->open("for (int d = 0; d < " + number(first().depth / 16) + "; d++) {");
        const auto start = [&](const std::string &name, int rows) {
            const std::string at = panels(first().depth) == 1
                                       ? name + " + d * 32"
                                       : name + " + d / 4 * " + number(rows * kSwizzledBytes) + " + d % 4 * 32";
            return "matrix_descriptor(" + at + ", 16, 1024)";
        };
        out_->line(first_instruction().name() + "(" + out_->name(first().accumulator) + ", " +
                   start("a_start", parts_.rows) + ", " + start("b_start", first().columns) + ", d > 0);");
        out_->close();
        out_->line("wgmma_commit();");
        out_->close("};");
    }

    void multiply_second() {
        out_->open("const auto multiply_second = [&](int stage) {");
        out_->line("wgmma_fence();");
        out_->line("const uint32_t c_start = shared_address(c_tiles + stage * " + number(elements_c()) + ");");
        out_->line("#pragma unroll");
        out_->open("for (int d = 0; d < " + number(second().depth / 16) + "; d++) {");
        out_->line(second_instruction().name() + "(" + out_->name(second().accumulator) +
                   ", reinterpret_cast<const uint32_t *>(" + out_->name(second().a.buffer) +
                   ") + d * 4, matrix_descriptor(c_start + d * 2048, " + number(second().depth * kSwizzledBytes) +
                   ", 1024), true);");
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
        out_->open("for (int i = threadIdx.x; i < " + number(elements_c()) + "; i += " +
                   number(warpgroups_ * kWarpgroup) + ") {");
        out_->line("const int " + depth + " = i / 64 % " + number(rows) + ";");
        out_->open("if (!" + in_parentheses(e(second().b.counts)) + ") {");
        out_->line("c_tiles[stage * " + number(elements_c()) + " + i] = " + type_text(second().b.type) + "(0.0f);");
        out_->close();
        out_->close();
        out_->line("fence_shared();");
        out_->line("warpgroups_barrier<" + number(warpgroups_) + ">();");
        out_->close("};");
    }

    // What is computed of a step while its second product waits; without conditions where none of the tile can fail.
    void between() {
        const std::string step = out_->name(parts_.step);
        out_->open("const auto between = [&](int " + step + ") {");
        std::vector<ChainNest> plain;
        const Expr whole = without_selects(meanwhile_, parts_.rows, &plain);
        if (whole.defined()) {
            out_->open("if (" + e(whole) + ") {");
            nests(plain, false);
            out_->otherwise();
            nests(meanwhile_, false);
            out_->close();
        } else {
            nests(meanwhile_, false);
        }
        out_->close("};");
    }

    // Each thread fetches elements, and puts them where the copy engine would have; what lies outside is 0.
    void fetch(const Operand &o, const std::string &array, int columns, int rows) {
        const int across = panels(columns) * kAcross;
        out_->open("for (int i = threadIdx.x; i < " + number(across * rows) + "; i += " +
                   number(warpgroups_ * kWarpgroup) + ") {");
        out_->line("const int x = i % " + number(across) + ", line = i / " + number(across) + ";");
        out_->line("const int c0 = " + in_parentheses(e(o.origin[0])) + " + x, c1 = " +
                   in_parentheses(e(o.origin[1])) + " + line;");
        std::string at = "c0 + c1 * " + e(field(o.buffer, "stride", 1));
        for (int d = 2; d < o.rank(); d++) {
            at += " + " + in_parentheses(e(o.origin[size_t(d)])) + " * " + e(field(o.buffer, "stride", d));
        }
        out_->line("const int to = x / 64 * " + number(rows * kAcross) +
                   " + line * 64 + ((x / 8 % 8) ^ (line % 8)) * 8 + x % 8;");
        out_->line(array + "[to] = c0 >= 0 && c0 < " + e(field(o.buffer, "extent", 0)) + " && c1 >= 0 && c1 < " +
                   e(field(o.buffer, "extent", 1)) + (o.counts.defined() ? " && " + counts_at(o, "line") : "") + " ? " + out_->name(o.buffer) + "[" + at + "] : " +
                   type_text(o.type) + "(0.0f);");
        out_->close();
    }

    std::string counts_at(const Operand &o, const std::string &depth) {
        return in_parentheses(e(substitute(kOperandDepth, Variable::make(Int(32), depth), o.counts)));
    }

    // ---- Nests ----

    void nests(const std::vector<ChainNest> &list, bool store) {
        for (const auto &n : list) {
            nest(n, store);
        }
    }

    void open_rows() {
        const std::string line = out_->name(kChainHeldRow);
        out_->line("#pragma unroll");
        out_->open("for (int " + line + " = 0; " + line + " < 2; " + line + "++) {");
    }

    void row_of_line() {
        out_->line("const int " + out_->name(kChainRow) + " = warpgroup * 64 + warp * 16 + lane / 4 + " +
                   out_->name(kChainHeldRow) + " * 8;");
    }

    // Opens the loop over the elements of a tile that a thread has: columns 8 j + 2 (lane % 4) and the next, in rows
    // lane / 4 and 8 below, of the 16 rows of its warp.
    void open_elements(int columns, const std::vector<Expr> &reads) {
        const std::string i = out_->name(kChainElement), line = out_->name(kChainHeldRow);
        out_->line("#pragma unroll");
        out_->open("for (int " + i + " = 0; " + i + " < " + number(columns / 2) + "; " + i + " += 2) {");
        coordinates_of_element(reads);
    }

    void coordinates_of_element(const std::vector<Expr> &reads) {
        const std::string i = out_->name(kChainElement);
        const auto uses = [&](const char *name) {
            return std::any_of(reads.begin(), reads.end(), [&](const Expr &x) { return expr_uses_var(x, name); });
        };
        if (uses(kChainHeldRow)) {
            out_->line("const int " + out_->name(kChainHeldRow) + " = " + i + " / 2 % 2;");
        }
        if (uses(kChainRow)) {
            out_->line("const int " + out_->name(kChainRow) + " = warpgroup * 64 + warp * 16 + lane / 4 + " + i +
                       " / 2 % 2 * 8;");
        }
        if (uses(kChainColumn)) {
            out_->line("const int " + out_->name(kChainColumn) + " = " + i + " / 4 * 8 + lane % 4 * 2;");
        }
    }

    static Stmt store_of(const std::string &name, const Expr &value, const Expr &index) {
        return Store::make(name, value, index, Parameter(), const_true(value.type().lanes()), ModulusRemainder());
    }

    void nest(const ChainNest &n, bool) {
        std::vector<Expr> reads;
        for (const auto &a : n.assignments) {
            reads.push_back(a.value);
        }
        const Expr line = Variable::make(Int(32), kChainHeldRow);
        if (n.kind == ChainNest::kRows) {
            open_rows();
            if (std::any_of(reads.begin(), reads.end(), [](const Expr &x) { return expr_uses_var(x, kChainRow); })) {
                row_of_line();
            }
            if (n.assignments.size() == 1) {
                out_->print(store_of(n.assignments[0].stored, n.assignments[0].value, line));
            } else {
                // All at once: none sees what another becomes.
                Stmt stores;
                for (size_t i = n.assignments.size(); i-- > 0;) {
                    const auto &a = n.assignments[i];
                    const Stmt s = store_of(a.stored, Variable::make(a.value.type(), a.stored + ".next"), line);
                    stores = stores.defined() ? Block::make(s, stores) : s;
                }
                for (size_t i = n.assignments.size(); i-- > 0;) {
                    stores = LetStmt::make(n.assignments[i].stored + ".next", n.assignments[i].value, stores);
                }
                out_->print(stores);
            }
            out_->close();
            return;
        }
        if (n.kind == ChainNest::kReduction) {
            reduction(n, reads);
            return;
        }
        open_elements(n.columns, reads);
        for (const auto &a : n.assignments) {
            out_->print(store_of(a.stored, pair(a.value), Ramp::make(Variable::make(Int(32), kChainElement), 1, 2)));
        }
        out_->close();
    }

    // A thread's own columns first, then those of the four lanes that share a row.
    void reduction(const ChainNest &n, const std::vector<Expr> &reads) {
        const Assignment &a = n.assignments[0];
        const std::string part = a.stored + ".part";
        const Type t = a.value.type();
        const Expr line = Variable::make(Int(32), kChainHeldRow);
        const auto held = [&](const std::string &name, const Expr &at) {
            return Load::make(t, name, at, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
        };
        const auto combine = [&](const Expr &x, const Expr &y) {
            return n.reduction == ChainNest::kSum ? x + y : n.reduction == ChainNest::kMax ? max(x, y) : min(x, y);
        };
        const Expr nothing = n.reduction == ChainNest::kSum ? make_zero(t)
                             : n.reduction == ChainNest::kMax ? t.min()
                                                              : t.max();
        out_->open("{");
        out_->declare_registers(part, type_text(t), 2);
        open_rows();
        out_->print(store_of(part, nothing, line));
        out_->close();
        std::vector<Expr> all = reads;
        all.push_back(line);
        open_elements(n.columns, all);
        for (int lane = 0; lane < 2; lane++) {
            out_->print(store_of(part, combine(held(part, line), shifted(a.value, lane)), line));
        }
        out_->close();
        open_rows();
        const std::string p = out_->name(part) + "[" + out_->name(kChainHeldRow) + "]";
        for (int with : {1, 2}) {
            const std::string other = part + ".of_" + number(with);
            out_->line("const " + type_text(t) + " " + out_->name(other) + " = __shfl_xor_sync(0xffffffff, " + p +
                       ", " + number(with) + ");");
            out_->print(store_of(part, combine(held(part, line), Variable::make(t, other)), line));
        }
        out_->print(store_of(a.stored, combine(held(a.stored, line), held(part, line)), line));
        out_->close();
        out_->close();
    }

    // The value of the pair's column 0 or 1.
    static Expr shifted(const Expr &value, int lane) {
        const Expr column = Variable::make(Int(32), kChainColumn), element = Variable::make(Int(32), kChainElement);
        return lane == 0 ? value
                         : simplify(substitute({{kChainColumn, column + 1}, {kChainElement, element + 1}}, value));
    }

    // Of columns col and col + 1.
    Expr pair(const Expr &value) const {
        const Expr lane = Variable::make(Int(32), "fragment_lane");
        const Expr column = Variable::make(Int(32), kChainColumn), element = Variable::make(Int(32), kChainElement);
        const Stmt loop = For::make(
            "fragment_lane", 0, 2, ForType::Vectorized, Partition::Never, DeviceAPI::None,
            Evaluate::make(substitute({{kChainColumn, column + lane}, {kChainElement, element + lane}}, value)));
        const Stmt vector = simplify(vectorize_loops(loop, {}));
        const auto *evaluate = vector.as<Evaluate>();
        if (!evaluate) {
            fail("has a value that cannot be computed two columns at a time");
        }
        return evaluate->value.type().is_scalar() ? Broadcast::make(evaluate->value, 2) : evaluate->value;
    }

    // ---- Results ----

    void store_nest(const ChainNest &n, bool by_copy_engine, int &result) {
        const bool stores = std::any_of(n.assignments.begin(), n.assignments.end(),
                                        [](const Assignment &a) { return a.index.defined(); });
        if (!stores) {
            nest(n, false);
            return;
        }
        for (const auto &a : n.assignments) {
            const auto at = by_copy_engine ? tensor_of(a) : std::nullopt;
            if (at) {
                leave_by_copy_engine(n, a, *at, result++);
            } else {
                store_elements(n, a);
            }
        }
    }

    void store_elements(const ChainNest &n, const Assignment &a) {
        const Expr row = Variable::make(Int(32), kChainRow);
        if (n.kind == ChainNest::kRows) {
            open_rows();
            row_of_line();
            out_->open("if (lane % 4 == 0 && " + e(row < n.row_extent) + ") {");
            out_->print(store_of(a.stored, a.value, a.index));
            out_->close();
            out_->close();
            return;
        }
        open_elements(n.columns, {a.value, a.index, row, n.row_extent});
        out_->open("if (" + e(row < n.row_extent) + ") {");
        for (int lane = 0; lane < 2; lane++) {
            out_->print(store_of(a.stored, shifted(a.value, lane), shifted(a.index, lane)));
        }
        out_->close();
        out_->close();
    }

    // Through shared memory: stmatrix puts 16 columns at a time into the order in which the copy engine takes them.
    void leave_by_copy_engine(const ChainNest &n, const Assignment &a, const std::vector<Expr> &at, int result) {
        const std::string type = type_text(a.value.type()), name = out_->name(a.stored + ".result"),
                          pairs = a.stored + ".pairs", i = out_->name(kChainElement);
        const int start = offset_results(true) + result * parts_.rows * n.columns * 2;
        out_->line("const shared<" + type + "> " + name + " = shared_array<" + type + ">(" + number(start) + ", " +
                   number(parts_.rows * n.columns) + ") + warpgroup * " + number(kRowsOfWarpgroup * n.columns) + ";");
        out_->open("if (thread == 0) {");
        out_->line("tensor_store_wait_read();");
        out_->close();
        out_->line("warpgroup_barrier(warpgroup);");
        out_->line("#pragma unroll");
        out_->open("for (int first = 0; first < " + number(n.columns / 2) + "; first += 8) {");
        out_->declare_registers(pairs, "alignas(16) " + type, 8);
        out_->line("#pragma unroll");
        out_->open("for (int " + i + " = first; " + i + " < first + 8; " + i + " += 2) {");
        coordinates_of_element({a.value});
        out_->print(store_of(pairs, pair(a.value), Ramp::make(Variable::make(Int(32), kChainElement) % 8, 1, 2)));
        out_->close();
        const std::string p = out_->name(pairs);
        std::string words;
        for (int k = 0; k < 4; k++) {
            words += ", reinterpret_cast<const uint32_t *>(" + p + ")[" + number(k) + "]";
        }
        out_->line("const int line = warp * 16 + lane % 16, chunk = first / 4 % 8 + lane / 16;");
        out_->line("store_matrices(" + name + " + first / 32 * " + number(kAcross * kRowsOfWarpgroup) +
                   " + line * 64 + (chunk ^ (line % 8)) * 8" + words + ");");
        out_->close();
        out_->line("fence_shared();");
        out_->line("warpgroup_barrier(warpgroup);");
        out_->open("if (thread == 0) {");
        std::string rest;
        for (size_t d = 1; d < at.size(); d++) {
            rest += ", " + (d == 1 ? in_parentheses(e(at[1])) + " + warpgroup * 64" : e(at[d]));
        }
        for (int panel = 0; panel < n.columns / kAcross; panel++) {
            out_->line("tensor_store(" + out_->name(a.stored + ".map") + ", " + name +
                       (panel ? " + " + number(panel * kAcross * kRowsOfWarpgroup) : "") + ", " +
                       e(simplify(at[0] + panel * kAcross)) + rest + ");");
        }
        out_->line("tensor_store_commit();");
        out_->close();
    }

    const Kernel &base_;
    const Strides &strides_;
    const PrintOptions &print_;
    ChainParts parts_;
    int warpgroups_ = 0;
    std::vector<ChainNest> meanwhile_, waiting_;  // of those between the products
    KernelPrinter *out_ = nullptr;
};

}  // namespace

TileKernel make_chain_kernel(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host,
                             const Strides &strides, const PrintOptions &print) {
    return MakeChainKernel(kernel, products, host, strides, print).make();
}

}  // namespace halyard
