#ifndef HALYARD_COMMAND_FAILURE_H
#define HALYARD_COMMAND_FAILURE_H

/** \file
 * The three ways in which a subcommand ends early; main() turns them into exit codes.
 */

#include <stdexcept>
#include <string>

namespace halyard {

/** The work could not be done: exit code 1. what() is ready to print. */
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/** The command line asks for something that does not exist: exit code 2. */
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/** SIGINT or SIGTERM came; thrown so that temporary files are removed on the way out. */
class Interrupted : public std::runtime_error {
public:
    explicit Interrupted(int number) : std::runtime_error("interrupted"), signal(number) {}
    int signal;
};

}  // namespace halyard

#endif
