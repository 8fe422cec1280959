#include "lowering/cuda/tensor_cores/wgmma_launch.h"

#include <algorithm>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/tensor_cores/tensor_argument.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// What TMA takes along a dimension: elements so far apart, and a box that spans so many.
constexpr int kMaxStep = 8, kMaxBox = 256;

void check_tile(const TileProgram &program, const TensorCores &product) {
    const TileOfProduct &tile = program.tile();
    if (tile.rows % kRowsOfWarpgroup != 0 || tile.rows > 3 * kRowsOfWarpgroup) {
        product.fail("has tiles of " + number(tile.rows) + " rows; take 16, 32, 64, 128 or 192");
    }
    if (program.asked.ping_pong && (tile.rows != kRowsOfWarpgroup || program.asked.cluster > 1)) {
        product.fail("has warpgroups that take turns, each with a tile of its own; take tiles of 64 rows and no split_k_cluster");
    }
    if (tile.columns % 16 != 0 || tile.columns * program.products() > 256) {
        product.fail("has tiles of " + number(tile.columns) + " columns; take a multiple of 16, up to 256 for all products of a kernel");
    }
    if (tile.depth != elements_of_line(tile.a.type)) {
        product.fail("has steps of " + number(tile.depth) + "; take " + number(elements_of_line(tile.a.type)));
    }
    const auto all = program.operands();
    for (const auto &o : all) {
        for (int d = 0; d < o.rank(); d++) {
            if (o.step[size_t(d)] > kMaxStep || o.box[size_t(d)] * o.step[size_t(d)] > kMaxBox) {
                product.fail("has tiles of " + number(o.box[size_t(d)]) + " elements of " + o.buffer + ", " + number(o.step[size_t(d)]) +
                             " apart, along a dimension; they may be up to " + number(kMaxStep) + " apart, and span " + number(kMaxBox));
            }
        }
    }
}

const TileProgram &checked(const TileProgram &program) {
    for (const auto &p : program.parts.products) {
        check_tile(program, *p.asked);
    }
    return program;
}

}  // namespace

WgmmaLaunch::WgmmaLaunch(const TileProgram &program, const PrintOptions &print)
    : EpilogueLoads(checked(program), print), layout_(program_, leaving()), after_(program_.after) {
    align_pairs();
    find_early();
}

std::vector<int> WgmmaLaunch::leaving() const {
    std::vector<int> bytes;
    for (const auto &p : program_.after) {
        bytes.push_back(leaves_by_tma(p) ? p.value.type().bytes() : 0);
    }
    return bytes;
}

bool WgmmaLaunch::leaves_by_tma(const Pair &p) const {
    return moves_by_tma(p.value.type().element_of(), tile().columns) && box_of(p).has_value();
}

std::optional<TensorBox> WgmmaLaunch::box_of(const Pair &p) const {
    const auto box = tensor_box(program_, p.stored, p.value.type().element_of(), p.index, p.rows);
    const auto is_box = [&](const Expr &stored, int size, size_t d) {
        return is_stored_as_box(stored, size, p.stored, int(d), box->origin[d], *program_.host, program_.strides);
    };
    bool same = box && is_box(p.col_extent, tile().columns, 0);
    for (size_t d = 1; same && d < box->loop.size(); d++) {
        const int loop = box->loop[d];
        same = loop < 0 || is_box(p.rows[size_t(loop)].inside, p.rows[size_t(loop)].extent, d);
    }
    return same ? box : std::nullopt;
}

// Pairs of what f reads beside the sums are loaded whole where the host finds them aligned, and so are those stored
// that do not leave by TMA.
void WgmmaLaunch::align_pairs() {
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
        Stmt store = Store::make(p.stored, make_zero(p.value.type()), p.index, Parameter(), const_true(2), ModulusRemainder());
        if (!leaves_by_tma(p)) {
            ask(store);
        }
        alignment_.push_back(store.as<Store>()->alignment);
    }
}

Expr WgmmaLaunch::operands_are_tensors() const {
    Expr e = is_tensor(tile().a.buffer, tile().a.type, tile().a.rank());
    for (const auto &t : program_.tiles) {
        e = e && is_tensor(t.b.buffer, t.b.type, t.b.rank());
    }
    return e;
}

Expr WgmmaLaunch::results_are_tensors() const {
    Expr e = pairs_aligned_.defined() ? pairs_aligned_ : const_true();
    for (const auto &p : after_) {
        if (leaves_by_tma(p)) {
            e = e && is_stored_tensor(p.stored, p.value.type().element_of(), int(box_of(p)->origin.size()));
        }
    }
    for (const auto &t : tiles_) {
        e = e && is_tensor(t.buffer, t.type(), int(t.box.origin.size()));
    }
    return e;
}

Kernel WgmmaLaunch::with_arguments(WgmmaForm form) {
    Kernel k;
    k.name = program_.base.name;
    k.threads = {(layout_.warpgroups(form) + (by_tma(form) ? 1 : 0)) * kWarpgroup, 1, 1};
    // A cluster has one tile: how many of them a device runs at once depends on more than its multiprocessors.
    k.cluster = layout_.cluster(form);
    k.blocks = {k.cluster > 1 ? tiles() * k.cluster : blocks_that_stay(tiles()), 1, 1};
    k.shared_bytes = layout_.shared_bytes(form);
    k.blocks_per_multiprocessor = ", " + number(layout_.blocks());
    add_scalars(k, used_by(form));
    const std::set<std::string> by_threads = loaded(form == WgmmaForm::kWhole);
    for (const auto &a : program_.base.arguments) {
        if (a.is_buffer && (by_threads.count(a.name) || !moved_by_tma(a.name, form))) {
            k.arguments.push_back(a);
        }
    }
    if (by_tma(form)) {
        for (const auto &o : program_.operands()) {
            auto box = o.box;
            box[0] = elements_of_line(o.type);
            k.arguments.push_back({o.buffer + ".map", false, false, Handle(),
                                   tensor_argument(o.buffer, o.type, box, o.step, o.depth_dimension, o.end), Expr()});
        }
    }
    for (const auto &p : after_) {
        if (leaves(p, form)) {
            k.arguments.push_back({p.stored + ".map", false, false, Handle(),
                                   tensor_argument(p.stored, p.value.type().element_of(), box_of(p)->box), Expr()});
        }
    }
    for (const auto &t : tiles_) {
        if (form == WgmmaForm::kWhole) {
            k.arguments.push_back(
                {t.buffer + ".map.early", false, false, Handle(), tensor_argument(t.buffer, t.type(), t.box.box), Expr()});
        }
    }
    return k;
}

Expr WgmmaLaunch::blocks_that_stay(const Expr &tiles) const {
    const Expr multiprocessors = Call::make(Int(32), "halyard_cuda_multiprocessors",
                                            {Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic)}, Call::Extern);
    return min(tiles, multiprocessors * layout_.blocks());
}

bool WgmmaLaunch::moved_by_tma(const std::string &buffer, WgmmaForm form) const {
    const auto of_result = [&](const Pair &p) { return p.stored == buffer && leaves(p, form); };
    const auto of_tile = [&](const EpilogueTile &t) { return t.buffer == buffer; };
    const auto of_b = [&](const TileOfProduct &t) { return t.b.buffer == buffer; };
    const bool operand = tile().a.buffer == buffer || std::any_of(program_.tiles.begin(), program_.tiles.end(), of_b);
    return (by_tma(form) && operand) || std::any_of(after_.begin(), after_.end(), of_result) ||
           (form == WgmmaForm::kWhole && std::any_of(tiles_.begin(), tiles_.end(), of_tile));
}

bool WgmmaLaunch::leaves(const Pair &p, WgmmaForm form) const {
    return form == WgmmaForm::kWhole && leaves_by_tma(p);
}

std::vector<Expr> WgmmaLaunch::used_by(WgmmaForm form) const {
    std::vector<Expr> all = used();
    for (const auto &o : program_.operands()) {
        for (int d = 0; d < o.rank() && !by_tma(form); d++) {
            all.push_back(extent_of(o, d));
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
        if (form == WgmmaForm::kWhole) {
            all.insert(all.end(), t.box.origin.begin(), t.box.origin.end());
        }
    }
    return all;
}

// What the nests that leave by TMA load early: tiles where there is room for them in shared memory, columns as far
// as there are registers beside the sums.
void WgmmaLaunch::find_early() {
    not_in_memory_ = program_.accumulators;
    if (layout_.cluster(WgmmaForm::kWhole) > 1) {
        return;
    }
    std::set<std::string> known = program_.accumulators;  // and what the kernel stores
    std::vector<const Pair *> leaving;
    for (const auto &p : after_) {
        known.insert(p.stored);
        if (leaves_by_tma(p)) {
            leaving.push_back(&p);
        }
    }
    for (const auto &t : find_tiles(leaving, known)) {
        place_tile(t);
    }
    constexpr int kBesides = 40;  // registers of a thread for all else
    const int registers = layout_.blocks() >= 2 ? 85 : layout_.warpgroups() == 3 ? 160 : 232;
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
void WgmmaLaunch::place_tile(EpilogueTile t) {
    const size_t pair = size_t(t.pair - after_.data());
    const bool taken = std::any_of(tiles_.begin(), tiles_.end(), [&](const EpilogueTile &o) { return o.pair == t.pair; });
    t.in_place = layout_.parts() == 1 && t.users == 1 && !taken && t.type().bytes() == t.pair->value.type().bytes();
    const auto place = layout_.place_early(t.type().bytes(), t.in_place ? std::optional<size_t>(pair) : std::nullopt);
    if (place) {
        t.offset = *place;
        tiles_.push_back(t);
    }
}

}  // namespace halyard
