#ifndef HALYARD_CODE_SIZE_H
#define HALYARD_CODE_SIZE_H

/** \file
 * How much code a schedule asks for, told before Halide lowers it: loops that are written out multiply it.
 *
 *   y.unroll("col", 8), y.vectorize("row", 64), f computed at a loop inside of both
 *     ->
 *   32 copies of the statements of f and y, where a vector has 16 numbers
 *
 * A schedule that asks for too much would fill the memory, or end the compiler by its depth of recursion.
 */

#include <set>
#include <utility>
#include <vector>

#include "language/binding.h"

namespace halyard {

/** A loop that is unrolled or vectorised, and the directive that said so. */
struct WrittenOut {
    std::string func, loop;  // plain names
    int64_t times = 0;
    Touch by;
};

struct CodeSize {
    double copies = 0;              // of one statement, the most
    double guarded = 0;             // of one statement, each with a condition of its own, the most
    double nodes = 0;               // of expressions, all copies together
    std::vector<WrittenOut> loops;  // the largest first
};

/** What Halide replaces by calls: updates of Funcs, by Halide's names. */
using Replaced = std::set<std::pair<std::string, int>>;

CodeSize code_size(const PipelineView &view, const Halide::Target &target, const std::vector<Touch> &touches, const Replaced &replaced);

/** Throws ScriptError, at the directive that contributes most, where a compiler would not get to the end of it. */
void check_code_size(const CodeSize &size, const std::string &script);

}  // namespace halyard

#endif
