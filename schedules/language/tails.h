#ifndef HALYARD_TAILS_H
#define HALYARD_TAILS_H

/** \file
 * Tail strategies that compute something wrong together, or that LLVM has no code for, each of which Halide takes.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** What is wrong with the tails of a stage's splits, "" for nothing. `pure`: of its first definition.
 *
 * A tail that shifts the last turn inwards moves the inner loop onto elements of the turn before. If the outer loop is split
 * again and that tail rounds up, the turns beyond the end are moved onto such elements too, with masked loads or blends that
 * know nothing of it. If the shift blends, vectors over both loops store one element from two lanes. */
std::string wrong_tails(const Halide::Internal::StageSchedule &schedule, bool pure);

/** What is wrong with the tails of a stage that computes several `values` of `func` (by Halide's name), "" for nothing: where loads are
 * masked, Halide no longer keeps what was read before the first value is stored. */
std::string wrong_values(const Halide::Internal::StageSchedule &schedule, const std::string &func, const std::vector<Halide::Expr> &values);

/** What is wrong with the vectors of a stage that computes `values`, "" for nothing: LLVM cuts a vector under a mask into ones of the processor's width, and
 * ends where a rest of one lane is left. `pure`: as above. */
std::string wrong_masks(const Halide::Internal::StageSchedule &schedule, const std::vector<Halide::Expr> &values, bool pure,
                        const Halide::Target &target);

}  // namespace halyard

#endif
