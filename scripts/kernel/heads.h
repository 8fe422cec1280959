#ifndef HALYARD_COMMAND_HEADS_H
#define HALYARD_COMMAND_HEADS_H

/** \file
 * The heads of scripts, read in a process of its own: nothing of a script runs in the command.
 *
 * One process (halyard-heads) reads many, each within the limits of the sandbox and, behind those, of the kernel.
 */

#include <string>
#include <vector>

#include "language/script.h"

namespace halyard {

struct HeadRequest {
    std::string script;
    ScriptOptions options;
};

/** A head, or what is wrong with it. */
struct Head {
    bool ok = false;
    ScriptHeader header;
    Diagnostic error;
};

/** In their order. After `timeout` seconds the process is stopped, and what was not read by then has an error. */
std::vector<Head> read_heads(const std::vector<HeadRequest> &requests, double timeout);

/** Those of some schedules as they are, for no target: for tables. */
std::vector<Head> read_heads(const std::vector<std::string> &scripts);

/** One; throws ScriptError. */
ScriptHeader read_head(const std::string &script, const ScriptOptions &options, double timeout);

}  // namespace halyard

#endif
