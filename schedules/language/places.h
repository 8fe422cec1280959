#ifndef HALYARD_PLACES_H
#define HALYARD_PLACES_H

/** \file
 * Places of Funcs in loops that Halide takes, and of which it makes a program that computes something else, or reads memory
 * that nobody has. They can be told when all of a schedule was said.
 */

#include <map>
#include <string>

#include "language/binding.h"

namespace halyard {

/** Whether nothing was said of where a Func is computed. */
bool is_unplaced(const Halide::Internal::Function &f);

/** Where a Func is computed and stored among the loops over threads of its kernel. */
struct ThreadPlace {
    int around = 0;         // loops over threads that it is computed inside of
    int around_memory = 0;  // that it is stored inside of
    int own = 0;            // in its own loops, at most in one stage
    int nest = 0;           // of the Func in whose loops it is computed, further out or in; of one of the block's, its own
    std::string consumer;   // in whose loops it is computed, as scripts name it
};

/** Of all Funcs, by Halide's names. */
std::map<std::string, ThreadPlace> thread_places(const PipelineView &view);

/** Throws a ScriptError at the line that places a Func where
 *  - the loops in which it is computed are inside of its own;
 *  - the turns of a loop that "predicate_stores" cuts also compute it: these turns are more than there are elements, and only
 *    the stores are guarded;
 *  - it has loops over threads inside of those of its consumer, beyond what that nest has;
 *  - it is computed between two loops over threads, in memory that is the block's: it gets room for one of them;
 *  - each thread has it for itself, in memory of the block or the device, and its block may have more threads than the loops around it;
 *  - it is stored further out than it is computed, and the loop between both needs of it a part that moves with the loop as
 *    well as one that stays: Halide takes what an earlier turn needed for computed from one end to the other. */
void check_places(const Binding &binding, const PipelineView &view);

/** Stores in registers what each thread has for itself, where its block may have more threads and the script does not say in what memory.
 * A kernel refuses it if its size is not known. */
void store_in_registers(const PipelineView &view);

}  // namespace halyard

#endif
