#ifndef HALYARD_LOOK_H
#define HALYARD_LOOK_H

/** \file
 * A pass that reads a lowered program.
 */

#include <functional>

#include <Halide.h>

namespace halyard {

/** Changes nothing; or leaves nothing, where code for a device would be made next. */
class Look : public Halide::Internal::IRMutator {
public:
    Look(std::function<void(const Halide::Internal::Stmt &)> look, bool leave) : look_(std::move(look)), leave_(leave) {}

    Halide::Internal::Stmt mutate(const Halide::Internal::Stmt &s) override {
        if (!done_) {
            done_ = true;
            look_(s);
            return leave_ ? s : Halide::Internal::Evaluate::make(0);
        }
        return s;
    }
    using IRMutator::mutate;

private:
    std::function<void(const Halide::Internal::Stmt &)> look_;
    const bool leave_;
    bool done_ = false;
};

}  // namespace halyard

#endif
