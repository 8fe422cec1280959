#ifndef HALYARD_COMMAND_OPTIONS_H
#define HALYARD_COMMAND_OPTIONS_H

/** \file
 * The options that build, show, check and bench share.
 */

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "kernel/arithmetic.h"
#include "kernel/generate.h"

namespace halyard {

struct CommonOptions {
    std::string generator, target, devices;
    std::vector<std::string> set, facts, params;
    double timeout = 300;
    std::string db;  // the file of schedules that db:ID is in; "" for the usual one

    /** Adds --target, --devices, --set, --fact, --param, --generator, --timeout and --db. */
    void add(CLI::App &app, const std::string &target_help);

    /** A request with these options; throws UsageError. A schedule "db:ID" is one of the database, "best" the best that it
     * knows for the shape. */
    GenerateRequest request(const std::string &op, const std::string &schedule, const Dims *shape = nullptr) const;

    /** The file of --db, or the usual one. */
    std::string database() const;

    /** Throws UsageError where --db is given and nothing is looked up in it. */
    void check_database(const std::vector<std::string> &schedules, bool otherwise = false) const;
};

/** Accepts a duration. */
CLI::Validator positive_seconds();

/** An option that says where something is written: "", as of a variable that is not set, is an error. */
CLI::Option *add_output(CLI::App &app, const std::string &names, std::string &into, const std::string &help);

/** --no-lint */
void add_no_lint(CLI::App &app, bool &no_lint);

/** On standard error: what is slow in a schedule. */
void print_notes(const std::vector<std::string> &notes);

/** A list option that takes one value at a time, so that a positional may follow it. */
CLI::Option *add_repeated(CLI::App &app, const std::string &names, std::vector<std::string> &into, const std::string &help);

}  // namespace halyard

#endif
