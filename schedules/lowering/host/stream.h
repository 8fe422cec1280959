#ifndef HALYARD_STREAM_H
#define HALYARD_STREAM_H

/** \file
 * Marks the stores of large outputs, for the finishing step to make them non-temporal.
 *
 *   produce y: parallel task: y[...] = ...
 *     ->
 *   if (bytes of y in this call > above)
 *     produce y: parallel task: { y.streamed[...] = ...; halyard_stream_fence() }
 *   else
 *     produce y: parallel task: y[...] = ...
 *
 * `y.streamed` is another name of the same pointer. Halide writes the name into the metadata of the
 * store, which is where finish_ir() finds it.
 */

#include <memory>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** A Func that is stored past the caches. */
struct Streamed {
    Halide::Internal::Function func;
    int64_t above = 0;  // bytes of the Func in a call; what is no larger is stored as usual
};

/** A pass for Pipeline::add_custom_lowering_pass. Streamed Funcs are outputs of the pipeline. */
std::unique_ptr<Halide::Internal::IRMutator> mark_streamed_stores(std::vector<Streamed> streamed);

}  // namespace halyard

#endif
