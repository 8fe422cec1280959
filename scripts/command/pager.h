#ifndef HALYARD_COMMAND_PAGER_H
#define HALYARD_COMMAND_PAGER_H

/** \file
 * Long texts on a terminal.
 */

#include <string>

namespace halyard {

/** Prints the text: by $PAGER (less, with LESS=FRX where that is not set) where standard output is a terminal that has fewer lines, and
 * as it is everywhere else. "" and cat are no pagers. */
void page(const std::string &text);

}  // namespace halyard

#endif
