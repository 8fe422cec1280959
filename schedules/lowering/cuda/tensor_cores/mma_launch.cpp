#include "lowering/cuda/tensor_cores/mma_launch.h"

#include <algorithm>

#include "lowering/cuda/tensor_cores/tensor_argument.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Four neighbours of 16 bits, two of two lanes, fill 32 bytes of a row with those of the next lanes.
int lanes_at_once(const Pair &p) {
    const auto *ramp = p.index.as<Ramp>();
    const bool four = ramp && is_const_one(ramp->stride) && linear(ramp->base).factor_of(kCol) == 1 && !linear(ramp->base).hides(kCol) &&
                      p.value.type().is_float() && p.value.type().bits() == 16;
    return four ? 4 : 2;
}

}  // namespace

MmaLaunch::MmaLaunch(const TileProgram &program, const PrintOptions &print) : TileText(program, print), layout_(program_) {
    align();
}

Expr MmaLaunch::Result::index() const {
    return lanes == 2 ? pair.index : Ramp::make(pair.index.as<Ramp>()->base, 1, 4);
}

// Chunks of an operand begin at multiples of 16 bytes, and so do the pairs of f at theirs.
void MmaLaunch::align() {
    usable_ = const_true();
    for (const auto &o : program_.operands()) {
        usable_ = usable_ && aligned(o);
    }
    for (const auto &p : program_.after) {
        Result r{p, lanes_at_once(p), ModulusRemainder()};
        Stmt value = Evaluate::make(p.value);
        ask(value, 2);
        r.pair.value = value.as<Evaluate>()->value;
        Stmt store = Store::make(p.stored, make_zero(p.value.type().with_lanes(r.lanes)), r.index(), Parameter(), const_true(r.lanes),
                                 ModulusRemainder());
        ask(store, r.lanes);
        r.alignment = store.as<Store>()->alignment;
        after_.push_back(r);
    }
    usable_ = simplify(usable_);
}

void MmaLaunch::ask(Stmt &s, int multiple_of_col) {
    AlignmentFacts known = program_.facts();
    known.multiples[kCol] = multiple_of_col;
    const Expr asked = mark_aligned_vectors(s, known);
    usable_ = asked.defined() ? usable_ && asked : usable_;
}

Expr MmaLaunch::aligned(const Operand &o) const {
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
    Expr all = address_on_host(o.buffer) % make_const(UInt(64), kChunk) == make_zero(UInt(64)) && rest.expr() % chunk == 0;
    for (int d = 1; d < o.rank(); d++) {
        const Expr whole = field_on_host(o.buffer, Call::buffer_get_stride, d) % chunk == 0;
        // A dimension of one has no stride that matters.
        all = all && (o.rank() == 2 ? whole : whole || field_on_host(o.buffer, Call::buffer_get_extent, d) == 1);
    }
    return all;
}

Kernel MmaLaunch::with_arguments() {
    Kernel k;
    k.name = program_.base.name + "_mma";
    k.threads = {layout_.threads(), 1, 1};
    k.blocks = {tiles(), 1, 1};
    k.shared_bytes = std::max(layout_.stages() * layout_.stage_bytes(), int(program_.rows.size()) * bytes_of_reduction());
    k.blocks_per_multiprocessor = ", " + number(layout_.blocks());
    std::vector<Expr> all = used();
    for (const auto &o : program_.operands()) {
        for (int d = 0; d < o.rank(); d++) {
            all.push_back(extent_of(o, d));
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

int MmaLaunch::bytes_of_reduction() const {
    return layout_.warps_across() * tile().rows * 8;
}

}  // namespace halyard
