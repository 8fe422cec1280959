#ifndef HALYARD_TESTS_PRODUCTS_CASE_H
#define HALYARD_TESTS_PRODUCTS_CASE_H

/** \file
 * A product, how it lies in memory and how it is scheduled, drawn by a seed. An order has a letter for each dimension, as in
 * random_product.cpp.
 */

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kernel/buffer.h"
#include "kernel/generate.h"

namespace products_test {

struct Case {
    std::string type, result, a_order, b_order, y_order, a_source, b_source, r_order;
    bool a_again = false, reversed = false, two_stages = false;
    std::string schedule;  // a script

    halyard::Assignments params() const;
    /** In a line, for messages. */
    std::string text() const;
};

Case draw_case(uint64_t seed);

/** Sizes of a call, and where coordinates begin, by the letter of a dimension. */
struct Call {
    std::map<char, int> extents, mins;
    std::map<char, int> left_out;                    // so many of the first ones the result has not
    std::map<std::string, halyard::Layout> layouts;  // of the arguments

    std::string text() const;
};

Call draw_call(const Case &c, std::mt19937 &random);

}  // namespace products_test

#endif
