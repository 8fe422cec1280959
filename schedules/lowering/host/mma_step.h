#ifndef HALYARD_LOWERING_MMA_STEP_H
#define HALYARD_LOWERING_MMA_STEP_H

/** \file
 * The step of a product that is under way (runtime/mma_ahead.h) as textual IR, to be inlined where it is called.
 */

#include <string>

namespace halyard {

/** How products call it: halyard_mma_bf16_step and so on, with the memory of the product and the turn. */
inline const char *const kMmaStepSuffix = "_step";

/** The definition of the function that a line declares, `with_tiles` or doing nothing; "" where it declares none of these. */
std::string mma_step_function(const std::string &declaration, bool with_tiles);

/** What those definitions call, declared. */
std::string mma_step_declarations();

}  // namespace halyard

#endif
