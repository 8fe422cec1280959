#ifndef HALYARD_TESTS_OPS_PAIRS_H
#define HALYARD_TESTS_OPS_PAIRS_H

/** \file
 * Covering sets of builds.
 */

#include <functional>
#include <string>
#include <vector>

#include "op_test.h"

namespace ops_test {

/** Few assignments that hold every pair of values of two choices at least once. The same every time. */
std::vector<Assignments> all_pairs(const std::vector<Choice> &choices);

/** Whether a value of a choice is one that a build has to hold. */
using Wanted = std::function<bool(const std::string &choice, const std::string &value)>;

/** `given`, and few of `all` besides, that between them hold each value that all of them have and that is wanted: the next one is the
 * one that brings most. */
std::vector<Assignments> with_every_value(const std::vector<Assignments> &all, const Wanted &wanted,
                                          const std::vector<Assignments> &given = {});

}  // namespace ops_test

#endif
