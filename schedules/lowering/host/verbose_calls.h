#ifndef HALYARD_LOWERING_VERBOSE_CALLS_H
#define HALYARD_LOWERING_VERBOSE_CALLS_H

/** \file
 * What HALYARD_VERBOSE=1 makes a library tell of each call (runtime/verbose.cpp):
 *
 *   body
 *     ->
 *   let call.start = halyard_call_begins()            0 where nothing is to be told
 *   body
 *   if (call.start != 0) halyard_call_ends("rms_norm", "avx2", call.start, "x y", {x.buffer, y.buffer})
 *
 * A call that fails tells its error, and nothing here.
 */

#include <memory>
#include <string>

#include <Halide.h>

namespace halyard {

/** A pass for Pipeline::add_custom_lowering_pass, before the one that checks arguments. */
std::unique_ptr<Halide::Internal::IRMutator> tell_of_calls(const std::string &function, const Halide::Target &target);

/** The statement that says which version of its schedule a call has taken, inside of what tell_of_calls changes. */
Halide::Internal::Stmt tell_version(const std::string &version);

}  // namespace halyard

#endif
