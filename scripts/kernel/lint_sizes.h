#ifndef HALYARD_KERNEL_LINT_SIZES_H
#define HALYARD_KERNEL_LINT_SIZES_H

/** \file
 * The sizes at which a build looks for what is slow in its schedule.
 */

#include "kernel/generate.h"

namespace halyard {

/** As the plugin takes them: those of an op of the registry at a shape, by default the first that is benchmarked, else those that the
 * generator estimates. */
std::string lint_sizes(const Plan &plan, bool registered, const Dims &shape);

}  // namespace halyard

#endif
