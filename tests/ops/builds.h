#ifndef HALYARD_TESTS_OPS_BUILDS_H
#define HALYARD_TESTS_OPS_BUILDS_H

/** \file
 * The builds of an op that are tested: between them they hold each value of its choices, and with HALYARD_TEST_PAIRS=1 in the
 * environment each pair of them, which takes four times as long.
 */

#include "op_test.h"

namespace ops_test {

/** Whether every pair of values is asked for, as it is where docs/reference/accuracy.md is written. */
bool tests_pairs();

/** Those of one target, each once. */
std::vector<Assignments> builds_for(const OpTest &test, const std::string &target);

/** For each CUDA schedule, what of the choices it leaves open: all of it for the first, and for the others, which have most of
 * their code in common with it, every value with pairs, and otherwise a few. */
std::vector<Assignments> cuda_builds(const OpTest &test, const std::string &op);

}  // namespace ops_test

#endif
