#ifndef HALYARD_EXPLORE_LUA_WRITER_H
#define HALYARD_EXPLORE_LUA_WRITER_H

/** \file
 * A plan as a Lua schedule. The text is what is built and timed, so what was searched is what is read.
 */

#include "kernel/generate.h"
#include "explore/space/plan.h"

namespace halyard::explore {

struct ScriptHead {
    std::string op;
    std::vector<std::string> comment;  // lines, without the dashes
    Assignments generator;             // parameters that the schedule declares
};

/** What the statements stand in: a function of a script that a person wrote. */
struct ScriptPlace {
    std::string funcs = "k";                     // what it calls the Funcs
    std::string lanes = "target:lanes \"f32\"";  // how it says that number
    std::string indent = "    ";
};

/** The statements for the Funcs that are open, without an indentation before the first line. */
std::string write_statements(const Description &description, const Plan &plan, const ScriptPlace &place);

std::string write_lua(const Description &description, const Plan &plan, const ScriptHead &head);

}  // namespace halyard::explore

#endif
