#ifndef HALYARD_EXPLORE_UPDATE_BODY_H
#define HALYARD_EXPLORE_UPDATE_BODY_H

/** \file
 * SIMD lanes and order of the loops of what is computed inside another Func's loops, and of reductions.
 */

#include "explore/space/graph.h"
#include "explore/space/plan.h"
#include "explore/space/product.h"

namespace halyard::explore {

struct BodyRequest {
    const Func *func = nullptr;
    Placed *placed = nullptr;  // with its region; the rest is filled in
    const Product *product = nullptr;
    const Graph *graph = nullptr;
    const Nest *nest = nullptr;  // of this Func, if it has one
    int threads = 1;
};

/** Whether what a stage reads along a free loop lies together, or is the same for all of it. */
bool walks_memory(const Graph &graph, const Func &func, int stage, const std::string &loop);

/** Whether a stage stores where a loop of its reduction says, as a histogram does: no order of it can be in SIMD lanes. */
bool scatters(const Func &func, int stage);

void choose_bodies(const Description &description, const BodyRequest &request, Choices &choices);

}  // namespace halyard::explore

#endif
