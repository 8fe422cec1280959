#ifndef HALYARD_EXPLORE_DRAFT_H
#define HALYARD_EXPLORE_DRAFT_H

/** \file
 * A plan in the making, and what its parts have to know of it: where products are summed, which loops a given script
 * names, and who reads whom since it is decided what is inlined.
 */

#include <memory>

#include "explore/space/graph.h"
#include "explore/space/plan.h"
#include "explore/space/product.h"

namespace halyard::explore {

struct Draft {
    explicit Draft(const Description &description);

    const Description &description;
    std::map<std::string, Product> products;
    std::set<std::string> hosts;                         // of products
    std::map<std::string, std::set<std::string>> named;  // by Func: its loops in which a given script computes others
    bool given = false;                                  // a script fixes some of it
    std::unique_ptr<Graph> graph;
    Plan plan;

    /** Whether others are computed in its loops, wherever it is. */
    bool has_loops(const std::string &func) const {
        return hosts.count(func) > 0 || named.count(func) > 0;
    }

    /** Whether an element of the one is made of elements of the other, with no Func between them. */
    bool reads(const std::string &func, const std::string &of) const;

    /** Instructions of the whole pipeline, if nothing is computed twice. */
    double instructions() const;
    /** Instructions of a Func and of what it reads, products in tiles among it or not. */
    double upstream(const Func &f, bool with_products = false) const;

private:
    mutable std::map<std::pair<std::string, bool>, double> upstream_;  // of the graph, once there is one
};

}  // namespace halyard::explore

#endif
