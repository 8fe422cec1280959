#ifndef HALYARD_SCRIPT_WORDS_H
#define HALYARD_SCRIPT_WORDS_H

/** \file
 * What the head of a script is written with: `schedule "op" { ... }` and `tune { ... }`.
 */

#include <string>

#include "language/lua_host.h"

namespace halyard {

/** Of names and values in a head: more is no schedule, and takes the time of its square. */
constexpr size_t kMostEntries = 256, kLongestValue = 4096;

/** `schedule` keeps its op, line and table in a userdata of this type, which a script cannot forge. */
constexpr const char *kScheduleType = "halyard.schedule_type";
enum ScheduleValue { kScheduleOp = 1, kScheduleLine, kScheduleFields, kScheduleValues = kScheduleFields };

/** The text of a parameter's value; "" for a value that no parameter can have. */
std::string value_text(lua_State *L, int index);

/** Makes both words known. */
void add_script_words(LuaHost &host);

}  // namespace halyard

#endif
