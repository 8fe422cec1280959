#ifndef HALYARD_LINT_H
#define HALYARD_LINT_H

/** \file
 * What is slow in a schedule that is legal: a line each, with the word that mends it.
 *
 * It reads the tree that `explain` counts in, at one size, so what it says is an estimate, and it keeps quiet about what is little of
 * all the work, and about all of it where that is little.
 */

#include <set>
#include <string>
#include <vector>

#include "language/binding.h"
#include "language/needed_work.h"

namespace halyard {

/** One line, ready to print: `softmax.lua:12: note: k.row_max is computed 4096 times over: ...`. */
struct LintNote {
    std::string file;
    int line = 0;
    std::string message;

    std::string text() const;
};

/** What a look at a schedule has. */
struct LintView {
    const LoopTree &tree;
    const NeededWork &needed;
    const PipelineView &view;
    const std::vector<Touch> &touches;
    std::set<std::string> products;  // Funcs of the word mma, by Halide's names
    std::string script;              // that a note is about where no line is
    int line = 0;
    int vector_bytes = 32, registers = 16;
    double l1 = 32 << 10;
    double multiply_adds = 8;  // of a product of the word mma, in the time of one instruction of the rest
};

/** Of a schedule for the host, and of one for CUDA. */
std::vector<LintNote> lint_host(const LintView &view);
std::vector<LintNote> lint_device(const LintView &view);

}  // namespace halyard

#endif
