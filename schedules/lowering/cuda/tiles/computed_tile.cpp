#include "lowering/cuda/tiles/computed_tile.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const char *const kOperandChunk = "operand_chunk";

// Loads of sources, in their slots. Vectors in which lanes share elements that are neighbours, as of two numbers in a byte, are one vector
// of these, whose elements are picked.
class LoadSources : public IRMutator {
    using IRMutator::visit;

    static Expr lane_of(const Expr &index, int lane) {
        return index.type().is_scalar() ? index : simplify(Shuffle::make_extract_element(index, lane));
    }

    // As the copy engine puts elements of a line, 16 bytes at a time. All of it but the number of the 16 bytes, which lines change by
    // their own, is the same for elements that are 16 bytes apart: they differ by one instruction.
    static Expr place(const SourceInSlot &source, const Type &t, const Expr &index) {
        if (source.swizzle == 0) {
            return source.slot + index;
        }
        const int chunk = 16 / t.bytes(), of_line = source.swizzle / t.bytes();
        const Expr x = index % source.across, line = index / source.across;
        const Expr lines = source.swizzle == kSwizzledBytes ? line % 8 : line / 2 % 4;
        const Expr first = source.slot + simplify(x / of_line * (source.lines * of_line) + line * of_line + lines * chunk + x % chunk);
        return first ^ simplify(x % of_line / chunk * chunk);
    }

    Expr visit(const Load *op) override {
        if (tile.packed.count(op->name)) {
            const auto *pair = op->index.as<Ramp>();
            if (!pair) {
                throw CompileError("an operand takes one of two neighbours");
            }
            return Reinterpret::make(op->type, Load::make(UInt(32), op->name, simplify(pair->base / 2), Buffer<>(), Parameter(),
                                                          const_true(), ModulusRemainder()));
        }
        const auto found = tile.sources.find(op->name);
        if (found == tile.sources.end()) {
            return IRMutator::visit(op);
        }
        const SourceInSlot &source = found->second;
        const Type t = op->type.element_of();
        const auto load = [&](const Expr &index, const ModulusRemainder &alignment) {
            return Load::make(t.with_lanes(index.type().lanes()), source.name, index, Buffer<>(), Parameter(),
                              const_true(index.type().lanes()), alignment);
        };
        const int lanes = op->type.lanes();
        const Expr first = lane_of(op->index, 0);
        std::vector<int> picked;
        int last = 0;
        for (int lane = 0; lane < lanes; lane++) {
            const auto further = as_const_int(simplify(lane_of(op->index, lane) - first));
            if (!further || *further < 0 || *further >= lanes) {
                const Expr all = mutate(op->index);
                return load(source.swizzle == 0 ? Broadcast::make(source.slot, lanes) + all : place_of_each(source, t, all),
                            ModulusRemainder());
            }
            picked.push_back(int(*further));
            last = std::max(last, int(*further));
        }
        int elements = 1;
        while (elements <= last) {
            elements *= 2;
        }
        // Neighbours that begin at a multiple of their number are in one piece of 16 bytes.
        const ModulusRemainder begins = modulus_remainder(first);
        if (begins.modulus % elements != 0 || begins.remainder % elements != 0) {
            return load(place_of_each(source, t, mutate(op->index)), ModulusRemainder());
        }
        const Expr at = place(source, t, mutate(first));
        const Expr whole = elements == 1 ? load(at, ModulusRemainder()) : load(Ramp::make(at, 1, elements), ModulusRemainder(elements, 0));
        if (lanes == 1) {
            return whole;
        }
        if (elements == lanes && std::is_sorted(picked.begin(), picked.end(), std::less_equal<int>())) {
            return whole;
        }
        if (elements == 1) {
            return Broadcast::make(whole, lanes);
        }
        const std::string name = unique_name("elements");
        return Let::make(name, whole, Shuffle::make({Variable::make(whole.type(), name)}, picked));
    }

    static Expr place_of_each(const SourceInSlot &source, const Type &t, const Expr &all) {
        std::vector<Expr> places;
        for (int lane = 0; lane < all.type().lanes(); lane++) {
            places.push_back(place(source, t, lane_of(all, lane)));
        }
        return Shuffle::make_concat(places);
    }

public:
    explicit LoadSources(const ComputedTile &tile) : tile(tile) {}
    const ComputedTile &tile;
};

// Its element at a depth, and in a row or column; in a last step, 0 behind the depth that is left, and nothing is in registers.
Expr value_at(const ComputedTile &tile, const Expr &depth, const Expr &other, bool last_step) {
    const auto at = [&](const Expr &d) {
        return substitute({{kOperandDepth, d}, {kOperandOther, other}}, last_step ? tile.operand->value : tile.value);
    };
    return last_step ? select(depth < tile.left, at(min(depth, tile.left - 1)), make_zero(tile.operand->type)) : at(depth);
}

// Both forms of a step, where it may have less of the depth.
template<typename Print>
void print_steps(const ComputedTile &tile, KernelPrinter &out, const Print &print) {
    if (!tile.left.defined()) {
        print(false);
        return;
    }
    out.open("if (" + out.expr(tile.left >= tile.depth) + ") {");
    print(false);
    out.otherwise();
    print(true);
    out.close();
}

class PrintTile {
public:
    PrintTile(const ComputedTile &tile, int threads, KernelPrinter &out) : tile_(tile), o_(*tile.operand), threads_(threads), out_(out) {}

    void print() {
        // Threads stay in their columns of chunks, where they can: what depends on these alone is loaded once.
        same_chunk_ = threads_ % chunks_ == 0;
        out_.open("{");
        if (same_chunk_) {
            out_.line("const int " + out_.name(kOperandChunk) + " = thread % " + number(chunks_) + ";");
        }
        print_steps(tile_, out_, [&](bool last_step) { all(last_step); });
        out_.close();
    }

private:
    // Loads of several turns are under way before what they are computed to is stored: to the compiler a store may change what is loaded.
    void all(bool last_step) {
        constexpr int kTogether = 4;
        const int count = chunks_ * tile_.lines, turns = count / threads_;
        out_.line("int i = thread;");
        if (turns >= kTogether) {
            const std::string further = number((kTogether - 1) * threads_);
            out_.open("for (; i + " + further + " < " + number(count) + "; i += " + number(kTogether * threads_) + ") {");
            together(kTogether, last_step);
            out_.close();
        }
        if (turns < kTogether || count % (kTogether * threads_) != 0) {
            out_.open("for (; i < " + number(count) + "; i += " + number(threads_) + ") {");
            together(1, last_step);
            out_.close();
        }
    }

    void together(int count, bool last_step) {
        std::vector<Expr> stores;
        for (int n = 0; n < count; n++) {
            const std::string at = n == 0 ? "i" : "(i + " + number(n * threads_) + ")";
            const std::string line = kOperandLine + std::string(n ? "." + number(n) : ""),
                              chunk = kOperandChunk + std::string(!same_chunk_ && n ? "." + number(n) : "");
            out_.line("const int " + out_.name(line) + " = " + at + " / " + number(chunks_) +
                      (same_chunk_ ? "" : ", " + out_.name(chunk) + " = " + at + " % " + number(chunks_)) + ";");
            const Expr l = Variable::make(Int(32), line), c = Variable::make(Int(32), chunk);
            const Expr value = vector_of_tile(value_in_chunk(l, c, last_step), lanes_, tile_);
            const std::string name = "operand_value" + std::string(n ? "." + number(n) : "");
            const std::string text = out_.expr(value);
            out_.line("const " + type_text(value.type()) + " " + out_.name(name) + " = " + text + ";");
            stores.push_back(Variable::make(value.type(), name));
            places_.push_back(place_of(l, c));
        }
        for (int n = 0; n < count; n++) {
            out_.print(Store::make(tile_.name, stores[size_t(n)], Ramp::make(places_[size_t(n)], 1, lanes_), Parameter(),
                                   const_true(lanes_), ModulusRemainder(lanes_, 0)));
        }
        places_.clear();
    }

    Expr value_in_chunk(const Expr &line, const Expr &chunk, bool last_step) const {
        const bool across = o_.depth_dimension != 0;
        const Expr along = chunk * lanes_ + Variable::make(Int(32), kOperandLane);
        return value_at(tile_, across ? line : along, across ? along : line, last_step);
    }

    // As the copy engine would put them.
    Expr place_of(const Expr &line, const Expr &chunk) const {
        const int of_line = kSwizzledBytes / o_.type.bytes();
        const Expr swizzled = Call::make(Int(32), Call::bitwise_xor, {chunk % 8, line % 8}, Call::PureIntrinsic);
        return tile_.slot + chunk / 8 * (tile_.lines * of_line) + line * of_line + swizzled * lanes_;
    }

    const ComputedTile &tile_;
    const Operand &o_;
    const int threads_;
    KernelPrinter &out_;
    const int lanes_ = 16 / o_.type.bytes(), chunks_ = o_.box[0] / lanes_;
    bool same_chunk_ = false;
    std::vector<Expr> places_;
};

}  // namespace

Expr vector_of_tile(const Expr &value, int lanes, const ComputedTile &tile) {
    const Stmt loop = For::make(kOperandLane, 0, lanes, ForType::Vectorized, Partition::Never, DeviceAPI::None, Evaluate::make(value));
    const Stmt vector = simplify(vectorize_loops(loop, {}));
    const auto *evaluate = vector.as<Evaluate>();
    if (!evaluate) {
        throw CompileError("an operand has a value that cannot be computed " + number(lanes) + " at a time");
    }
    const Expr loaded = LoadSources(tile).mutate(evaluate->value);
    return loaded.type().is_scalar() ? Broadcast::make(loaded, lanes) : loaded;
}

void print_computed_tile(const ComputedTile &tile, int threads, KernelPrinter &out) {
    PrintTile(tile, threads, out).print();
}

// A register has two neighbours of the depth; four of them 16 of it, in rows that are 8 apart, as sums are.
void print_computed_rows(const ComputedTile &tile, const std::string &registers, const std::string &first_row, int fragments,
                         KernelPrinter &out) {
    constexpr int kPair = 2;
    const std::string of_fragment = number(tile.depth / 4), line = out.name(kOperandLine), depth = out.name(kOperandDepth);
    const Expr d = Variable::make(Int(32), kOperandDepth) * kPair + Variable::make(Int(32), kOperandLane),
               row = Variable::make(Int(32), kOperandLine);
    print_steps(tile, out, [&](bool last_step) {
        out.line("#pragma unroll");
        out.open("for (int i = 0; i < " + number(tile.depth / 4 * fragments) + "; i++) {");
        out.line("const int " + line + " = " + first_row + " + " + (fragments > 1 ? "i / " + of_fragment + " * 16 + " : "") + "i % 2 * 8;");
        out.line("const int " + depth + " = i % " + of_fragment + " / 4 * 8 + lane % 4 + i / 2 % 2 * 4;  // in pairs");
        if (expr_uses_var(tile.value, kOperandEighth)) {
            out.line("const int " + out.name(kOperandEighth) + " = i % " + of_fragment + " / 2;");
        }
        if (expr_uses_var(tile.value, kOperandRow)) {
            out.line("const int " + out.name(kOperandRow) + " = " + (fragments > 1 ? "i / " + of_fragment + " * 2 + " : "") + "i % 2;");
        }
        const std::string value = out.expr(vector_of_tile(value_at(tile, d, row, last_step), kPair, tile));
        out.line(registers + "[i] = all_bits_as<uint32_t>(" + value + ");");
        out.close();
    });
}

}  // namespace halyard
