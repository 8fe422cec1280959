#ifndef HALYARD_COMMAND_BUILD_RECORD_H
#define HALYARD_COMMAND_BUILD_RECORD_H

/** \file
 * What `halyard build --json` says.
 */

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/generate.h"

namespace halyard {

/** Of a library that was built: its files, and all that it was made of. */
nlohmann::json build_record(const Plan &plan, const Generated &generated, const std::vector<std::string> &files,
                            const std::vector<std::string> &notes, double seconds);

/** Of one that was not: the text of the error; the place of it in a script where the plugin's report says it. */
nlohmann::json build_failure(const std::string &op, const std::string &text, const nlohmann::json &report = nullptr);

}  // namespace halyard

#endif
