#ifndef HALYARD_EXPLORE_INLINING_H
#define HALYARD_EXPLORE_INLINING_H

/** \file
 * What is stored at all, and which products tile instructions make of what is stored.
 */

#include "explore/space/draft.h"

namespace halyard::explore {

/** The Funcs that are not stored. Marks the products, and their hosts where one of those is inlined. */
std::set<std::string> choose_inlined(Draft &draft, Choices &choices);

}  // namespace halyard::explore

#endif
