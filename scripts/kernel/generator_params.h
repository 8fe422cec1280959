#ifndef HALYARD_COMMAND_GENERATOR_PARAMS_H
#define HALYARD_COMMAND_GENERATOR_PARAMS_H

/** \file
 * What a generator executable says about its own parameters, for lists, messages and checks.
 */

#include <functional>
#include <string>
#include <vector>

#include "kernel/generate.h"

namespace halyard {

struct GeneratorParam {
    std::string name;
    std::vector<std::string> choices;  // of an enumeration, a boolean or an element type; empty for numbers
    std::string value;                 // by default
    std::string type;                  // as C++ spells it: int32_t, bool, Type, std::string
};

/** What a generator declares, read from the C++ stub that it can write of itself. */
struct GeneratorInterface {
    bool known = false;  // it wrote a stub
    std::vector<GeneratorParam> params;
    std::vector<std::string> arguments;  // inputs and outputs, whose types and dimensions may be parameters too
};

/** Asks the executable once; later calls of this process get the same answer. */
const GeneratorInterface &generator_interface(const std::string &executable, const std::string &generator);

/** The parameters of a generator; empty where it cannot write a stub. */
std::vector<GeneratorParam> generator_params(const std::string &executable, const std::string &generator);

/** Who gave a parameter: the beginning of a message about it. */
using Blame = std::function<std::string(const std::string &name, const std::string &value)>;

/** "SCRIPT:LINE: error: the schedule's generator parameter a=1" or "--param a=1". */
Blame blame_of(const Plan &plan);

/** Throws Failure where a parameter is none that the generator declares, or has a value that is none of its type. */
void check_params(const std::string &executable, const std::string &generator, const Assignments &params, const Blame &blame);

/** Where Halide itself rejected a generator parameter, a message that says which, who gave it, and what
 * there is; "" for any other message. */
std::string explain_param_error(const Plan &plan, const std::string &halide_message);

}  // namespace halyard

#endif
