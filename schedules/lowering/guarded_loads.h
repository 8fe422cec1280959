#ifndef HALYARD_LOWERING_GUARDED_LOADS_H
#define HALYARD_LOWERING_GUARDED_LOADS_H

/** \file
 * Conditions that load what only another part of the condition says to be there.
 */

#include <memory>

#include <Halide.h>

namespace halyard {

/** A pass for Pipeline::add_custom_lowering_pass. Halide computes whether a stage is needed before the test that its iteration is
 * one of the array's, and both sides of its `&&` are evaluated: beyond the end that reads behind an array. What loads is evaluated
 * only where the rest of the condition holds.
 *
 *   let f.used = (0 < a[i]) && (i < n)            let f.used = if_then_else(i < n, 0 < a[i], false)
 *   if (i < n) ...                         ->     if (i < n) ...
 */
std::unique_ptr<Halide::Internal::IRMutator> guard_loads_of_conditions();

/** The same of one condition, a scalar. `short_circuit`: it becomes C++, whose && evaluates one side after the other. */
Halide::Expr with_guarded_loads(const Halide::Expr &condition, bool short_circuit);

}  // namespace halyard

#endif
