#ifndef HALYARD_KERNEL_HEADER_TEXT_H
#define HALYARD_KERNEL_HEADER_TEXT_H

/** \file
 * What the C header of a library says of its function.
 */

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/assignments.h"

namespace halyard {

struct HeaderArgument {
    std::string type, name;  // as the prototype has them: the type is "" for an array
};

/** The arguments of a function in their order; none where the header has no such function. */
std::vector<HeaderArgument> header_arguments(const std::string &header, const std::string &function);

/** A header with a comment before `function`: what it computes, and of each argument its type, its extents and what packs it. `arguments`
 * is what the plugin reports of arrays; without it, or where the header has no such function, the header stays as it is. */
std::string described_header(const std::string &header, const std::string &function, const std::string &op, const Assignments &params,
                             const nlohmann::json &arguments);

/** The same of the header that a generator left in a folder. */
void describe_header(const std::string &directory, const std::string &function, const std::string &op, const Assignments &params,
                     const nlohmann::json &report);

}  // namespace halyard

#endif
