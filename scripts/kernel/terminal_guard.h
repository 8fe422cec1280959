#ifndef HALYARD_COMMAND_TERMINAL_GUARD_H
#define HALYARD_COMMAND_TERMINAL_GUARD_H

/** \file
 * What reaches a terminal is text: names and messages come from scripts, databases and generators, and may hold what would
 * move its cursor, change its title or hide a line. Colours and progress of our own say that they are.
 */

#include <string>

namespace halyard {

/** From here on what goes to standard output and standard error is made visible where these are terminals. */
void guard_terminal();

/** A control sequence of our own, as "\x1b[0m": marked, so that a guarded terminal gets it. */
std::string own_control(const std::string &sequence);

/** What a guarded terminal gets of a whole text, for a pager that is started in its place. */
std::string as_on_terminal(std::string text);

/** `\x1b` and the like in place of what controls a terminal or reorders text; lines and tabs stay. */
std::string visible(const std::string &text);

}  // namespace halyard

#endif
