#ifndef HALYARD_LOWERING_UNREAD_INPUTS_H
#define HALYARD_LOWERING_UNREAD_INPUTS_H

/** \file
 * Inputs that a call does not need.
 */

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

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

/** Kernels, before they leave the IR: one that would read such an input where there is none of it, and stores nothing of an output, is not
 * launched then. What it computes is of elements that the algorithm does not use. Where it cannot be shown whether loops around the read have
 * turns, the host asks. In one that stores an output, what it computes for itself stands under the condition.
 *
 *   blocks p: kept[p] = sum of x * w[p]    ->    if (columns > 0) blocks p: kept[p] = sum of x * w[p]
 *   blocks p of n: kept[p] = x[p]          ->    if (columns > 0 or not n > 0) blocks p of n: kept[p] = x[p]
 */
Halide::Internal::Stmt leave_kernels_unread(Halide::Internal::Stmt s, const std::set<std::string> &outputs);

/** What generators say, from the requirements in s: conditions in names that hold anywhere in the call, by the names of inputs. */
std::map<std::string, Halide::Expr> conditions_of_reads(const Halide::Internal::Stmt &s);

/** The names that buffers of these have. */
std::set<std::string> names_of_outputs(const std::vector<Halide::Func> &outputs);

/** Of an assertion that says so: the names of inputs, and what holds where they are read. */
struct ReadOnlyIf {
    std::string inputs;
    Halide::Expr condition;
};
std::optional<ReadOnlyIf> read_only_if(const Halide::Internal::AssertStmt *op);

}  // namespace halyard

#endif
