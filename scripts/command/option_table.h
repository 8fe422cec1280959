#ifndef HALYARD_COMMAND_OPTION_TABLE_H
#define HALYARD_COMMAND_OPTION_TABLE_H

/** \file
 * The subcommands and their options as rows: --help, the man page and the completion of shells are made of it.
 */

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace halyard {

/** The groups of options, in the order in which --help has them. An option that none was given is of the last. */
namespace group {
extern const char *const kOp,
    *const kSchedule, *const kTarget, *const kMeasurement, *const kSearch, *const kDatabase, *const kOutput, *const kLimits, *const kHelp;
}

/** Puts options of a subcommand, by their names, into a group. */
void put_in_group(CLI::App &cmd, const char *group, const std::vector<std::string> &names);

/** An option that says nothing by itself: an error where the other one is not given. */
void needs(CLI::App &cmd, const std::string &name, const std::string &other);

/** An option beside which others would say nothing: an error where one of these is given too. */
void leaves_out(CLI::App &cmd, const std::string &name, const std::vector<std::string> &others);

struct OptionRow {
    std::vector<std::string> names;  // "-o", "--output"; none of a positional
    std::string value;               // "DIR"; "" of a flag. Says what may stand there
    std::string text;                // what it is, with its default in brackets
    bool required = false, repeated = false;

    bool positional() const {
        return names.empty();
    }

    /** "-o, --output DIR", "OP..." */
    std::string head() const;
};

struct OptionGroup {
    std::string name;
    std::vector<OptionRow> rows;
};

/** Those that are not hidden, positionals first as "Arguments". */
std::vector<OptionGroup> option_groups(const CLI::App &cmd);

/** Those that are not hidden. */
std::vector<const CLI::App *> visible_subcommands(const CLI::App &app);

/** "halyard db import" */
std::string full_name(const CLI::App &cmd);

/** "halyard build OP [options]" */
std::string usage_line(const CLI::App &cmd);

/** What stands below the options: paragraphs, and commands as examples. */
struct Footer {
    std::string text;
    std::vector<std::string> examples;
};

Footer footer_of(const CLI::App &cmd);

}  // namespace halyard

#endif
