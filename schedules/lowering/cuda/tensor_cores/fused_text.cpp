#include "lowering/cuda/tensor_cores/fused_text.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

#include "lowering/cuda/tensor_cores/fused_algebra.h"
#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/tile_program.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

FusedText::FusedText(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
                     const PrintOptions &print)
    : base_(kernel), print_(print), parts_(read_fused(kernel, products, host, strides)), launch_(kernel, parts_, strides) {
    if (parts_.first_asked->warps > 1 && !is_skinny(parts_)) {
        fail("has tiles of " + number(parts_.rows) + " rows, of which each warp has its own; take split_k_warps(1)");
    }
    rewrite_fused(parts_);
    store_once();
    check();
    drop_zeros();
    sort_nests();
}

void FusedText::fail(const std::string &message) const {
    parts_.first_asked->fail(message);
    throw CompileError(message);
}

void FusedText::check() const {
    const auto is_16 = [](const Type &t) { return t.is_float() && t.bits() == 16; };
    for (const auto *t : {&first(), &second()}) {
        if (t->a.type != t->b.type || !is_16(t->a.type)) {
            std::ostringstream s;
            s << "there are tensor cores for float16 by float16 and bfloat16 by bfloat16, not for " << t->a.type << " by " << t->b.type;
            fail(s.str());
        }
        if (t->columns % 16 != 0 || t->columns > 256 || t->depth % 16 != 0) {
            fail("has a tile of " + number(t->columns) + " columns, " + number(t->depth) +
                 " deep; take multiples of 16, and up to 256 columns");
        }
    }
    if (first().a.depth_dimension != 0 || first().b.depth_dimension != 0) {
        fail("reads operands by columns; the rows of both have to be neighbours along the depth");
    }
    if (second().b.other_dimension != 0) {
        fail("reads the second operand by columns; its rows have to be neighbours across");
    }
    for (const auto *o : {&first().a, &first().b, &second().b}) {
        const int line = o->line_dimension();
        const bool neighbours = line == 1 || (o == &first().a && is_skinny(parts_));
        if (o->rank() < 2 || o->rank() > 4 || std::min(o->depth_dimension, o->other_dimension) != 0 || !neighbours ||
            o->step[size_t(line)] != 1) {
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
void FusedText::drop_zeros() {
    auto &nests = parts_.between;
    const auto zero = std::find_if(nests.begin(), nests.end(), [&](const FusedNest &n) {
        return n.assignments.size() == 1 && n.assignments[0].stored == first().accumulator;
    });
    if (zero == nests.end() || !is_const_zero(zero->assignments[0].value)) {
        fail("does not begin with sums of 0 in each step");
    }
    nests.erase(zero);
}

// What is one a row, and stored for each column of it, where only the first of them is read.
void FusedText::store_once() {
    std::vector<FusedNest> nests;
    for (const auto &n : parts_.after) {
        const auto read_first_alone = [&](const Assignment &a) {
            const auto argument =
                std::find_if(base_.arguments.begin(), base_.arguments.end(), [&](const LaunchArgument &k) { return k.name == a.stored; });
            if (!a.index.defined() || varies_in_row(a.value) || argument == base_.arguments.end() || argument->strided_reads < n.columns ||
                linear(a.index).factor_of(kChainColumn) != 1) {
                return false;
            }
            const ModulusRemainder first = modulus_remainder(expand(substitute(kChainColumn, 0, a.index), parts_.lets));
            return std::gcd(first.modulus, first.remainder) % argument->strided_reads == 0;
        };
        FusedNest rows = n, others = n;
        rows.kind = FusedNest::kRows;
        rows.columns = 0;
        rows.assignments.clear();
        others.assignments.clear();
        for (auto a : n.assignments) {
            const bool once = n.kind == FusedNest::kTile && read_first_alone(a);
            if (once) {
                a.index = simplify(substitute(kChainColumn, 0, a.index));
            }
            (once ? rows : others).assignments.push_back(a);
        }
        for (const auto *part : {&others, &rows}) {
            if (!part->assignments.empty()) {
                nests.push_back(*part);
            }
        }
    }
    parts_.after = nests;
}

// What the second product works on is left alone until that of the step before has ended.
void FusedText::sort_nests() {
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

// `group` of the other dimensions together, so that what their steps read stays in L2; of them the last along the first
// dimension first, which under a causal mask have the most steps.
void FusedText::place_of_tile(const std::string &tile, bool declared) {
    const std::string type = declared ? "" : "const int ";
    const std::string g = tiles_together_ ? out_->name(kTilesTogether) : number(parts_.first_asked->raster);
    out_->line("const int across = " + in_parentheses(e(base_.blocks[0])) + ", down = " + in_parentheses(e(base_.blocks[1])) +
               ", others = down * " + in_parentheses(e(base_.blocks[2])) + ";");
    out_->line("const int group = " + tile + " / (across * " + g + ") * " + g + ", in_group = " + tile + " % (across * " + g +
               "), members = minimum(" + g + ", others - group);");
    out_->line("const int member = group + in_group % members;");
    const std::string places[] = {"across - 1 - in_group / members", "member % down", "member / down"};
    for (size_t d = 0; d < 3; d++) {
        if (!parts_.block_names[d].empty()) {
            out_->line(type + out_->name(parts_.block_names[d]) + " = " + places[d] + ";");
        }
    }
    out_->line(type + "first_step = " + e(parts_.first_step) + ";");
    out_->line(type + "end = first_step + maximum(" + e(parts_.steps) + ", 0);");
    if (!declared) {
        return;
    }
    // By a shuffle, which tells the compiler that it is the same in all lanes, and so are the stages that follow from it.
    for (const auto &name : parts_.block_names) {
        if (!name.empty()) {
            out_->line(out_->name(name) + " = __shfl_sync(0xffffffff, " + out_->name(name) + ", 0);");
        }
    }
    out_->line("first_step = __shfl_sync(0xffffffff, first_step, 0);");
    out_->line("end = __shfl_sync(0xffffffff, end, 0);");
}

void FusedText::declare_place() {
    std::string names;
    for (const auto &name : parts_.block_names) {
        names += name.empty() ? "" : out_->name(name) + " = 0, ";
    }
    out_->line("int " + names + "first_step = 0, end = 0;");
}

void FusedText::open_steps(const std::string &from, int by) {
    const std::string s = out_->name(parts_.step);
    out_->open("for (int " + s + " = " + from + "; " + s + " < end; " + s + (by == 1 ? "++" : " += " + number(by)) + ") {");
}

void FusedText::expect_promises() {
    for (const auto &p : parts_.promises) {
        out_->line("expect(" + e(p) + ");");
    }
}

void FusedText::declare_held(int fragments, bool first_sums) {
    std::set<std::string> declared;
    for (const auto *t : {&first(), &second()}) {
        if (first_sums || t != &first()) {
            declare_sums(t->accumulator, t->columns / 2 * fragments);
        }
        declared.insert(t->accumulator);
    }
    for (const auto &[name, held] : parts_.held) {
        if (declared.count(name) || held.columns < 0) {
            continue;
        }
        if (name == in_place_) {
            out_->line("auto &" + out_->name(name) + " = " + out_->name(first().accumulator) + ";");
            continue;
        }
        if (name == second().a.buffer) {  // two in each, as the instruction takes them
            out_->declare_registers(name, "uint32_t", held.columns / 4 * fragments);
            continue;
        }
        out_->declare_registers(name, type_text(held.type), (held.columns == 0 ? 2 : held.columns / 2) * fragments);
    }
}

// The first nest after which nobody reads the sums any more. To the compiler they live on otherwise, as the instruction takes
// what they were: heads of 64 with 192 queries then spilled 960 bytes of a thread's registers.
std::string FusedText::find_in_place() const {
    std::vector<const FusedNest *> step;
    for (const auto *list : {&meanwhile_, &waiting_, &parts_.behind}) {
        for (const auto &n : *list) {
            step.push_back(&n);
        }
    }
    const auto reads = [](const FusedNest &n, const std::string &name) {
        return std::any_of(n.assignments.begin(), n.assignments.end(),
                           [&](const Assignment &a) { return held_in(a.value).count(name) > 0; });
    };
    for (size_t i = step.size(); i-- > 0;) {
        if (!reads(*step[i], first().accumulator)) {
            continue;
        }
        const Assignment &a = step[i]->assignments[0];
        const bool fits = step[i]->kind == FusedNest::kTile && step[i]->assignments.size() == 1 && step[i]->columns == first().columns &&
                          a.value.type() == Float(32) && !a.index.defined() && a.stored != second().a.buffer &&
                          a.stored != second().accumulator;
        const auto elsewhere = [&](const std::vector<FusedNest> &list) {
            return std::any_of(list.begin(), list.end(), [&](const FusedNest &n) { return reads(n, a.stored); });
        };
        const bool before = std::any_of(step.begin(), step.begin() + long(i) + 1, [&](const FusedNest *n) { return reads(*n, a.stored); });
        return fits && !before && !elsewhere(parts_.before) && !elsewhere(parts_.behind) && !elsewhere(parts_.after) ? a.stored : "";
    }
    return "";
}

void FusedText::apply_mask() {
    if (mask_.value.defined()) {
        out_->open("if (!" + in_parentheses(e(mask_.whole)) + ") {");
        FusedNest masked;
        masked.columns = first().columns;
        masked.assignments = {{first().accumulator, mask_.value, Expr()}};
        threads_->nest(masked);
        out_->close();
    }
}

// What is computed of a step while its second product waits. A mask of rows comes first, where it leaves anything out.
// A mask of columns alone is for the last step: the nests stand twice then, so that whole tiles go through fewer branches. Under
// a mask of rows that would be slower.
void FusedText::define_between() {
    const std::string step = out_->name(parts_.step);
    out_->open("const auto between = [&](int " + step + ") {");
    apply_mask();
    std::vector<FusedNest> plain;
    const Expr whole = without_selects(meanwhile_, parts_.rows, &plain);
    if (whole.defined()) {
        out_->open("if (" + e(whole) + ") {");
        threads_->nests(plain);
        out_->otherwise();
        threads_->nests(meanwhile_);
        out_->close();
    } else {
        threads_->nests(meanwhile_);
    }
    out_->close("};");
}

void FusedText::fetch_elements(const Operand &o, const std::string &array, int columns, int rows, int threads,
                               const std::string &more_lines, const std::string &thread) {
    const int across = panels(columns) * kAcross;
    out_->open("for (int i = " + thread + "; i < " + number(across * rows) + "; i += " + number(threads) + ") {");
    out_->line("const int x = i % " + number(across) + ", line = i / " + number(across) + ";");
    const int along = o.line_dimension();
    out_->line("const int c0 = " + in_parentheses(e(o.origin[0])) + " + x, c1 = " + in_parentheses(e(o.origin[size_t(along)])) +
               more_lines + " + line;");
    out_->line("const int to = x / 64 * " + number(rows * kAcross) + " + line * 64 + ((x / 8 % 8) ^ (line % 8)) * 8 + x % 8;");
    const std::string counts = o.counts.defined() ? " && " + counts_at(o, "line") : "";
    out_->line(array + "[to] = c0 >= 0 && c0 < " + e(field(o.buffer, "extent", 0)) + " && c1 >= 0 && c1 < " +
               e(field(o.buffer, "extent", along)) + counts + " ? " + out_->name(o.buffer) + "[c0 + c1 * " +
               e(field(o.buffer, "stride", along)) + place_of_others(o) + "] : " + type_text(o.type) + "(0.0f);");
    out_->close();
}

std::string FusedText::place_of_others(const Operand &o) {
    std::string at;
    for (int d = 1; d < o.rank(); d++) {
        if (d == o.line_dimension()) {
            continue;
        }
        at += " + " + in_parentheses(e(o.origin[size_t(d)])) + " * " + e(field(o.buffer, "stride", d));
    }
    return at;
}

std::string FusedText::counts_at(const Operand &o, const std::string &depth) {
    return in_parentheses(e(substitute(kOperandDepth, Variable::make(Int(32), "." + depth), o.counts)));
}

void FusedText::sum_lanes() {
    for (const auto &name : parts_.sums_of_lanes) {
        threads_->open_rows();
        threads_->combine_lanes(name, parts_.held[name].type, [](const Expr &x, const Expr &y) { return x + y; });
        out_->close();
    }
}

bool FusedText::stores(const FusedNest &n) {
    return std::any_of(n.assignments.begin(), n.assignments.end(), [](const Assignment &a) { return a.index.defined(); });
}

}  // namespace halyard
