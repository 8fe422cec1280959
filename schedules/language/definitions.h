#ifndef HALYARD_DEFINITIONS_H
#define HALYARD_DEFINITIONS_H

/** \file
 * What a Func is computed by.
 */

#include <functional>

#include <Halide.h>

namespace halyard {

/** Visits the definitions of a Func, its first values (stage 0) and its updates, each with what specialize makes of it. */
void for_each_definition(const Halide::Internal::Function &f,
                         const std::function<void(const Halide::Internal::Definition &, int stage)> &visit);

}  // namespace halyard

#endif
