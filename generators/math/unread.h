#ifndef HALYARD_MATH_UNREAD_H
#define HALYARD_MATH_UNREAD_H

/** \file
 * Inputs of which nothing is read in some calls, as their loops have no turns.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** Whether Halide's simplifier may take a condition for granted. */
enum class Granted { kYes, kNo };

/** Without `turns` no element of the inputs is read, so that they may be empty: bounds of reads that are clamped to the last
 * element, as there are, would have it that the one before the first is. Inputs that a variant lacks may be among them. Of several
 * conditions for an input all must hold.
 *
 * It is a requirement, which the plugin takes out (schedules/lowering/host/empty_calls.h). Halide takes it for granted: regions that
 * end at a clamped last element then have as many elements as there are, also where that is none. Where that keeps it from
 * splitting loops at the place where clamped reads begin to be clamped, as for extents of an output, say Granted::kNo. */
inline void read_only_if(Halide::Internal::GeneratorBase &generator, const Halide::Expr &turns, const std::vector<std::string> &inputs,
                         Granted granted = Granted::kYes) {
    using Halide::Internal::Call;
    std::string names = "halyard:read_only_if";
    for (const auto &i : inputs) {
        names += " " + i;
    }
    // The second of two values is known by nobody.
    const Halide::Expr hidden = Call::make(Halide::Bool(), Call::return_second, {Halide::Expr(names), turns}, Call::PureIntrinsic);
    generator.add_requirement(granted == Granted::kYes ? turns : hidden, names);
}

}  // namespace halyard

#endif
