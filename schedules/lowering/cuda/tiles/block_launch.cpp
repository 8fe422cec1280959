#include "lowering/cuda/tiles/block_launch.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "lowering/accesses.h"
#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/tensor_cores/fused_launch.h"
#include "lowering/cuda/tensor_cores/scalar_arguments.h"
#include "lowering/cuda/tensor_cores/tensor_argument.h"
#include "lowering/cuda/tensor_cores/tensor_box.h"
#include "lowering/cuda/tensor_cores/tile_program.h"
#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kWarpsOfGroup = kWarpgroup / kWarp;
constexpr int kDeepestOfFloat8 = 128;

// setmaxnreg counts in eights.
int whole_units(int registers) {
    return registers / 8 * 8;
}

int most_asked(const BlockProgram &program, int TensorCores::*what) {
    int most = 1;
    for (const TileNode *n : program.products()) {
        most = std::max(most, n->asked->*what);
    }
    return most;
}

}  // namespace

BlockLaunch::BlockLaunch(const BlockProgram &program, const Kernel &base, const Strides &strides, bool hopper)
    : program_(program), base_(base), strides_(strides), hopper_(hopper), shared_loops_(find_shared_loops(program)),
      groups_of_tile_(most_asked(program, &TensorCores::warps)), blocks_of_tile_(hopper ? most_asked(program, &TensorCores::cluster) : 1),
      streams_(program, room() - parts() * bytes_of_part(), groups_of_tile_) {
    // A warp with twice the rows reads each column from shared memory half as often.
    constexpr int kMostSums = 128;
    fragments_ = !by_wgmma() && program.rows % 128 == 0 && 2 * sums() <= kMostSums ? 2 : 1;
    results_leave_ =
        hopper && by_wgmma() && !results().empty() && offset_results() + bytes_of_results() + parts() * bytes_of_part() <= room();
    check_shared();
    check();
}

// All loops that the body of a program has, where steps are shared.
BlockLaunch::Range BlockLaunch::find_shared_loops(const BlockProgram &program) {
    Range r;
    if (most_asked(program, &TensorCores::warps) == 1 && most_asked(program, &TensorCores::cluster) == 1) {
        return r;
    }
    for (size_t i = 0; i < program.body.size(); i++) {
        if (program.body[i].kind == TileNode::kLoop) {
            r.first = r.end == 0 ? i : r.first;
            r.end = i + 1;
        }
    }
    return r;
}

bool BlockLaunch::is_shared(const TileNode &n) const {
    for (size_t i = shared_loops_.first; i < shared_loops_.end; i++) {
        if (&program_.body[i] == &n) {
            return n.kind == TileNode::kLoop;
        }
    }
    return false;
}

void BlockLaunch::check_shared() const {
    const auto fail = program_.asked().fail;
    if (groups_of_tile_ == 1 && most_asked(program_, &TensorCores::cluster) == 1) {
        return;
    }
    size_t shared = 0;
    for (size_t i = shared_loops_.first; i < shared_loops_.end; i++) {
        for (const TileNode &n : is_shared(program_.body[i]) ? *program_.body[i].body : TileBody(1)) {
            shared += n.kind == TileNode::kProduct ? 1 : 0;
            shared += n.kind == TileNode::kProduct || n.kind == TileNode::kPromise ? 0 : program_.products().size();
        }
    }
    if (shared != program_.products().size()) {
        fail("is to share its steps with other blocks or warps, in a kernel that has something else in its loops of products, or between "
             "them; leave split_k_cluster and split_k_warps out");
    }
    if (threads() > Multiprocessor::kThreadsOfBlock) {
        fail("has " + number(threads()) + " threads, and a block may have " + number(Multiprocessor::kThreadsOfBlock) +
             "; take fewer split_k_warps than " + number(groups_of_tile_));
    }
}

void BlockLaunch::check() const {
    for (const TileNode *n : program_.products()) {
        const TileOfProduct &t = n->product;
        const auto fail = n->asked->fail;
        const TensorNumber a = t.a.number(), b = t.b.number();
        const bool halves = a == b && a.is_half(), float8 = a.is_float8() && b.is_float8();
        if (!(halves || float8) || t.sum != Float(32)) {
            std::ostringstream s;
            s << "multiplies " << a.name() << " by " << b.name() << " and sums them as " << t.sum
              << "; beside others, or with operands that are computed on the way in, there are tensor cores for float16 by float16, "
                 "bfloat16 by bfloat16, and numbers of float8_e4m3 and float8_e5m2, which are summed as float32";
            fail(s.str());
        }
        if (float8 && t.b.depth_dimension != 0) {
            fail("reads " + t.b.buffer + " by columns; the tensor cores take operands of 8 bits whose neighbours run along k");
        }
        if (float8 && by_wgmma() && !(n->begins && t.depth <= kDeepestOfFloat8)) {
            fail("adds up more than " + number(kDeepestOfFloat8) +
                 " products of 8-bit numbers, of which the tensor cores keep 14 bits; sum so many in a Func of their own");
        }
        const int deep = depth_of_instruction(t.b.type);
        if (t.columns % 16 != 0 || t.columns > 256 || t.depth % deep != 0) {
            fail("has a tile of " + number(t.columns) + " columns, " + number(t.depth) + " deep; take multiples of 16 and " + number(deep) +
                 ", and up to 256 columns");
        }
        if (t.rows % 16 != 0 || t.rows > 256 || (by_wgmma() && t.rows > 192)) {
            fail("has tiles of " + number(t.rows) + " rows; take a multiple of 16, up to 256, or 64, 128 or 192 for sm_90a");
        }
        if (n->asked->ping_pong) {
            fail("stands in a kernel whose warps take no turns; leave ping_pong out");
        }
        const bool held = program_.held.count(t.a.buffer) > 0;
        if (!held && t.a.depth_dimension != 0) {
            fail("reads a by columns; its rows have to be neighbours along k");
        }
        if (program_.held.count(t.b.buffer)) {
            fail("multiplies by what was made of other products; it may only be the operand whose rows are those of the result");
        }
        for (const Operand *o : {&t.a, &t.b}) {
            if (o == &t.a && held) {
                continue;
            }
            if (o->counts.defined()) {
                fail("reads " + o->buffer + " under a condition; compute it elsewhere first");
            }
            const bool steps = std::any_of(o->step.begin(), o->step.end(), [](int s) { return s != 1; });
            if (!o->value.defined() && (o->rank() < 2 || o->rank() > 5 || steps)) {
                fail("reads " + o->buffer + " in steps, or in " + number(o->rank()) + " dimensions; take neighbours, in 2 to 5");
            }
        }
    }
    constexpr int kMostOfBox = 256;  // that TMA takes along a dimension
    for (const auto *o : fetched()) {
        if (!o->line.defined() && std::any_of(o->box.begin() + 1, o->box.end(), [](int b) { return b > kMostOfBox; })) {
            program_.asked().fail("reads tiles of more than " + number(kMostOfBox) + " lines of " + o->buffer + "; take smaller steps");
        }
    }
    if (const int bytes = offset_results() + parts() * bytes_of_part(); bytes > room()) {
        program_.asked().fail("takes " + number(bytes) + " bytes of shared memory with one stage of each operand" +
                              (parts() > 0 ? ", and the sums of " + number(parts()) + " parts" : "") + ", and a block has " +
                              number(room()) + "; take smaller tiles" + (parts() > 0 ? " or less of split_k" : ""));
    }
}

int BlockLaunch::room() const {
    if (!hopper_) {
        return kSharedOfBlock;
    }
    const int blocks = blocks_of_multiprocessor();
    return multiprocessor(90).shared_bytes / blocks / 1024 * 1024 - Multiprocessor::kReservedShared;
}

int BlockLaunch::blocks_of_multiprocessor() const {
    return std::max(base_.resident, 1);
}

// Of 16 rows a thread has so many in registers.
int BlockLaunch::sums() const {
    int all = 0;
    for (const auto &h : program_.held) {
        all += std::max(h.second.columns, 0) / 2;
    }
    return all;
}

bool BlockLaunch::computes() const {
    const auto &all = streams_.all();
    return std::any_of(all.begin(), all.end(), [](const Stream &s) { return s.from == Role::kCompute; });
}

// A warpgroup beside those that multiply gives them its registers. Those that compute are in it, too, but for as many more groups as leave
// an instruction its registers with what all have at first: ptxas wants that.
int BlockLaunch::warps(Role r) const {
    constexpr int kBesideSums = 26, kMostGroups = 2;
    const int multiply = warps_of_tile() * groups_of_tile_;
    if (r == Role::kMultiply) {
        return multiply;
    }
    const int of_fetch = by_wgmma() && computes() ? 1 : kWarpsOfGroup;
    if (r == Role::kFetch || !computes()) {
        return r == Role::kFetch ? of_fetch : 0;
    }
    int columns = 0, groups = 0;
    for (const TileNode *n : program_.products()) {
        columns = std::max(columns, n->product.columns);
    }
    const int registers = kRegisters / blocks_of_multiprocessor();
    const auto registers_with = [&](int more) { return registers / ((multiply + kWarpsOfGroup * (1 + more)) * kWarp); };
    while (groups < kMostGroups && registers_with(groups + 1) >= columns / 2 + kBesideSums) {
        groups++;
    }
    return by_wgmma() ? kWarpsOfGroup * (1 + groups) - of_fetch : kMostGroups * kWarpsOfGroup;
}

int BlockLaunch::warps_of_tile() const {
    return program_.rows / (kRowsOfFragment * fragments_);
}

std::vector<std::string> BlockLaunch::shared_sums() const {
    std::set<std::string> names;
    for (const TileNode *n : program_.products()) {
        names.insert(n->product.accumulator);
    }
    return {names.begin(), names.end()};
}

int BlockLaunch::sums_of_thread(const std::string &name) const {
    return program_.held.at(name).columns / 2 * fragments_;
}

int BlockLaunch::bytes_of_part() const {
    int bytes = 0;
    for (const auto &name : shared_sums()) {
        bytes += program_.rows * program_.held.at(name).columns * 4;
    }
    return bytes;
}

// Each slot is one group's, for what the Streams say of groups that multiply.
int BlockLaunch::groups_of_compute() const {
    int groups = std::max(warps(Role::kCompute), 1);
    const auto has_own_slots = [&](const Stream &s) {
        return (s.from != Role::kCompute && s.to != Role::kCompute) || s.slots % groups == 0;
    };
    while (!std::all_of(streams_.all().begin(), streams_.all().end(), has_own_slots)) {
        groups--;
    }
    return groups;
}

bool BlockLaunch::threads_fetch(const Stream &s, Fetching fetching) {
    const auto by_index = [](const StreamUse &use) {
        return std::any_of(use.tiles.begin(), use.tiles.end(), [](const StagedTile &t) { return t.operand->line.defined(); });
    };
    return s.from == Role::kFetch && (fetching != Fetching::kEngine || std::any_of(s.uses.begin(), s.uses.end(), by_index));
}

bool BlockLaunch::threads_fetch(Fetching fetching) const {
    const auto &all = streams_.all();
    return std::any_of(all.begin(), all.end(), [&](const Stream &s) { return threads_fetch(s, fetching); });
}

bool BlockLaunch::is_read_by_wgmma(const Stream &s) const {
    const auto &tiles = s.uses[0].tiles;
    return s.to == Role::kMultiply && by_wgmma() && std::none_of(tiles.begin(), tiles.end(), [](const StagedTile &t) { return t.of_rows; });
}

int BlockLaunch::first_warp(Role r) const {
    const int multiply = warps(Role::kMultiply);
    return r == Role::kMultiply ? 0 : multiply + (r == Role::kFetch ? 0 : warps(Role::kFetch));
}

int BlockLaunch::threads() const {
    return (warps(Role::kMultiply) + warps(Role::kFetch) + warps(Role::kCompute)) * kWarp;
}

RegistersOfRoles BlockLaunch::registers(Fetching fetching) const {
    constexpr int kOfEngine = 24, kOfThreads = 104, kMost = 240;
    RegistersOfRoles r;
    r.at_begin = whole_units(std::min(kRegisters / blocks_of_multiprocessor() / threads(), Multiprocessor::kRegistersOfThread));
    r.products = r.others = r.at_begin;
    if (!by_wgmma()) {
        return r;
    }
    const int groups = program_.rows / kRowsOfWarpgroup * groups_of_tile_, others = threads() / kWarpgroup - groups;
    const int given = std::min(threads_fetch(fetching) || computes() ? kOfThreads : kOfEngine, r.at_begin);
    const int taken = std::min(whole_units(((groups + others) * r.at_begin - others * given) / groups), kMost);
    if (taken > r.at_begin) {
        r.products = taken;
        r.others = given;
    }
    return r;
}

int BlockLaunch::offset_barriers() const {
    return streams_.bytes_of_tiles();
}

int BlockLaunch::offset_results() const {
    return in_whole_tiles(streams_.bytes());
}

int BlockLaunch::offset_parts() const {
    return offset_results() + (results_leave_ ? in_whole_tiles(bytes_of_results()) : 0);
}

std::vector<BlockLaunch::Result> BlockLaunch::results() const {
    std::vector<Result> all;
    for (const TileNode *n : program_.nodes()) {
        for (const auto &a : n->nest.assignments) {
            if (a.index.defined()) {
                all.push_back({&n->nest, &a});
            }
        }
    }
    return all;
}

// Those of one tile after the other leave from one place.
int BlockLaunch::bytes_of_results() const {
    int most = 0;
    for (const Result &r : results()) {
        most = std::max(most, program_.rows * r.nest->columns * 2);
    }
    return most;
}

std::optional<ResultBox> BlockLaunch::box_of(const FusedNest &nest, const Assignment &a) const {
    if (!results_leave_ || nest.kind != FusedNest::kTile || !a.index.defined()) {
        return std::nullopt;
    }
    const auto place = [&](const Expr &index, const Expr &rows, int most_rows, const Expr &columns, int most_columns) {
        auto origin = place_of_result({a.stored, a.value, index}, base_, program_.block_names, program_.lets, strides_);
        const bool as_box = origin && is_stored_as_box(columns, most_columns, a.stored, 0, origin->at(0), program_.lets, strides_) &&
                            is_stored_as_box(rows, most_rows, a.stored, 1, origin->at(1), program_.lets, strides_);
        return as_box ? origin : std::nullopt;
    };
    const auto &[rows, columns] = std::pair(nest.row_extent, nest.column_extent);
    const auto box = [](ResultBox::How how, const std::vector<Expr> &origin) { return ResultBox{how, origin, int(origin.size())}; };
    if (nest.columns % kAcross == 0) {
        if (const auto origin = place(a.index, rows, program_.rows, columns, nest.columns)) {
            return box(ResultBox::kBox, *origin);
        }
    }
    if (const auto origin = place(with_sides_swapped(a.index), columns, nest.columns, rows, program_.rows)) {
        return box(ResultBox::kAcross, *origin);
    }
    return nest.columns % kAcross == 0 ? rows_of(a) : std::nullopt;
}

// Of rows whose columns are neighbours in memory, and whose pieces of 16 bytes begin where threads can store them.
std::optional<ResultBox> BlockLaunch::rows_of(const Assignment &a) const {
    if (!is_half(a.value.type())) {
        return std::nullopt;
    }
    const IndexVariables variables = {{kChainColumn, kChainRow}, extents_of_launch(base_, program_.block_names, strides_), false};
    const auto all = tensor_coordinates(substitute_in_all_lets(expand(a.index, program_.lets)), a.stored, strides_, variables);
    if (!all || all->size() < 2 || linear(all->front()).factor_of(kChainColumn) != 1) {
        return std::nullopt;
    }
    const Expr first = simplify(substitute(kChainColumn, 0, all->front()));
    const bool moves = std::any_of(all->begin() + 1, all->end(), [](const Expr &c) { return expr_uses_var(c, kChainColumn); });
    if (moves || expr_uses_var(first, kChainRow) || expr_uses_var(first, kChainColumn) || !can_prove(first % kPieceOfResult == 0)) {
        return std::nullopt;
    }
    return ResultBox{ResultBox::kRows, {}, int(all->size())};
}

std::vector<const Operand *> BlockLaunch::fetched() const {
    std::vector<const Operand *> all;
    for (const auto &s : streams_.all()) {
        for (const auto &use : s.uses) {
            for (const auto &t : use.tiles) {
                if (s.from == Role::kFetch) {
                    all.push_back(t.operand);
                }
            }
        }
    }
    return all;
}

Expr BlockLaunch::usable() const {
    Expr e = const_true();
    for (const auto *o : fetched()) {
        e = e && is_tensor(o->buffer, o->type, o->rank());
    }
    for (const Result &r : results()) {
        if (const auto at = box_of(*r.nest, *r.assignment)) {
            e = e && is_stored_tensor(r.assignment->stored, r.assignment->value.type(), at->rank);
        }
    }
    return e;
}

Expr BlockLaunch::tiles() const {
    return base_.blocks[0] * base_.blocks[1] * base_.blocks[2];
}

// What the host tells TMA of a tile's tensor.
Expr BlockLaunch::tensor_of(const StagedTile &t) {
    const Operand &o = *t.operand;
    std::vector<int> box = o.box;
    box[0] = t.swizzle() == kSwizzledBytes ? elements_of_line(o.type) : box[0];
    return tensor_argument(o.buffer, o.type, box, o.step, t.source ? -1 : o.depth_dimension, o.end, t.swizzle() != 0);
}

Kernel BlockLaunch::with_arguments(Fetching fetching) const {
    const bool engine = fetching == Fetching::kEngine, elements = fetching == Fetching::kElements;
    Kernel k;
    k.name = base_.name + (hopper_ ? "" : "_mma") + (elements ? "_elements" : "");
    k.threads = {threads(), 1, 1};
    const Expr multiprocessors = Call::make(Int(32), "halyard_cuda_multiprocessors",
                                            {Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic)}, Call::Extern);
    // A cluster has one tile: how many of them a device runs at once depends on more than its multiprocessors.
    k.cluster = blocks_of_tile_;
    k.blocks = {k.cluster > 1 ? tiles() * k.cluster : min(tiles(), multiprocessors * blocks_of_multiprocessor()), 1, 1};
    k.shared_bytes = offset_parts() + parts() * bytes_of_part();
    k.blocks_per_multiprocessor = ", " + number(blocks_of_multiprocessor());
    const std::vector<Expr> all = used(fetching);
    std::set<std::string> local = {kChainRow, kChainColumn, kChainElement, kChainHeldRow, kOperandDepth, kOperandOther};
    local.insert(program_.block_names.begin(), program_.block_names.end());
    for (const auto &n : program_.all_numbers()) {
        local.insert(n.name);
    }
    for (const TileNode *n : program_.nodes()) {
        local.insert(n->loop);
    }
    add_scalars(k, all, local, fetched());
    std::set<std::string> needed = loaded_by(all);
    for (const auto *o : fetched()) {
        if (!engine || o->line.defined()) {
            needed.insert(o->buffer);
        }
    }
    for (const Result &r : results()) {
        const auto at = box_of(*r.nest, *r.assignment);
        if (!engine || !at || !at->by_engine()) {
            needed.insert(r.assignment->stored);
        }
    }
    add_buffers(k, base_, needed);
    if (!engine) {
        return k;
    }
    for (const auto &s : streams_.all()) {
        for (const auto &use : s.uses) {
            for (const auto &t : use.tiles) {
                if (s.from == Role::kFetch && !t.operand->line.defined()) {
                    k.arguments.push_back({t.name + ".map", false, false, Handle(), tensor_of(t), Expr()});
                }
            }
        }
    }
    for (const auto &[nest, a] : results()) {
        if (const auto at = box_of(*nest, *a); at && at->by_engine()) {
            std::vector<int> box(at->origin.size(), 1);
            box[0] = kAcross;
            box[1] = at->how == ResultBox::kAcross ? nest->columns : kRowsOfWarpgroup;
            k.arguments.push_back({a->stored + ".map", false, false, Handle(), tensor_argument(a->stored, a->value.type(), box), Expr()});
        }
    }
    return k;
}

std::vector<Expr> BlockLaunch::used(Fetching fetching) const {
    std::vector<Expr> all = {base_.blocks[0], base_.blocks[1], base_.blocks[2]};
    for (const auto &n : program_.all_numbers()) {
        all.insert(all.end(), {n.load, n.needed});
    }
    for (const auto *o : fetched()) {
        const std::vector<Expr> places = o->places();
        all.insert(all.end(), places.begin(), places.end());
        for (int d = 0; d < o->rank() && (fetching != Fetching::kEngine || o->line.defined()); d++) {
            all.push_back(extent_of(*o, d));
            if (d > 0) {
                all.push_back(field(o->buffer, "stride", d));
            }
        }
    }
    for (const TileNode *n : program_.nodes()) {
        for (const Expr &e : {n->min, n->extent, n->condition, n->product.left, n->product.a.value, n->product.b.value, n->nest.row_extent,
                              n->nest.column_extent, n->nest.counts}) {
            if (e.defined()) {
                all.push_back(e);
            }
        }
        for (const auto &a : n->nest.assignments) {
            all.push_back(a.value);
            if (!a.index.defined()) {
                continue;
            }
            const auto at = fetching == Fetching::kEngine ? box_of(n->nest, a) : std::nullopt;
            if (at && at->by_engine()) {
                all.insert(all.end(), at->origin.begin(), at->origin.end());
            } else {
                all.push_back(a.index);
            }
        }
    }
    return all;
}

}  // namespace halyard
