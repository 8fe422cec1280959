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

/** What a generator parameter says, or the number that the parameter `name` of the schedule has. Either is from `lowest` to `highest`:
 * others would make another algorithm. */
inline Halide::Expr number_or_open(int given, const std::string &name, int lowest, int highest) {
    using namespace Halide;
    if (given != kOpen) {
        if (given < lowest || given > highest) {
            throw CompileError("the algorithm takes " + std::to_string(lowest) + " to " + std::to_string(highest) + " " + name + ", not " +
                               std::to_string(given) + "\n");
        }
        return given;
    }
    const std::string unique = "halyard_open." + name;
    Parameter parameter(Int(32), false, 0, unique);
    parameter.set_min_value(lowest);
    parameter.set_max_value(highest);
    return Internal::Variable::make(Int(32), unique, parameter);
}

}  // namespace halyard

#endif
