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
#include <memory>
#include <string>

#include <Halide.h>

namespace halyard {

/** What a parameter of the schedule has, "" where there is none. */
using OpenNumbers = std::function<std::string(const std::string &name)>;

/** Sets them in place. Throws
 * std::invalid_argument for those that no parameter sets to an integer of the range that the algorithm takes. */
void set_open_numbers(const Halide::Pipeline &pipeline, const OpenNumbers &value_of);

/** A pass that sets those in what is required of a call, which a pipeline keeps to itself. */
std::unique_ptr<Halide::Internal::IRMutator> set_open_numbers_required(OpenNumbers value_of);

}  // namespace halyard

#endif
