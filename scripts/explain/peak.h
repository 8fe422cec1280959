#ifndef HALYARD_COMMAND_PEAK_H
#define HALYARD_COMMAND_PEAK_H

/** \file
 * What this machine can do at best: the roof that a kernel is held against. Measured once for a
 * number of threads and kept in the cache, under the model of the processor.
 */

#include <cstdint>
#include <utility>
#include <vector>

namespace halyard {

struct Peak {
    /** Working set in bytes, and bytes (read and written) per second of the best copy in it; one
     * entry for each level of cache, the last one for memory. */
    std::vector<std::pair<int64_t, double>> copy;
    double flops = 0;  // f32 multiply-adds, two operations each, per second

    /** Of a copy whose data is where a kernel with that many bytes finds its own. */
    double bandwidth(int64_t bytes) const;

    /** Of a copy from and to memory. */
    double memory_bandwidth() const {
        return copy.back().second;
    }
};

/** Measures (about a second) unless it is in the cache; `again` measures in any case. */
Peak machine_peak(int threads, bool again);

}  // namespace halyard

#endif
