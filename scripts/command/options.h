#ifndef HALYARD_COMMAND_OPTIONS_H
#define HALYARD_COMMAND_OPTIONS_H

/** \file
 * The options that build, show, check and bench share.
 */

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "generate.h"

namespace halyard {

struct CommonOptions {
    std::string generator, target, devices;
    std::vector<std::string> set, facts, params;
    double timeout = 300;

    /** Adds --target, --devices, --set, --fact, --param, --generator and --timeout. */
    void add(CLI::App &app, const std::string &target_help);

    /** A request with these options; throws UsageError. */
    GenerateRequest request(const std::string &op, const std::string &schedule) const;
};

/** Accepts a duration. */
CLI::Validator positive_seconds();

/** A list option that takes one value at a time, so that a positional may follow it. */
CLI::Option *add_repeated(CLI::App &app, const std::string &names, std::vector<std::string> &into,
                          const std::string &help);

}  // namespace halyard

#endif
