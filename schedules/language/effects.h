#ifndef HALYARD_EFFECTS_H
#define HALYARD_EFFECTS_H

/** \file
 * Words that Halide would pass over in silence, which are errors: a script that says them means something else.
 * What only restates a default, as compute_root of an output, is none of them.
 */

#include <string>

#include "language/binding.h"

namespace halyard {

/** Raises an error where a word cannot have an effect on what it is said of. */
void check_effect(const Call &call, const Word &word);

/** Throws a ScriptError where buffers in turn (ring_buffer) would be read where they were not written. Call it when the script has
 * ended. */
void check_buffers_in_turn(const Binding &binding, const PipelineView &view);

/** Throws a ScriptError where Funcs share their loops (compute_with) and one is async: Halide orders only what each of them reads.
 * Call it when the script has ended. */
void check_fused_async(const Binding &binding, const PipelineView &view);

/** Throws a ScriptError where something was said of the loops or the memory of a Func that has none, as it is
 * computed inline. Call it when the script has ended. */
void check_placed(const Binding &binding, const PipelineView &view);

}  // namespace halyard

#endif
