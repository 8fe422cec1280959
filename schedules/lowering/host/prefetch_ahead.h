#ifndef HALYARD_PREFETCH_AHEAD_H
#define HALYARD_PREFETCH_AHEAD_H

/** \file
 * Prefetches of what a loop itself will read, some bytes further on in memory.
 *
 *   for k: acc += a[k] * b[k]
 *     ->
 *   for k: { halyard_prefetch_read(b, bytes of [k] + 4096); acc += a[k] * b[k] }
 *
 * A processor's own prefetchers stop at the end of a page, and wait there for the first line of the next.
 */

#include <memory>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

struct AheadPrefetch {
    std::string func;  // in whose loop it is
    int stage = 0;
    std::string loop;                        // as Halide has it behind the stage
    std::vector<Halide::Parameter> buffers;  // of which is prefetched what the loop reads
    int bytes = 4096;
};

/** A pass for Pipeline::add_custom_lowering_pass. Each iteration asks for the lines of its vectors whose place does not
 * depend on data, up to 16 of a buffer. Behind the end of a buffer a prefetch has no effect. */
std::unique_ptr<Halide::Internal::IRMutator> prefetch_ahead(std::vector<AheadPrefetch> prefetches);

}  // namespace halyard

#endif
