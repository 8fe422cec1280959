#ifndef HALYARD_LOCKED_LEVEL_H
#define HALYARD_LOCKED_LEVEL_H

/** \file
 * Where a Func is computed or stored, by names.
 */

#include <string>

#include <Halide.h>

namespace halyard {

/** A level as it is once it is locked: what is stored nowhere else is stored where it is computed. */
struct LockedLevel {
    std::string func, variable;
    int stage = -1;

    explicit LockedLevel(const Halide::LoopLevel &l) : func(l.func_name()), variable(l.var_name()), stage(l.get_stage_index()) {}
    bool inlined() const {
        return func.empty() && variable.empty();
    }
    bool root() const {
        return func.empty() && variable == Halide::LoopLevel::root().var_name();
    }
    bool operator==(const LockedLevel &o) const {
        return func == o.func && variable == o.variable && stage == o.stage;
    }
    bool operator!=(const LockedLevel &o) const {
        return !(*this == o);
    }
};

}  // namespace halyard

#endif
