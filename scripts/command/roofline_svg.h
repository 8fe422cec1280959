#ifndef HALYARD_COMMAND_ROOFLINE_SVG_H
#define HALYARD_COMMAND_ROOFLINE_SVG_H

/** \file
 * The roofline: speed over flops per byte that instructions move, under the bandwidths of every level
 * and the peak of the multiply-adds.
 */

#include "explain.h"

namespace halyard {

/** An <svg> that takes its colours from classes of the page. */
std::string roofline_svg(const std::vector<Explained> &all, const Machine &machine);

/** The number of a point in the picture; 0 where a stage has none, since it computes nothing. */
int point_number(const std::vector<Explained> &all, size_t schedule, int stage);

std::string escape_html(const std::string &text);

}  // namespace halyard

#endif
