#ifndef HALYARD_COMMAND_ARITHMETIC_H
#define HALYARD_COMMAND_ARITHMETIC_H

/** \file
 * The Lua arithmetic of the registry: extents, flops and default values.
 */

#include <map>
#include <optional>
#include <string>

namespace halyard {

using Dims = std::map<std::string, int64_t>;

/** The value of an expression over the dimensions; nothing where it uses a name that is not there.
 * Throws Failure where it is no number. */
std::optional<double> evaluate(const std::string &expression, const Dims &dims);

}  // namespace halyard

#endif
