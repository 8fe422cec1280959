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
 * element, as there are, would have it that the one before the first is. Inputs that a variant lacks may be among them.
 *
 * It is a requirement, which the plugin takes out (schedules/lowering/host/empty_calls.h), and stands as the second of two values, of
 * which the first names the inputs: from a plain condition Halide's simplifier would learn what turns are, and then no longer
 * split loops where clamped reads begin to be clamped. */
inline void read_only_if(Halide::Internal::GeneratorBase &generator, const Halide::Expr &turns, const std::vector<std::string> &inputs) {
    using Halide::Internal::Call;
    std::string names = "halyard:read_only_if";
    for (const auto &i : inputs) {
        names += " " + i;
    }
    generator.add_requirement(Call::make(Halide::Bool(), Call::return_second, {Halide::Expr(names), turns}, Call::PureIntrinsic));
}

}  // namespace halyard

#endif
