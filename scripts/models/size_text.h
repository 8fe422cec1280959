#ifndef HALYARD_MODELS_SIZE_TEXT_H
#define HALYARD_MODELS_SIZE_TEXT_H

/** \file
 * Sizes of a model's arrays as its report has them: `batch*12+1`, `div(tokens+1,2)`, `max(a,b)`, `min(a,b)`.
 */

#include <cstdint>
#include <map>
#include <string>

namespace halyard {

/** Its value in doubles, so that a report of a stranger overflows nothing. Throws Failure where it is no such text. */
double value_of_size(const std::string &text, const std::map<std::string, int64_t> &dimensions);

}  // namespace halyard

#endif
