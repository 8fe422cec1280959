#ifndef HALYARD_COMMAND_WORKLOAD_H
#define HALYARD_COMMAND_WORKLOAD_H

/** \file
 * An op of the registry at one size: the arguments of a kernel of it, its bytes and its flops.
 */

#include "kernel/kernel.h"
#include "kernel/registry.h"

namespace halyard {

/** Checks that a shape has just the dimensions of the op. Throws UsageError. */
void check_shape(const Op &op, const Dims &dims);

/** With the numbers among the generator parameters, which are dimensions too, as the panel of a packed
 * matrix is, with `group`, the rows of packed weights that lie together (generators/math/weights.h),
 * and with the defaults that the registry gives for others. A dimension that is there stays. */
Dims with_params(const Op &op, Dims dims, const Assignments &params);

/** Buffers of the extents that the registry gives, inputs filled with reproducible random values
 * and outputs poisoned; scalars have the registry's defaults. Where nobody reads them they need not be `filled`. Throws
 * Failure. */
KernelArguments make_arguments(const Op &op, const CompiledKernel &kernel, const Dims &dims, uint64_t seed, bool filled = true);

/** The same for a kernel that no registry knows, of the sizes that its generator estimates. Throws Failure where it
 * estimates none for an output. */
KernelArguments make_estimated_arguments(const CompiledKernel &kernel, uint64_t seed);

/** Gives buffers without a size the one that the kernel wants them to have. Throws Failure. */
void query_layouts(const CompiledKernel &kernel, KernelArguments &arguments, const std::vector<KernelArgument> &unknown);

/** Fills all inputs as make_arguments() does. */
void fill_inputs(const CompiledKernel &kernel, KernelArguments &arguments, const Dims &dims, uint64_t seed);

/** 0 for one's own generators, of which nobody says. */
double flops_of(const Op &op, const Dims &dims);

/** The extents of the arguments and the values of whole scalars, as the plugin takes them: "x:4096x64,y:4096x64". */
std::string sizes_text(const Op &op, const Dims &dims, const CompiledKernel &kernel, KernelArguments &arguments);

/** The same of what the registry knows, before there is a kernel; `dims` are with_params(). */
std::string sizes_text(const Op &op, const Dims &dims);

/** Element type of the output. */
std::string type_of(const CompiledKernel &kernel);

}  // namespace halyard

#endif
