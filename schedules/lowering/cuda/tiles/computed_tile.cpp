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

const char *const kLine = "operand_line", *const kChunk = "operand_chunk", *const kLane = "operand_lane";

// Loads of sources, in their slots.
class InSlots : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Load *op) override {
        const auto slot = tile.slots_of_sources.find(op->name);
        if (slot == tile.slots_of_sources.end()) {
            return IRMutator::visit(op);
        }
        return Load::make(op->type, tile.names_of_sources.at(op->name), slot->second + mutate(op->index), Buffer<>(), Parameter(),
                          op->predicate, op->alignment);
    }

public:
    explicit InSlots(const ComputedTile &tile) : tile(tile) {}
    const ComputedTile &tile;
};

// Vectors of sources: those that begin at a multiple of their elements are loaded whole, and those in which lanes share elements that
// are neighbours, as of two numbers in a byte, are one vector of these, whose elements are picked.
class LoadWhole : public IRMutator {
    using IRMutator::visit;

    static Expr lane_of(const Expr &index, int lane) {
        return simplify(Shuffle::make_extract_element(index, lane));
    }

    Expr visit(const Load *op) override {
        if (!sources.count(op->name) || op->type.is_scalar()) {
            return IRMutator::visit(op);
        }
        const int lanes = op->type.lanes();
        const Expr first = lane_of(op->index, 0);
        std::vector<int> picked;
        int last = 0;
        for (int lane = 0; lane < lanes; lane++) {
            const auto further = as_const_int(simplify(lane_of(op->index, lane) - first));
            if (!further || *further < 0 || *further >= lanes) {
                return IRMutator::visit(op);
            }
            picked.push_back(int(*further));
            last = std::max(last, int(*further));
        }
        int elements = 1;
        while (elements <= last) {
            elements *= 2;
        }
        const Type t = op->type.with_lanes(elements);
        const Expr index = elements == 1 ? first : Ramp::make(first, 1, elements);
        const Expr whole = Load::make(t, op->name, index, op->image, op->param, const_true(elements), modulus_remainder(first));
        if (elements == lanes && std::is_sorted(picked.begin(), picked.end(), std::less_equal<int>())) {
            return whole;
        }
        const std::string name = unique_name("elements");
        return Let::make(name, whole, Shuffle::make({Variable::make(t, name)}, picked));
    }

public:
    std::set<std::string> sources;
};

Expr vector_of(const Expr &value, int lanes, const ComputedTile &tile) {
    const Stmt loop = For::make(kLane, 0, lanes, ForType::Vectorized, Partition::Never, DeviceAPI::None, Evaluate::make(value));
    const Stmt vector = simplify(vectorize_loops(loop, {}));
    const auto *evaluate = vector.as<Evaluate>();
    const Expr v = evaluate ? evaluate->value : Expr();
    if (!v.defined()) {
        throw CompileError("an operand has a value that cannot be computed " + number(lanes) + " at a time");
    }
    LoadWhole whole;
    for (const auto &name : tile.names_of_sources) {
        whole.sources.insert(name.second);
    }
    const Expr loaded = whole.mutate(v);
    return loaded.type().is_scalar() ? Broadcast::make(loaded, lanes) : loaded;
}

class PrintTile {
public:
    PrintTile(const ComputedTile &tile, int threads, KernelPrinter &out) : tile_(tile), o_(*tile.operand), threads_(threads), out_(out) {}

    void print() {
        // Threads stay in their columns of chunks, where they can: what depends on these alone is loaded once.
        same_chunk_ = threads_ % chunks_ == 0;
        out_.open("{");
        if (same_chunk_) {
            out_.line("const int " + out_.name(kChunk) + " = thread % " + number(chunks_) + ";");
        }
        if (tile_.left.defined()) {
            out_.open("if (" + out_.expr(tile_.left >= tile_.depth) + ") {");
        }
        all(false);
        if (tile_.left.defined()) {
            out_.otherwise();
            all(true);
            out_.close();
        }
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
            const std::string line = kLine + std::string(n ? "." + number(n) : ""),
                              chunk = kChunk + std::string(!same_chunk_ && n ? "." + number(n) : "");
            out_.line("const int " + out_.name(line) + " = " + at + " / " + number(chunks_) +
                      (same_chunk_ ? "" : ", " + out_.name(chunk) + " = " + at + " % " + number(chunks_)) + ";");
            const Expr l = Variable::make(Int(32), line), c = Variable::make(Int(32), chunk);
            const Expr value = vector_of(value_at(l, c, last_step), lanes_, tile_);
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

    Expr value_at(const Expr &line, const Expr &chunk, bool last_step) const {
        const bool across = o_.depth_dimension != 0;
        const Expr along = chunk * lanes_ + Variable::make(Int(32), kLane);
        const Expr depth = across ? line : along, other = across ? along : line;
        const auto at = [&](const Expr &d) {
            return InSlots(tile_).mutate(substitute({{kOperandDepth, d}, {kOperandOther, other}}, o_.value));
        };
        return last_step ? select(depth < tile_.left, at(min(depth, tile_.left - 1)), make_zero(o_.type)) : at(depth);
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

void print_computed_tile(const ComputedTile &tile, int threads, KernelPrinter &out) {
    PrintTile(tile, threads, out).print();
}

}  // namespace halyard
