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

/** Throws UsageError that names the nearest; GenGen would drown it in its usage text. */
void check_emit(const std::vector<std::string> &emit);

}  // namespace halyard

#endif
