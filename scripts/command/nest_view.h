#ifndef HALYARD_COMMAND_NEST_VIEW_H
#define HALYARD_COMMAND_NEST_VIEW_H

/** \file
 * A loop nest as text: beside the Lua that made it, or as what a word changed in it.
 */

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace halyard {

/** The lines of a report's "nest", each with the Lua line that made it to the right. `width` 0 is no limit. */
std::vector<std::string> beside_source(const nlohmann::json &nest, const std::string &script, size_t width);

struct DiffLine {
    char mark;  // '+', '-' or ' '
    std::string text;
};

/** The lines that `after` and `before` share and those that they do not, in order. */
std::vector<DiffLine> diff(const std::vector<std::string> &before, const std::vector<std::string> &after);

}  // namespace halyard

#endif
