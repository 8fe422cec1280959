#ifndef HALYARD_STORE_STAGE_H
#define HALYARD_STORE_STAGE_H

/** \file
 * Whose work a store in a lowered statement is.
 */

#include <Halide.h>

#include "language/loop_tree.h"

namespace halyard {

/** The first store in a statement, which tells whose work a let before it is; no name where there is none. */
struct FirstStore {
    std::string array;
    bool reads_itself = false;
};

FirstStore first_store(const Halide::Internal::Stmt &s);

/** `y.streamed` is y, stored past the caches; see lowering/stream.h. */
std::string without_streamed(const std::string &array);

/** The stage by the names of the loops around, the outermost first. */
StageName stage_of_store(const FirstStore &store, const std::vector<std::string> &loops);

}  // namespace halyard

#endif
