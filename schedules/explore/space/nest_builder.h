#ifndef HALYARD_EXPLORE_NEST_BUILDER_H
#define HALYARD_EXPLORE_NEST_BUILDER_H

/** \file
 * How the loops of a Func are cut and ordered: rows of tasks, or tiles of registers for the products computed in them.
 */

#include <set>

#include "explore/space/plan.h"
#include "explore/space/product.h"

namespace halyard::explore {

struct HostedProduct {
    const Product *product = nullptr;
    // by dimension of the product: the loops of the host that move it
    std::map<std::string, std::set<std::string>> drivers;
};

struct NestRequest {
    const Func *func = nullptr;
    bool root = true;
    int threads = 1;
    std::map<std::string, double> region;  // of each dimension: what is computed at once
    std::vector<HostedProduct> products;
    bool statistics = false;                 // what it reads is reduced from rows
    std::map<std::string, int64_t> natural;  // loops that readers cut in parts of a size
    std::map<std::string, int64_t> columns;  // loops that are cut for products further up, by the size of a tile
    std::set<std::string> still;             // loops that stay inside those that move what is computed for them
    std::set<std::string> named;             // loops in which a given script computes something, by their name
    std::string strip;                       // the dimension along which a sum that is stored whole may be in SIMD lanes
    std::vector<std::string> sum;            // and the loops of that sum
    bool windows = false;                    // which overlap from row to row: what a task begins with is computed twice
    std::set<std::string> lanes;             // along which recurrences that are read run free: a task has some SIMD lanes of them
    double cost = 0;                         // instructions for an element
};

Nest build_nest(const Description &description, const NestRequest &request, Choices &choices);

}  // namespace halyard::explore

#endif
