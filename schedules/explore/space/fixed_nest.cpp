#include "explore/space/fixed_nest.h"

#include <algorithm>
#include <cmath>

namespace halyard::explore {

namespace {

// The inner loop of a split, of so few iterations and around loops of a tile, is one of the tile.
constexpr double kMostOfTile = 16;

bool is_inner(const FixedStage &stage, const std::string &loop) {
    return std::any_of(stage.splits.begin(), stage.splits.end(),
                       [&](const FixedStage::Split &s) { return s.kind == FixedStage::Split::kSplit && s.inner == loop; });
}

// What a loop runs over: dimensions with what it has of each, innermost first.
using Parts = std::vector<std::pair<std::string, double>>;

struct Pieces {
    Parts outer, inner;
};

// The innermost dimensions fill the inner loop first, as those of a fused loop do.
Pieces cut(const Parts &old, double factor) {
    Pieces p;
    for (const auto &[dim, extent] : old) {
        const double inside = std::clamp(factor, 1.0, std::max(extent, 1.0));
        p.inner.emplace_back(dim, old.size() == 1 ? std::max(factor, 1.0) : inside);
        p.outer.emplace_back(dim, std::max(1.0, std::ceil(extent / inside)));
        factor /= inside;
    }
    return p;
}

std::map<std::string, Parts> loops_after(const FixedStage &stage, std::map<std::string, Parts> loops) {
    for (const auto &s : stage.splits) {
        if (s.kind == FixedStage::Split::kSplit) {
            const Pieces p = cut(loops[s.old], double(s.factor));
            loops[s.outer] = p.outer;
            loops[s.inner] = p.inner;
        } else if (s.kind == FixedStage::Split::kFuse) {
            Parts both = loops[s.inner];
            for (const auto &part : loops[s.outer]) {
                both.push_back(part);
            }
            loops[s.old] = both;
        } else {
            loops[s.outer] = Parts(loops[s.old]);
        }
    }
    return loops;
}

}  // namespace

Nest fixed_nest(const Func &f, const std::map<std::string, double> &region) {
    Nest n;
    n.func = f.name;
    n.stage = f.reduction() ? 1 : 0;
    const FixedStage &stage = f.fixed->stages.at(size_t(n.stage));
    std::map<std::string, Parts> loops;
    for (const Loop &l : f.stages[size_t(n.stage)].loops) {
        const auto it = region.find(l.name);
        loops[l.name] = {{l.name, l.rvar || it == region.end() ? l.extent : it->second}};
    }
    loops = loops_after(stage, std::move(loops));
    bool tile = true;
    for (const auto &loop : stage.loops) {
        Level level;
        level.name = loop.name;
        level.extent = 1;
        for (const auto &[dim, extent] : loops[loop.name]) {
            level.dims.push_back(dim);
            level.extents.push_back(extent);
            level.extent *= extent;
        }
        if (level.dims.empty()) {
            continue;  // not a loop of the algorithm: of a Func that rfactor has changed
        }
        // The loop that steps through vectors belongs to them: what it walks along is there as a whole.
        const bool steps = !n.levels.empty() && n.levels.back().vector && n.levels.back().dims == level.dims;
        level.vector = loop.kind == "vectorized" || steps;
        const bool few = !n.levels.empty() && !steps && loop.kind == "serial" && level.extent <= kMostOfTile && is_inner(stage, loop.name);
        tile = tile && (loop.kind == "vectorized" || loop.kind == "unrolled" || few);
        level.inside_tile = tile;
        n.levels.push_back(level);
        if (loop.kind == "vectorized") {
            n.vector = loop.name;
        }
    }
    if (!stage.loops.empty() && stage.loops.back().kind == "parallel" && !n.levels.empty()) {
        n.job = {stage.loops.back().name};
    }
    return n;
}

bool may_hold(const Func &f, const Nest &nest, const Level &level) {
    for (const auto &l : f.fixed->stages.at(size_t(nest.stage)).loops) {
        if (l.name == level.name) {
            return l.kind != "vectorized" && l.kind != "unrolled";
        }
    }
    return false;
}

}  // namespace halyard::explore
