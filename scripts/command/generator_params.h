#ifndef HALYARD_COMMAND_GENERATOR_PARAMS_H
#define HALYARD_COMMAND_GENERATOR_PARAMS_H

/** \file
 * What a generator executable says about its own parameters, for lists and messages.
 */

#include <string>
#include <vector>

#include "generate.h"

namespace halyard {

struct GeneratorParam {
    std::string name;
    std::vector<std::string> choices;  // of an enumeration, a boolean or an element type; empty for numbers
    std::string value;                 // by default
};

/** The parameters of a generator, read from the C++ stub that it can write of itself; empty where
 * it cannot. */
std::vector<GeneratorParam> generator_params(const std::string &executable, const std::string &generator);

/** Where Halide rejected a generator parameter, a message that says which, who gave it, and what
 * there is; "" for any other message. */
std::string explain_param_error(const Plan &plan, const std::string &halide_message);

}  // namespace halyard

#endif
