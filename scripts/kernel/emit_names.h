#ifndef HALYARD_KERNEL_EMIT_NAMES_H
#define HALYARD_KERNEL_EMIT_NAMES_H

/** \file
 * What --emit takes.
 */

#include <string>
#include <vector>

namespace halyard {

/** Halide's outputs, and `cuda`, which is ours: the source of the kernels. */
const std::vector<std::string> &emit_names();

/** Throws UsageError for what there is not, which names the nearest, as GenGen would drown it in its usage text, and for what Halide
 * refuses after all of the schedule was applied. */
void check_emit(const std::vector<std::string> &emit, const std::vector<std::string> &targets);

}  // namespace halyard

#endif
