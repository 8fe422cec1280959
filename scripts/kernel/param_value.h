#ifndef HALYARD_COMMAND_PARAM_VALUE_H
#define HALYARD_COMMAND_PARAM_VALUE_H

/** \file
 * Which texts are values of a generator parameter.
 */

#include <string>

#include "kernel/generator_params.h"

namespace halyard {

/** Letters, digits and underlines, of which the first is no digit; none of the words that Halide's main keeps for itself. */
bool is_param_name(const std::string &name);

/** Whether a text can stand in a word of a command line and in a comment of a generated header, whatever it means. */
bool is_harmless(const std::string &value);

/** "" where the text is a value of the parameter, else what its values are, as "a whole number". */
std::string why_no_value(const GeneratorParam &param, const std::string &value);

}  // namespace halyard

#endif
