#ifndef HALYARD_TESTS_OPS_PAIRS_H
#define HALYARD_TESTS_OPS_PAIRS_H

/** \file
 * Covering sets of builds.
 */

#include <set>
#include <string>
#include <vector>

#include "op_test.h"

namespace ops_test {

/** Few assignments that hold every pair of values of two choices at least once. The same every time. */
std::vector<Assignments> all_pairs(const std::vector<Choice> &choices);

/** `given`, and few of `all` besides, that between them hold each value that all of them have: the next one is the one that brings
 * most. Of the choices named in `any` no value is asked for. */
std::vector<Assignments> with_every_value(const std::vector<Assignments> &all, const std::vector<Assignments> &given = {},
                                          const std::set<std::string> &any = {});

}  // namespace ops_test

#endif
