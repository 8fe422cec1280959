#ifndef HALYARD_MATH_OPEN_NUMBER_H
#define HALYARD_MATH_OPEN_NUMBER_H

/** \file
 * A number of the algorithm that a schedule sets: as one of its parameters, which its versions may each set otherwise
 * (schedules/language/open_numbers.h). So one library has an algorithm for some sizes and another one for others.
 */

#include <string>

#include <Halide.h>

namespace halyard {

constexpr int kOpen = -1;

/** What a generator parameter says, or the number that the parameter `name` of the schedule has. */
inline Halide::Expr number_or_open(int given, const std::string &name) {
    using namespace Halide;
    if (given != kOpen) {
        return given;
    }
    const std::string unique = "halyard_open." + name;
    return Internal::Variable::make(Int(32), unique, Parameter(Int(32), false, 0, unique));
}

}  // namespace halyard

#endif
