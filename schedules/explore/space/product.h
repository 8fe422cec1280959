#ifndef HALYARD_EXPLORE_PRODUCT_H
#define HALYARD_EXPLORE_PRODUCT_H

/** \file
 * Reductions in which what is loaded once can be used for several sums: products of matrices, convolutions. They want
 * tiles of registers, and a Func whose loops cut them into tiles.
 */

#include <set>

#include "explore/space/description.h"

namespace halyard::explore {

struct Product {
    std::string func;
    int update = 1;                       // the stage that sums
    std::set<std::string> rows, columns;  // dimensions along which only the one, or only the other factor changes
    std::string vector;                   // the dimension along which memory runs; "" where it is a reduction's loop
    int64_t panel = 0;                    // its columns lie in panels of so many; 0 where not
    bool clamped = false;                 // reads along that dimension stay inside, whatever is asked for
    bool turned = false;                  // no sum: a copy whose dimensions lie in another order than what it reads
    bool stencil = false;                 // no columns: windows that overlap along the rows
    bool mma = false;                     // decided: tile instructions sum it, a block of it at a time
    int64_t group = 1;                    // then how many elements of the sum lie together: 1 of float32
    /** The farthest reader with loops over rows and columns, of which an element needs few elements of the product;
     * "" where there is none. */
    std::string host;
};

/** The loops of the result, none of its sum, of which a factor of a stage that sums products is made. */
std::set<std::string> free_loops(const Stage &stage, size_t factor);

/** Gives every product that no Func cuts into tiles a copy that does, for its readers. */
void add_copies(Description &description);

/** By the Func that sums. */
std::map<std::string, Product> find_products(const Description &description);

}  // namespace halyard::explore

#endif
