#ifndef HALYARD_TESTS_OPS_BUILDS_H
#define HALYARD_TESTS_OPS_BUILDS_H

/** \file
 * The builds of an op that are tested: between them they hold each value of its choices; of choices with four and more, this host's level
 * has every other value and AVX2 the rest. With HALYARD_TEST_PAIRS=1 in the environment each level has each pair of values.
 */

#include <map>
#include <string>
#include <vector>

#include "op_test.h"

namespace ops_test {

/** Whether every pair of values is asked for, as it is where docs/reference/accuracy.md is written. */
bool tests_pairs();

/** The first of every choice. */
Assignments first_choices(const OpTest &test);

/** The builds for this host that are asked for a call's first rows, alone and among others (same_bits_test.cpp): f32, with all that an op
 * can add to its sums, and bf16. */
std::vector<Assignments> builds_of_same_bits(const OpTest &test);

/** Those of one target that hold every pair of values. */
std::vector<Assignments> builds_of_pairs(const OpTest &test, const std::string &target);

/** Those that are tested of one target, each once. Those for this host begin with the builds of same bits: whoever comes first makes the
 * library of both tests. How weights in blocks lie is of no account to those for another level than this host's, but to gemm_q's. */
std::vector<Assignments> builds_for(const OpTest &test, const std::string &target);

/** Of those for this host the first of each schedule, by the name that the op's choices have for it. */
std::map<std::string, Assignments> builds_of_schedules(const OpTest &test);

/** For each CUDA schedule, what of the choices it leaves open: all of it for the first, and for the others, which have most of
 * their code in common with it, every value with pairs, and otherwise one, or one for each kind of device. */
std::vector<Assignments> cuda_builds(const OpTest &test, const std::string &op);

}  // namespace ops_test

#endif
