#ifndef HALYARD_KERNEL_OWN_OP_H
#define HALYARD_KERNEL_OWN_OP_H

/** \file
 * Ops of generators that no registry knows: their sizes are those of their arrays.
 *
 * As dimensions, `x=4096x64,n=3` is x.0 = 4096, x.1 = 64, n = 3, the innermost dimension first; a database has them as any
 * others.
 */

#include <string>

#include "kernel/kernel.h"
#include "kernel/registry.h"

namespace halyard {

/** "x=4096x64,n=3" as dimensions. Throws UsageError. */
Dims parse_own_shape(const std::string &text);

/** The same the other way. */
std::string own_shape_text(const Dims &dims);

/** As the plugin takes them: "x:4096x64,n:3". */
std::string own_sizes_text(const Dims &dims);

/** Arguments of these sizes, inputs filled as make_arguments() does. An input that has none is asked of the kernel, a scalar has
 * what the generator estimates; without any dimensions all are as the generator estimates. Throws UsageError for a name or a rank
 * that the kernel has not, and for an output without a size. */
KernelArguments make_own_arguments(const CompiledKernel &kernel, const Dims &dims, uint64_t seed, bool filled = true);

/** An op for what a kernel of one's own generator computes, with one size: all arrays of what was given. */
Op own_op(const std::string &name, const CompiledKernel &kernel, const Dims &given);

}  // namespace halyard

#endif
