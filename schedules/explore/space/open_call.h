#ifndef HALYARD_EXPLORE_OPEN_CALL_H
#define HALYARD_EXPLORE_OPEN_CALL_H

/** \file
 * `k:open(...)` in the text of a script: what stands for the statements that a search finds.
 */

#include <optional>
#include <string>

namespace halyard::explore {

struct OpenCall {
    size_t begin = 0, end = 0;  // of the call in the text
    std::string funcs;          // what it is called on: "k"
    std::string indent;         // of its line
};

/** Whether a text has such a call anywhere. */
bool has_open_call(const std::string &lua);

/** The call that begins in a line; nothing where it is no statement of its own. */
std::optional<OpenCall> find_open_call(const std::string &lua, int line);

}  // namespace halyard::explore

#endif
