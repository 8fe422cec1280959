#ifndef HALYARD_TAILS_H
#define HALYARD_TAILS_H

/** \file
 * Tail strategies that compute something wrong together, each of which Halide takes.
 */

#include <string>

#include <Halide.h>

namespace halyard {

/** What is wrong with the tails of a stage's splits, "" for nothing. `pure`: of its first definition.
 *
 * A tail that shifts the last turn inwards moves the inner loop onto elements of the turn before. If the outer loop is split
 * again and that tail rounds up, the turns beyond the end are moved onto such elements too, with masked loads or blends that
 * know nothing of it. If the shift blends, vectors over both loops store one element from two lanes. */
std::string wrong_tails(const Halide::Internal::StageSchedule &schedule, bool pure);

}  // namespace halyard

#endif
