#ifndef HALYARD_OPEN_NUMBERS_H
#define HALYARD_OPEN_NUMBERS_H

/** \file
 * Numbers of an algorithm that its schedule sets (generators/math/open_number.h):
 *
 *   RDom part(0, number_or_open(parts, "blocks"))
 *     ->
 *   RDom part(0, 16)                                    params = { blocks = 16 }, or a version with blocks = 16
 *
 * They are set before a schedule is applied to the pipeline or to the copy of it that a version has.
 */

#include <functional>
#include <string>

#include <Halide.h>

namespace halyard {

/** Sets them in place. `value_of` says what a parameter of the schedule has, "" where there is none. Throws
 * std::invalid_argument for those that no parameter sets to an integer. */
void set_open_numbers(const Halide::Pipeline &pipeline, const std::function<std::string(const std::string &)> &value_of);

}  // namespace halyard

#endif
