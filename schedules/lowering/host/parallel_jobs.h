#ifndef HALYARD_PARALLEL_JOBS_H
#define HALYARD_PARALLEL_JOBS_H

/** \file
 * What computes a Func, as a number of jobs that may run in any order and at once.
 */

#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

namespace halyard {

struct ParallelJobs {
    Halide::Expr count;           // not defined: it is not computed by jobs
    Halide::Internal::Stmt body;  // of one of them
};

/** Names and what they stand for, in order. */
using Definitions = std::vector<std::pair<std::string, Halide::Expr>>;

/** The jobs of a parallel loop, under conditions or not; of a statement without parallel loops, which is one. Definitions around it
 * become common ones, under new names, but for those that load. `job` is the variable that numbers the jobs from 0. */
ParallelJobs jobs_of(const Halide::Internal::Stmt &s, const std::string &job, Definitions &common);

}  // namespace halyard

#endif
