#include "lowering/cuda/tiles/streams.h"

#include <algorithm>
#include <numeric>

#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool same_tile(const Operand &x, const Operand &y) {
    const std::vector<Expr> places = x.places(), others = y.places();
    return !x.value.defined() && !y.value.defined() && x.buffer == y.buffer && x.box == y.box && x.step == y.step &&
           x.depth_dimension == y.depth_dimension && x.line.defined() == y.line.defined() &&
           std::equal(places.begin(), places.end(), others.begin(), others.end(), [](const Expr &a, const Expr &b) { return equal(a, b); });
}

// Whether one is the other, or in a loop of it.
bool is_inside(const TileBody &inner, const TileBody &outer) {
    return &inner == &outer ||
           std::any_of(outer.begin(), outer.end(), [&](const TileNode &n) { return n.body && is_inside(inner, *n.body); });
}

}  // namespace

int in_whole_tiles(int bytes) {
    constexpr int kAligned = 1024;
    return (bytes + kAligned - 1) / kAligned * kAligned;
}

int StagedTile::across() const {
    return operand->box[0];
}

int StagedTile::lines() const {
    return std::accumulate(operand->box.begin() + 1, operand->box.end(), 1, std::multiplies<int>());
}

int StagedTile::elements() const {
    return source ? across() * lines() : panels(across(), operand->type) * elements_of_line(operand->type) * lines();
}

int StagedTile::swizzle() const {
    const int line = across() * operand->type.bytes();
    return !source || (of_rows && line % kSwizzledBytes == 0) ? kSwizzledBytes : of_rows && line == kSwizzledBytes / 2 ? line : 0;
}

int StagedTile::bytes() const {
    return in_whole_tiles(elements() * operand->type.bytes());
}

int Stream::bytes() const {
    const StagedTile &last = uses[0].tiles.back();
    return last.offset + last.bytes();
}

Streams::Streams(const BlockProgram &program, int room, int parts) : program_(program) {
    visit(program.body, {});
    join();
    share();
    check_sources();
    take_slots(room, parts);
}

void Streams::visit(const TileBody &body, std::vector<Around> around) {
    around.push_back({&body, 0, ""});
    for (size_t i = 0; i < body.size(); i++) {
        const TileNode &n = body[i];
        around.back().node = i;
        if (n.body) {
            around.back().loop = n.kind == TileNode::kLoop ? n.loop : "";
            visit(*n.body, around);
            around.back().loop = "";
        }
        if (n.kind != TileNode::kProduct) {
            continue;
        }
        for (const auto &a : around) {
            stages_[a.body] = std::max(stages_[a.body], n.asked->stages);
        }
        for (const Operand *o : {&n.product.a, &n.product.b}) {
            if (o->value.defined()) {
                std::vector<Expr> own = {o->value};
                if (n.product.left.defined()) {
                    own.push_back(n.product.left);
                }
                size_t deepest = level_of(own, around);
                const bool of_rows = o == &n.product.a;
                for (const auto &s : o->sources) {
                    const Role to = of_rows ? Role::kMultiply : Role::kCompute;
                    deepest = std::max(deepest, add(s, true, Role::kFetch, to, around, level_of(s.origin, around)));
                }
                if (!of_rows) {
                    add(*o, false, Role::kCompute, Role::kMultiply, around, deepest);
                }
            } else if (!program_.held.count(o->buffer)) {
                add(*o, false, Role::kFetch, Role::kMultiply, around, level_of(o->places(), around));
            }
        }
    }
}

// The innermost loop that changes any of them: so many bodies deep, from 0.
size_t Streams::level_of(const std::vector<Expr> &all, const std::vector<Around> &around) {
    for (size_t i = around.size() - 1; i > 0; i--) {
        const std::string &loop = around[i - 1].loop;
        if (!loop.empty() && std::any_of(all.begin(), all.end(), [&](const Expr &e) { return expr_uses_var(e, loop); })) {
            return i;
        }
    }
    return 0;
}

size_t Streams::add(const Operand &o, bool source, Role from, Role to, const std::vector<Around> &around, size_t deepest) {
    const Around &level = around[deepest];
    for (auto &s : all_) {
        StreamUse &use = s.uses[0];
        if (use.level == level.body && s.from == from && s.to == to && use.tiles[0].source == source &&
            same_tile(*use.tiles[0].operand, o)) {
            use.last = level.node;
            names_[&o] = use.tiles[0].name;
            return deepest;
        }
    }
    Stream s;
    s.name = "tiles_" + std::to_string(++count_);
    StagedTile t;
    t.operand = &o;
    t.source = source;
    t.of_rows = source && to == Role::kMultiply;
    t.name = source ? o.tile : s.name;
    s.from = from;
    s.to = to;
    s.uses = {{level.body, level.node, level.node, {t}}};
    names_[&o] = t.name;
    all_.push_back(s);
    return deepest;
}

// What comes and goes together shares its barriers; so do the tiles of a loop that has products alone, which are under way together.
void Streams::join() {
    std::vector<Stream> joined;
    for (auto &s : all_) {
        StreamUse &use = s.uses[0];
        const bool products = std::all_of(use.level->begin(), use.level->end(),
                                          [](const TileNode &n) { return n.kind == TileNode::kProduct || n.kind == TileNode::kPromise; });
        if (products && s.from == Role::kFetch && s.to == Role::kMultiply && use.level != &program_.body) {
            use.first = 0;
            use.last = use.level->size() - 1;
        }
        const auto with = std::find_if(joined.begin(), joined.end(), [&](const Stream &j) {
            const StreamUse &other = j.uses[0];
            return other.level == use.level && other.first == use.first && other.last == use.last && j.from == s.from && j.to == s.to;
        });
        if (with == joined.end()) {
            joined.push_back(s);
            continue;
        }
        StagedTile t = use.tiles[0];
        t.offset = with->bytes();
        with->uses[0].tiles.push_back(t);
    }
    all_ = joined;
}

// What is computed has its sources where it is itself: those that change less often are loaded where they are used.
void Streams::check_sources() const {
    for (const auto &s : all_) {
        for (const auto &use : s.uses) {
            for (const auto &t : use.tiles) {
                for (const auto &source : t.operand->sources) {
                    const StreamUse *const other = place_of(source).use;
                    if (other->level != use.level || other->first != use.first || other->last != use.last) {
                        program_.asked().fail("multiplies what is computed in each step of a loop of " + source.buffer +
                                              ", which that loop does not change; compute it before the loop, as a stage of its own");
                    }
                }
            }
        }
    }
}

// Loops of which none is in another are done one after the other.
void Streams::share() {
    const auto same_size = [](const StreamUse &x, const StreamUse &y) {
        return std::equal(x.tiles.begin(), x.tiles.end(), y.tiles.begin(), y.tiles.end(), [](const StagedTile &a, const StagedTile &b) {
            return a.source == b.source && a.of_rows == b.of_rows && a.operand->type == b.operand->type && a.operand->box == b.operand->box;
        });
    };
    std::vector<Stream> shared;
    for (const auto &s : all_) {
        const StreamUse &use = s.uses[0];
        const auto with = std::find_if(shared.begin(), shared.end(), [&](const Stream &j) {
            return j.from == s.from && j.to == s.to && std::all_of(j.uses.begin(), j.uses.end(), [&](const StreamUse &other) {
                       return same_size(other, use) && !is_inside(*use.level, *other.level) && !is_inside(*other.level, *use.level);
                   });
        });
        if (with == shared.end()) {
            shared.push_back(s);
        } else {
            with->uses.push_back(use);
        }
    }
    all_ = shared;
}

void Streams::take_slots(int room, int parts) {
    constexpr int kOutside = 2, kComputed = 3;
    const auto unit = [&](const Stream &s) { return s.to == Role::kMultiply && s.uses[0].level != &program_.body ? parts : 1; };
    for (auto &s : all_) {
        s.slots = s.from == Role::kCompute ? kComputed : s.uses[0].level == &program_.body ? kOutside : stages_.at(s.uses[0].level);
        s.slots = std::max(s.slots / unit(s), 1) * unit(s);
    }
    const auto place = [&] {
        int offset = 0;
        for (auto &s : all_) {
            s.offset = offset;
            offset += s.slots * s.bytes();
        }
    };
    // The largest rings give way first.
    for (place(); bytes() > room; place()) {
        const auto most = std::max_element(all_.begin(), all_.end(), [&](const Stream &x, const Stream &y) {
            return (x.slots - unit(x)) * x.bytes() < (y.slots - unit(y)) * y.bytes();
        });
        if (most->slots == unit(*most)) {
            return;
        }
        most->slots -= unit(*most);
    }
}

OperandPlace Streams::place_of(const Operand &o) const {
    const auto name = names_.find(&o);
    for (const auto &s : all_) {
        for (const auto &use : s.uses) {
            for (const auto &t : use.tiles) {
                if (name != names_.end() && t.name == name->second) {
                    return {&s, &use, &t};
                }
            }
        }
    }
    return {};
}

int Streams::bytes_of_tiles() const {
    return all_.empty() ? 0 : all_.back().offset + all_.back().slots * all_.back().bytes();
}

int Streams::bytes() const {
    constexpr int kBarrier = 8;
    return std::accumulate(all_.begin(), all_.end(), bytes_of_tiles(),
                           [](int sum, const Stream &s) { return sum + 2 * s.slots * kBarrier; });
}

}  // namespace halyard
