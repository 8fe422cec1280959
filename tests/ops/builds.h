#ifndef HALYARD_TESTS_OPS_BUILDS_H
#define HALYARD_TESTS_OPS_BUILDS_H

/** \file
 * The builds of an op that between them hold each pair of its choices.
 */

#include "op_test.h"

namespace ops_test {

/** Those of one target, each once. */
std::vector<Assignments> builds_for(const OpTest &test, const std::string &target);

/** For each CUDA schedule, what of the choices it leaves open: pairs of them for the first, values for the others, which
 * have most of their code in common with it. */
std::vector<Assignments> cuda_builds(const OpTest &test, const std::string &op);

}  // namespace ops_test

#endif
