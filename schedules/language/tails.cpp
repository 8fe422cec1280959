#include "language/tails.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

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

bool masks(TailStrategy tail, bool pure) {
    return tail == TailStrategy::GuardWithIf || tail == TailStrategy::Predicate || tail == TailStrategy::PredicateLoads ||
           tail == TailStrategy::PredicateStores || (tail == TailStrategy::Auto && !pure);
}

// Of what is stored and read.
std::vector<Type> types_of(const std::vector<Expr> &values) {
    class FindReads : public Internal::IRVisitor {
        using IRVisitor::visit;
        void visit(const Internal::Call *op) override {
            if (op->call_type == Internal::Call::Halide || op->call_type == Internal::Call::Image) {
                types.push_back(op->type);
            }
            IRVisitor::visit(op);
        }

    public:
        std::vector<Type> types;
    } find;
    for (const Expr &value : values) {
        find.types.push_back(value.type());
        value.accept(&find);
    }
    return find.types;
}

// Whether one of several values is computed from another as it was.
bool reads_another(const std::string &func, const std::vector<Expr> &values) {
    class FindOthers : public Internal::IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Internal::Call *op) override {
            found = found || (op->call_type == Internal::Call::Halide && op->name == func && op->value_index != value);
            IRGraphVisitor::visit(op);
        }

    public:
        std::string func;
        int value = 0;
        bool found = false;
    } find;
    find.func = func;
    for (size_t i = 0; i < values.size(); i++) {
        find.value = int(i);
        values[i].accept(&find);
    }
    return find.found;
}

}  // namespace

std::string wrong_values(const Internal::StageSchedule &schedule, const std::string &func, const std::vector<Expr> &values) {
    const bool masked = std::any_of(schedule.splits().begin(), schedule.splits().end(), [](const Split &s) {
        return s.split_type == Split::SplitVar && !s.exact && s.tail == TailStrategy::PredicateLoads;
    });
    return masked && values.size() > 1 && reads_another(func, values)
               ? "masks the loads of a stage that computes one of its values from another: that one would be read after it was stored"
               : "";
}

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

std::string wrong_masks(const Internal::StageSchedule &schedule, const std::vector<Expr> &values, bool pure, const Target &target) {
    std::map<std::string, int64_t> masked;  // loops of a constant extent that end under a condition, or come from one that does
    std::set<std::string> guarded;
    for (const Split &s : schedule.splits()) {
        if (s.split_type == Split::FuseVars) {
            continue;
        }
        const bool guards = guarded.count(s.old_var) > 0 || (!s.exact && masks(s.tail, pure));
        const auto extent = Internal::as_const_int(s.factor);
        if (s.split_type == Split::SplitVar && guards && extent) {
            guarded.insert(s.inner);
            masked[s.inner] = *extent;
        } else if (s.split_type == Split::RenameVar && masked.count(s.old_var)) {
            guarded.insert(s.outer);
            masked[s.outer] = masked[s.old_var];
        }
    }
    for (const Internal::Dim &d : schedule.dims()) {
        const auto loop = masked.find(d.var);
        if (d.for_type != Internal::ForType::Vectorized || loop == masked.end()) {
            continue;
        }
        for (const Type &type : types_of(values)) {
            const int64_t native = target.natural_vector_size(type);
            if (loop->second > native && loop->second % native == 1) {
                std::ostringstream text;
                text << "makes vectors of " << loop->second << " lanes that end under a condition: of " << type << " one has " << native
                     << " lanes here, and LLVM cannot mask the one lane that is left";
                return text.str();
            }
        }
    }
    return "";
}

}  // namespace halyard
