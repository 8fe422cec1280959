#ifndef HALYARD_COMMAND_KEPT_MEASUREMENT_H
#define HALYARD_COMMAND_KEPT_MEASUREMENT_H

/** \file
 * What was measured on a processor, kept in the cache's folder: a file a kind of measurement, in it a record for
 * each processor and number of threads.
 */

#include <string>

#include <nlohmann/json.hpp>

namespace halyard {

/** Null where there is none. `file` is a name without folder. The fields are those of the version that wrote it. */
nlohmann::json kept_measurement(const std::string &file, int threads);

/** Replaces the file as a whole. */
void keep_measurement(const std::string &file, int threads, const nlohmann::json &record);

}  // namespace halyard

#endif
