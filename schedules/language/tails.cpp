#include "language/tails.h"

#include <algorithm>
#include <map>

namespace halyard {

using namespace Halide;
using Internal::Split;

namespace {

/** What a loop's turns are, by the splits that it comes from. */
struct Origin {
    bool shifts = false;  // they include one that was shifted inwards
    bool blends = false;  // and that one blends
};

bool shifts_inwards(const Split &s, bool pure) {
    return !s.exact &&
           (s.tail == TailStrategy::ShiftInwards || s.tail == TailStrategy::ShiftInwardsAndBlend || (s.tail == TailStrategy::Auto && pure));
}

bool rounds_up_unseen(TailStrategy tail) {
    return tail == TailStrategy::PredicateLoads || tail == TailStrategy::RoundUpAndBlend;
}

}  // namespace

std::string wrong_tails(const Internal::StageSchedule &schedule, bool pure) {
    std::map<std::string, Origin> loops;
    for (const Split &s : schedule.splits()) {
        if (s.split_type == Split::FuseVars) {
            const Origin inner = loops[s.inner], outer = loops[s.outer];
            loops[s.old_var] = {inner.shifts || outer.shifts, inner.blends || outer.blends};
            continue;
        }
        const Origin old = loops[s.old_var];
        loops.erase(s.old_var);
        if (s.split_type == Split::RenameVar) {
            loops[s.outer] = old;
            continue;
        }
        if (old.shifts && rounds_up_unseen(s.tail)) {
            return "splits a loop whose last turn is shifted inwards by an earlier split: with this tail, turns beyond the end "
                   "would be shifted onto elements that are there";
        }
        loops[s.inner] = old;
        loops[s.outer] = {old.shifts || shifts_inwards(s, pure), old.blends || s.tail == TailStrategy::ShiftInwardsAndBlend};
    }
    const bool lanes_meet = std::any_of(schedule.dims().begin(), schedule.dims().end(), [&](const Internal::Dim &d) {
        return d.for_type == Internal::ForType::Vectorized && loops[d.var].blends;
    });
    return lanes_meet ? "has vectors over turns of which the last is shifted inwards and blends: two lanes would store one element" : "";
}

}  // namespace halyard
