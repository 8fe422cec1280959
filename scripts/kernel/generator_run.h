#ifndef HALYARD_COMMAND_GENERATOR_RUN_H
#define HALYARD_COMMAND_GENERATOR_RUN_H

/** \file
 * The only place where the command line of a generator executable is made.
 *
 * Texts of scripts, of databases and of users come to it in two ways only: as generator parameters, which are checked
 * against what the generator declares, and in the request to our plugin, which is a file.
 */

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/generator_params.h"
#include "kernel/process.h"

namespace halyard {

struct GeneratorRun {
    std::string executable;  // with Halide's stock main
    std::string generator;   // its name there
    std::string function;    // of the C function and of the files
    std::string directory;   // for what it writes; to the process it is kOwnFolder
    std::vector<std::string> emit, targets;
    Assignments params;
    nlohmann::json request;  // for our plugin (plugin_settings.h); null runs the generator without it
    ProcessOptions options;  // of the process: its limits
    Blame blame;             // for messages about params; empty says --param
};

/** Throws Failure where the parameters are none of the generator's. */
ProcessResult run_generator(const GeneratorRun &run);

}  // namespace halyard

#endif
