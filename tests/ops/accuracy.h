#ifndef HALYARD_TESTS_OPS_ACCURACY_H
#define HALYARD_TESTS_OPS_ACCURACY_H

/** \file
 * How far results are from float64 and how far they may be, in epsilons of their type: the rows of docs/reference/accuracy.md,
 * which the tests of AVX2 make of the same bounds and results that they check.
 */

#include "op_test.h"

namespace ops_test {

/** The most of all elements, or of all outputs. */
struct Accuracy {
    double bound = 0, seen = 0;            // of an element, in epsilons of the largest of its output; of 8 bits, in steps
    double norm_bound = 0, norm_seen = 0;  // of the norm of an output in bf16, without the rounding of what is stored
};

/** By the type of the result, and by the bound of its norm where there is one. */
using Accuracies = std::map<std::pair<std::string, double>, Accuracy>;

/** Adds an output. Integers of 32 bits are exact and so have no row, nor have numbers of 8 bits, which are checked to be the nearest; few elements may all be what is left of large
 * numbers that cancelled, and are not counted. */
void add_output(Accuracies &all, const halide_type_t &type, const std::vector<double> &got, const std::vector<Expected> &want,
                double norm_bound, double norm_seen);

/** "" or how the rows of an op in docs/reference/accuracy.md differ from these. What was seen may be up to twice what the page says,
 * and a little, as another processor may divide in another way. With HALYARD_UPDATE_ACCURACY set the rows are written instead. */
std::string check_accuracy(const OpTest &test, const std::string &op, const Accuracies &all);

}  // namespace ops_test

#endif
