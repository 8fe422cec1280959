#ifndef HALYARD_COMMAND_CPU_H
#define HALYARD_COMMAND_CPU_H

/** \file
 * The processor that the command runs on.
 */

#include <cstdint>
#include <set>
#include <string>

namespace halyard {

struct Cpu {
    std::string model;
    std::set<std::string> flags;     // as /proc/cpuinfo spells them
    int processors = 1;              // that this process may use
    int64_t l1 = 0, l2 = 0, l3 = 0;  // data caches in bytes; 0 where unknown
    std::string level;               // the best alias of targets.h; "" below sse41

    int64_t last_level() const {
        return l3 > 0 ? l3 : l2 > 0 ? l2 : int64_t(32) << 20;
    }
};

const Cpu &cpu();

}  // namespace halyard

#endif
