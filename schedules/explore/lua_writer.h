#ifndef HALYARD_EXPLORE_LUA_WRITER_H
#define HALYARD_EXPLORE_LUA_WRITER_H

/** \file
 * A plan as a Lua schedule. The text is what is built and timed, so what was searched is what is read.
 */

#include "generate.h"
#include "plan.h"

namespace halyard::explore {

struct ScriptHead {
    std::string op;
    std::vector<std::string> comment;  // lines, without the dashes
    Assignments generator;             // parameters that the schedule declares
};

std::string write_lua(const Description &description, const Plan &plan, const ScriptHead &head);

}  // namespace halyard::explore

#endif
