#ifndef HALYARD_COMMAND_MACHINE_H
#define HALYARD_COMMAND_MACHINE_H

/** \file
 * The levels of memory of this machine, and its clock: measured once for a number of threads and
 * kept in the cache, as the peaks are.
 */

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "explain/product_rates.h"

namespace halyard {

/** Bandwidths are of all threads together, with the data of a loop in that level. */
struct MemoryLevel {
    std::string name;    // "L1", "L2", "L3", "DRAM"
    int64_t bytes = 0;   // of one core's, or of all where they share it; 0 for DRAM
    double read = 0;     // bytes a second
    double written = 0;  // by plain stores, which read a line before they write it
};

struct Machine {
    std::vector<MemoryLevel> levels;
    double hertz = 0;         // of one core that computes
    double streamed = 0;      // bytes a second stored past the caches
    double page_seconds = 0;  // to get a new page from the system, clear it and give it back
    double flops = 0;         // f32, all threads
    ProductRates bf16, bytes;
    int threads = 1;

    const MemoryLevel &level(const std::string &name) const;
};

/** Measures (a second or two) unless it is in the cache; `again` measures in any case. */
Machine measured_machine(int threads, bool again);

/** All of it, for another machine to plan with. */
nlohmann::json to_json(const Machine &machine);
/** Throws nlohmann::json::exception. */
Machine machine_from_json(const nlohmann::json &json);

}  // namespace halyard

#endif
