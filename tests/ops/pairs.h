#ifndef HALYARD_TESTS_OPS_PAIRS_H
#define HALYARD_TESTS_OPS_PAIRS_H

/** \file
 * Covering sets of builds.
 */

#include <vector>

#include "op_test.h"

namespace ops_test {

/** Few assignments that hold every pair of values of two choices at least once. The same every time. */
std::vector<Assignments> all_pairs(const std::vector<Choice> &choices);

/** Those assignments that, going through them in order, bring a value that no earlier one has. */
std::vector<Assignments> with_new_values(const std::vector<Assignments> &all);

}  // namespace ops_test

#endif
