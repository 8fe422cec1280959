#ifndef HALYARD_MATH_UNREAD_H
#define HALYARD_MATH_UNREAD_H

/** \file
 * Inputs of which nothing is read in some calls, as their loops have no turns.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** Without `turns` no element of the inputs is read, so that they may be empty: bounds of reads that are clamped to the last
 * element, as there are, would have it that the one before the first is. It is a requirement of this name, which the plugin
 * takes out (schedules/lowering/empty_calls.h). Inputs that a variant lacks may be among them. */
inline void read_only_if(Halide::Internal::GeneratorBase &generator, const Halide::Expr &turns, const std::vector<std::string> &inputs) {
    std::string text = "halyard:read_only_if";
    for (const auto &i : inputs) {
        text += " " + i;
    }
    generator.add_requirement(turns, text);
}

}  // namespace halyard

#endif
