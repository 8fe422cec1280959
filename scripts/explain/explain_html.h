#ifndef HALYARD_COMMAND_EXPLAIN_HTML_H
#define HALYARD_COMMAND_EXPLAIN_HTML_H

/** \file
 * An explanation as a page that needs nothing else: the roofline, the loop nest, the tables.
 */

#include "explain/explain.h"

namespace halyard {

std::string explanation_html(const std::vector<Explained> &all, const Machine &machine);

}  // namespace halyard

#endif
