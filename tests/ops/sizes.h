#ifndef HALYARD_TESTS_OPS_SIZES_H
#define HALYARD_TESTS_OPS_SIZES_H

/** \file
 * Sizes at which schedules go wrong: 1, primes, and one under, at and over a vector, a tile, a panel.
 */

#include <vector>

namespace ops_test {

const std::vector<int> kOddSizes = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129, 300};

/** The n-th of the list, again and again. */
inline int cycle(const std::vector<int> &sizes, size_t n) {
    return sizes[n % sizes.size()];
}

}  // namespace ops_test

#endif
