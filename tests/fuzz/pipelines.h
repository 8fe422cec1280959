#ifndef HALYARD_TESTS_FUZZ_PIPELINES_H
#define HALYARD_TESTS_FUZZ_PIPELINES_H

/** \file
 * Small algorithms of every kind that schedules meet, over integers that are exact in any order.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace fuzz {

/** Algorithms have the inputs x [col, row], w [col, col] and the scalar `scale`, and outputs [col, row]. */
struct Algorithm {
    Halide::Pipeline pipeline;
    Halide::ImageParam x, w;
    Halide::Param<int> scale;
    size_t outputs = 1;  // buffers, a tuple having several
};

struct Inputs {
    Halide::Func x, w;
    Halide::Expr cols, rows, scale;  // cols, rows: of x
};

/** The outputs of one. */
std::vector<Halide::Func> define_algorithm(const std::string &name, const Inputs &inputs);

/** stencil, reductions, tuple, histogram, product, outputs */
const std::vector<std::string> &algorithm_names();

/** A new one, without a schedule. */
Algorithm make_algorithm(const std::string &name);

}  // namespace fuzz

#endif
