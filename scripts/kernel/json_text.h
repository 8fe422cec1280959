#ifndef HALYARD_COMMAND_JSON_TEXT_H
#define HALYARD_COMMAND_JSON_TEXT_H

/** \file
 * nlohmann::json::parse(), compiled once: the compiler takes long for each file that calls it.
 */

#include <string>

#include <nlohmann/json.hpp>

namespace halyard {

/** Throws nlohmann::json::parse_error where the text is no JSON. */
nlohmann::json parse_json(const std::string &text);

/** The same for a text that may be anything: is_discarded() where it is no JSON. */
nlohmann::json parse_if_json(const std::string &text);

}  // namespace halyard

#endif
