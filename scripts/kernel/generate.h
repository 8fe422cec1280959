#ifndef HALYARD_COMMAND_GENERATE_H
#define HALYARD_COMMAND_GENERATE_H

/** \file
 * One run of a generator executable with a schedule, and what came of it.
 */

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/arithmetic.h"
#include "kernel/assignments.h"

namespace halyard {

/** What is to be built, as the command line says it. */
struct GenerateRequest {
    std::string op;
    std::string generator;              // a stock generator executable; "" takes the registry's
    std::string schedule;               // a file or a name; "" takes the shipped one
    std::string target;                 // aliases or Halide's strings, with commas
    std::string devices;                // of CUDA kernels, with commas; "" for all that are usual
    std::vector<std::string> constant;  // inputs that no other kernel of CUDA writes meanwhile
    Assignments set, facts, params;
    std::string function;  // "" takes the op's name
    std::vector<std::string> emit = {"static_library", "c_header"};
    bool steps = false;
    bool passes = false;                // the report has the passes over CUDA kernels
    std::string after;                  // with what the one of this name left of them
    std::string sizes, caches;          // for the report's "traffic", as the plugin takes them
    bool lint = false;                  // the report has notes on what is slow,
    Dims lint_shape;                    // at this size; else at the first that the registry has
    std::vector<std::string> lib_dirs;  // where `require` looks besides the script's folder and the library
    double timeout = 300;
};

/** A request with everything looked up and checked. */
struct Plan {
    std::string op, executable, script, function;
    std::vector<std::string> targets;
    std::string devices;
    std::vector<std::string> constant;
    Assignments set, facts, params;  // params has those that the schedule declares
    std::vector<std::string> emit;
    std::set<std::string> declared;   // the names of params that the schedule declares
    int line = 0;                     // where it declares them
    std::vector<std::string> inputs;  // every file that the outputs depend on
    bool apart = false;               // as outputs of the registry's ops have to lie
    bool steps = false, passes = false;
    std::string after;
    std::string sizes, caches, lint;    // as the plugin takes them
    std::vector<std::string> lib_dirs;  // the library is the last one
    double timeout = 0;
    bool finish = true;  // without what needs the finishing step, assembly has Halide's names of the loops
};

/** Throws UsageError, Failure or ScriptError. */
Plan make_plan(const GenerateRequest &request);

struct Generated {
    bool ok = false;
    std::string error;              // ready to print
    nlohmann::json report;          // null where there is none
    std::string notes;              // warnings of the generator
    std::vector<std::string> slow;  // notes on what is slow, a line each
};

/** Runs the generator; its files go to `directory`. Does not throw for what the script or the generator got wrong. */
Generated generate(const Plan &plan, const std::string &directory);

/** "a=1,b=2" */
std::string assignments_text(const Assignments &assignments, const std::string &equals = "=");

/** Items of the form name=value. Throws UsageError that names the option. */
Assignments parse_options(const std::vector<std::string> &items, const std::string &option);

}  // namespace halyard

#endif
