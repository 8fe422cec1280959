#include "language/schedule_text.h"

#include "language/binding.h"
#include "language/schedule_words.h"
#include "language/schedule_writer.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A definition without what a schedule says of it.
Definition unscheduled_copy(const Definition &d) {
    Definition copy = d.get_copy();
    copy.specializations().clear();
    StageSchedule &s = copy.schedule();
    s.prefetches().clear();
    s.fuse_level() = FuseLoopLevel();
    s.touched() = s.atomic() = s.allow_race_conditions() = false;
    for (Dim &d : s.dims()) {
        d.for_type = ForType::Serial;
    }
    return copy;
}

// The loops of a stage without a schedule, by those of the same stage of the same algorithm, made once more: variables without a name
// have others there.
StageStart start_like(const Function &f, const Function &other, int stage) {
    const Func func(f), of_other(other);
    const Stage mine = stage_of(func, stage), its = stage_of(of_other, stage);
    const auto &rvars = mine.get_schedule().rvars(), &its_rvars = its.get_schedule().rvars();
    if (!its.get_schedule().splits().empty()) {
        no_words("loops that the generator makes whoever schedules it");
    }
    if (rvars.size() != its_rvars.size()) {
        no_words("an rfactor of " + plain_name(f.name()));
    }
    StageStart start;
    for (LoopName l : loops_of(its)) {
        for (size_t r = 0; l.is_rvar && r < rvars.size(); r++) {
            l.halide = its_rvars[r].var == l.halide ? rvars[r].var : l.halide;
        }
        for (size_t a = 0; !l.is_rvar && a < f.args().size(); a++) {
            l.halide = other.args()[a] == l.halide ? f.args()[a] : l.halide;
        }
        start.loops.push_back(l);
    }
    return start;
}

}  // namespace

ScheduleText::ScheduleText(const PipelineView &view, const PipelineView &unscheduled) : view_(view) {
    for (const auto &[name, entry] : unscheduled.funcs()) {
        const auto same = view.funcs().find(name);
        if (same == view.funcs().end() || same->second.function.args().size() != entry.function.args().size() ||
            same->second.function.updates().size() != entry.function.updates().size()) {
            no_words(name + ", which is another Func where the generator schedules itself");
        }
        const Function &f = same->second.function;
        FuncBefore b;
        for (const auto &a : f.args()) {
            StorageDim d;
            d.var = a;
            b.schedule.storage_dims().push_back(d);
        }
        for (int s = 0; s <= int(f.updates().size()); s++) {
            b.stages.push_back(start_like(f, entry.function, s));
            b.definitions.push_back(unscheduled_copy(s == 0 ? f.definition() : f.update(s - 1)));
        }
        before_[f.name()] = std::move(b);
    }
}

ScheduleText::ScheduleText(const PipelineView &view) : view_(view) {
    for (const auto &[name, entry] : view.funcs()) {
        const Function &f = entry.function;
        FuncBefore b;
        std::map<FunctionPtr, FunctionPtr> same;  // a copy refers to the same wrappers
        for (const auto &w : f.schedule().wrappers()) {
            same[w.second] = w.second;
        }
        b.schedule = f.schedule().deep_copy(same);
        const Func func(f);
        for (int s = 0; s <= func.num_update_definitions(); s++) {
            const Stage stage = stage_of(func, s);
            b.stages.push_back({loops_of(stage), stage.get_schedule().splits().size(), true});
            b.definitions.push_back((s == 0 ? f.definition() : f.update(s - 1)).get_copy());
        }
        before_[f.name()] = std::move(b);
    }
}

std::string ScheduleText::statements() const {
    return write_schedule(view_, before_);
}

}  // namespace halyard
