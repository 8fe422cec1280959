#ifndef HALYARD_EXPLORE_FACTS_H
#define HALYARD_EXPLORE_FACTS_H

/** \file
 * What a machine says of itself before it measures for another: times of two machines count for each other where they say the same.
 */

#include <string>

#include <nlohmann/json.hpp>

namespace halyard::explore {

struct Facts {
    std::string machine;       // as keys of the database name it
    std::string level;         // of instructions
    int processors = 1;        // that it may use
    std::string device;        // CUDA's, as keys name it; "" for none
    std::string architecture;  // of the device
    bool confined = false;     // candidates reach their own folder alone

    /** What its times hold for: "AMD EPYC 9654, 192 processors, L3 393216 KiB, avx512_zen4", or its device. */
    std::string kind(bool cuda) const;
};

Facts facts_here();

nlohmann::json to_json(const Facts &facts);
/** Throws nlohmann::json::exception. */
Facts facts_from_json(const nlohmann::json &json);

}  // namespace halyard::explore

#endif
