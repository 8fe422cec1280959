#ifndef HALYARD_LOWERING_UNREAD_INPUTS_H
#define HALYARD_LOWERING_UNREAD_INPUTS_H

/** \file
 * Inputs that a call does not need.
 */

#include <map>
#include <set>
#include <string>

#include <Halide.h>

namespace halyard {

/** A generator says when it needs an input (generators/math/unread.h), by its name. Otherwise the algorithm reads no element of it,
 * but a schedule may compute a copy of more than is needed, and the input may then have no element at all. What stores a copy, or
 * what is computed of one element, stands under the condition, unless loops around it have no turns without it. Of the outputs no more is computed than there is.
 *
 *   for e = 0 to 64: copy[e] = logits[e]    ->    if (experts > 0) for e = 0 to 64: copy[e] = logits[e]
 */
Halide::Internal::Stmt leave_unread(Halide::Internal::Stmt s, const std::map<std::string, Halide::Expr> &needed,
                                    const std::set<std::string> &outputs);

}  // namespace halyard

#endif
