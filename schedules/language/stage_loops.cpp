#include "language/stage_loops.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool of_outermost(const std::string &halide) {
    const std::string outermost = Var::outermost().name();
    return halide == outermost || starts_with(halide, outermost + ".");
}

class Names {
public:
    explicit Names(const StageLoops &s) {
        for (const auto &l : s.loops) {
            taken_.insert(l.name);
        }
    }

    std::string fresh(const std::string &wanted) {
        std::string name = wanted;
        for (int n = 2; !taken_.insert(name).second; n++) {
            name = wanted + "_" + std::to_string(n);
        }
        return name;
    }

private:
    std::set<std::string> taken_;
};

// What a loop is for, as far as it can be told: that of its outermost part.
const char *suffix(const StageLoops &s, const Stage &stage, int loop) {
    bool taken_apart = false;
    while (s.loops[size_t(loop)].outer >= 0) {
        taken_apart = true;
        loop = s.loops[size_t(loop)].outer;
    }
    const Dim *d = s.dim(loop, stage);
    switch (d ? d->for_type : ForType::Serial) {
    case ForType::Parallel: return "_task";
    case ForType::Vectorized: return "_lanes";
    case ForType::Unrolled: return taken_apart ? "_tile" : "_unrolled";
    case ForType::GPUBlock: return "_block";
    case ForType::GPUThread: return "_thread";
    case ForType::GPULane: return "_lane";
    default: return taken_apart ? "_tile" : "_in";
    }
}

void give_names(StageLoops &s, const Stage &stage) {
    Names names(s);
    for (const LoopStep &step : s.steps) {
        StageLoop &old = s.loops[size_t(step.old)], &outer = s.loops[size_t(step.outer)];
        switch (step.split.split_type) {
        case Split::SplitVar: {
            StageLoop &inner = s.loops[size_t(step.inner)];
            outer.base = inner.base = old.base;
            outer.name = old.name;
            inner.name = names.fresh(old.base + suffix(s, stage, step.inner));
            break;
        }
        case Split::RenameVar:
            outer.base = old.base;
            outer.name = old.name;
            break;
        case Split::FuseVars: {
            int last = step.old;
            while (s.loops[size_t(last)].outer >= 0) {
                last = s.loops[size_t(last)].outer;
            }
            const Dim *d = s.dim(last, stage);
            const bool job = d && (d->for_type == ForType::Parallel || d->for_type == ForType::GPUBlock);
            old.name = old.base =
                names.fresh(job ? d->for_type == ForType::Parallel ? "job" : "block" : s.loops[size_t(step.inner)].name + "_" + outer.name);
            break;
        }
        }
    }
}

}  // namespace

const Dim *StageLoops::dim(int loop, const Stage &stage) const {
    const int d = loops[size_t(loop)].dim;
    return d < 0 ? nullptr : &stage.get_schedule().dims()[size_t(d)];
}

int StageLoops::find(const std::string &variable) const {
    for (const int l : order) {
        const std::string &halide = loops[size_t(l)].halide;
        if (halide == variable || ends_with(halide, "." + variable)) {
            return l;
        }
    }
    return -1;
}

StageLoops loops_since(const StageStart &start, const Stage &stage) {
    StageLoops s;
    std::vector<int> now;
    for (const auto &l : start.loops) {
        now.push_back(int(s.loops.size()));
        s.loops.push_back({l.halide, l.name, l.name, l.is_rvar, -1, -1});
    }
    const auto at = [&](const std::string &halide) {
        for (auto it = now.begin(); it != now.end(); ++it) {
            if (s.loops[size_t(*it)].halide == halide) {
                return it;
            }
        }
        throw std::runtime_error("there is no loop " + halide + " to be said of");
    };
    const auto add = [&](const std::string &halide, bool is_rvar) {
        s.loops.push_back({halide, "", "", is_rvar, -1, -1});
        return int(s.loops.size()) - 1;
    };
    const auto &splits = stage.get_schedule().splits();
    for (size_t i = start.splits; i < splits.size(); i++) {
        const Split &split = splits[i];
        if (of_outermost(split.old_var)) {
            s.single_thread = true;
            continue;
        }
        LoopStep step;
        step.split = split;
        if (split.split_type == Split::FuseVars) {
            const auto outer = at(split.outer);
            step.outer = *outer;
            now.erase(outer);
            const auto inner = at(split.inner);
            step.inner = *inner;
            step.old = add(split.old_var, s.loops[size_t(step.inner)].is_rvar);
            *inner = step.old;
            s.loops[size_t(step.inner)].outer = s.loops[size_t(step.outer)].outer = step.old;
        } else {
            const auto old = at(split.old_var);
            step.old = *old;
            const bool is_rvar = s.loops[size_t(step.old)].is_rvar;
            step.outer = add(split.outer, is_rvar);
            *old = step.outer;
            if (split.split_type == Split::SplitVar) {
                step.inner = add(split.inner, is_rvar);
                now.insert(old, step.inner);
            }
            s.loops[size_t(step.old)].outer = step.outer;
        }
        s.steps.push_back(step);
    }
    const auto &dims = stage.get_schedule().dims();
    for (size_t d = 0; d < dims.size(); d++) {
        if (of_outermost(dims[d].var)) {
            continue;
        }
        const int loop = *at(dims[d].var);
        s.loops[size_t(loop)].dim = int(d);
        s.order.push_back(loop);
    }
    if (s.order.size() != now.size()) {
        throw std::runtime_error("loops of " + stage.name() + " are missing");
    }
    if (start.ordered) {
        s.unordered = now;
    }
    give_names(s, stage);
    return s;
}

}  // namespace halyard
