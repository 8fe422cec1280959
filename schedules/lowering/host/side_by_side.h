#ifndef HALYARD_SIDE_BY_SIDE_H
#define HALYARD_SIDE_BY_SIDE_H

/** \file
 * Parallel loops of Funcs that need nothing of each other, as one: a horizontal fusion.
 *
 *   produce q: if (many rows) parallel job < n1: body1 else parallel job < n2: body2
 *   produce k: parallel job < n3: body3
 *     ->
 *   parallel job < (many rows ? n1 : n2) + n3:
 *     if (job < (many rows ? n1 : n2)) { if (many rows) body1 else body2 }
 *     else body3 of job - (many rows ? n1 : n2)
 *
 * Bodies that are large stay functions of their own (parallel_jobs.cpp).
 * Halide's compute_with wants the same loops in the same order, and no specialised stages; this takes each body as it is.
 */

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** Funcs whose loops become one, and how to tell the user that they cannot: `fail` throws, with the line of the script in its
 * message. */
struct SideBySide {
    std::vector<Halide::Internal::Function> funcs;
    std::vector<std::string> names;  // of the funcs, for messages
    std::function<void(const std::string &)> fail;
};

/** The stage that stores the elements of a Func: its definition, or the only update of one that is undef elsewhere, as of rows that an index
 * names. Null where stages follow each other. */
const Halide::Internal::Definition *only_stage(const Halide::Internal::Function &f);

/** A pass for Pipeline::add_custom_lowering_pass, behind those that know loops by their names. No Func of the group needs another. */
std::unique_ptr<Halide::Internal::IRMutator> put_side_by_side(SideBySide group);

}  // namespace halyard

#endif
