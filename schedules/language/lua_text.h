#ifndef HALYARD_LUA_TEXT_H
#define HALYARD_LUA_TEXT_H

/** \file
 * Pieces of Lua as text, for what writes schedules.
 */

#include <map>
#include <set>
#include <string>
#include <vector>

namespace halyard {

/** Whether Lua takes it behind a dot: `k.sum`, but `k["end"]`. */
bool is_lua_name(const std::string &name);

/** A name for a local variable: `f$1` is "f_1". */
std::string lua_identifier(std::string name);

std::string in_quotes(const std::string &text);

/** `"row", "col"` */
std::string all_in_quotes(const std::vector<std::string> &texts);

/** What `k` has under this name: `k.y`. */
std::string lua_field_of_k(const std::string &name);

/** The head of a schedule: comment lines (without dashes), modules of the library, generator parameters, and all up to
 * the body of `apply`; `lua_tail()` closes it. */
std::string lua_head(const std::string &op, const std::string &target, const std::vector<std::string> &comment,
                     const std::map<std::string, std::string> &generator, const std::string &arguments,
                     const std::set<std::string> &modules = {});
std::string lua_tail();

}  // namespace halyard

#endif
