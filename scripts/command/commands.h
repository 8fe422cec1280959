#ifndef HALYARD_COMMAND_COMMANDS_H
#define HALYARD_COMMAND_COMMANDS_H

/** \file
 * The subcommands. Each adds itself to the application; its callback does the work, throws
 * Failure or UsageError, and otherwise ends well.
 */

#include <CLI/CLI.hpp>

namespace halyard {

void add_list(CLI::App &app);
void add_build(CLI::App &app);
void add_compile(CLI::App &app);
void add_library(CLI::App &app);
void add_show(CLI::App &app);
void add_candidate(CLI::App &app);
void add_finish(CLI::App &app);
void add_check(CLI::App &app);
void add_db(CLI::App &app);
void add_bench(CLI::App &app);
void add_explain(CLI::App &app);
void add_explore(CLI::App &app);
void add_measure(CLI::App &app);
void add_worker(CLI::App &app);
void add_doctor(CLI::App &app);
void add_version(CLI::App &app);
void add_completion(CLI::App &app);
void add_man(CLI::App &app);

/** "halyard 0.1.0" */
std::string version_text();

/** Thrown by a callback whose output is complete but which ends with this exit code. */
struct ExitCode {
    int code;
};

}  // namespace halyard

#endif
