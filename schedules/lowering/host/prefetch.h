#ifndef HALYARD_PREFETCH_H
#define HALYARD_PREFETCH_H

/** \file
 * Prefetches of what an outer loop will need next, spread over an inner loop.
 *
 *   for row: { ...; for col: weight[col] = ...; ... }
 *     ->
 *   for row: { ...; for col: { halyard_prefetch_read(x, bytes to [row + 1][col]); weight[col] = ... }; ... }
 *
 * Halide's own prefetch asks for all of a region at once, which waits where it is long, and for the outermost cache only.
 * finish_ir() makes an instruction of the call.
 */

#include <memory>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

struct SpreadPrefetch {
    Halide::Internal::Function func;  // in whose loop it is
    int stage = 0;
    std::string loop;         // as Halide has it behind the stage
    std::string buffer;       // what is prefetched
    Halide::Type type;        // of its elements
    Halide::LoopLevel ahead;  // of which loop
    int offset = 1;           // iterations
    bool for_write = false;
    bool only_streamed = false;  // in the version of the loops that streams an output
};

/** A pass for Pipeline::add_custom_lowering_pass, after that of mark_streamed_stores(): streamed stores read no lines, so
 * that what they store is not prefetched. Where what is accessed later depends on data, or is not linear, it does nothing. */
std::unique_ptr<Halide::Internal::IRMutator> spread_prefetches(std::vector<SpreadPrefetch> prefetches);

}  // namespace halyard

#endif
