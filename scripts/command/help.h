#ifndef HALYARD_COMMAND_HELP_H
#define HALYARD_COMMAND_HELP_H

/** \file
 * What --help prints: the table of options in groups, as wide as the terminal.
 */

#include <memory>

#include <CLI/CLI.hpp>

namespace halyard {

/** For the application; its subcommands inherit it. */
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace halyard

#endif
