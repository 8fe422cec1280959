#ifndef HALYARD_TESTS_OPS_SAME_BITS_H
#define HALYARD_TESTS_OPS_SAME_BITS_H

#include <string>

#include "op_test.h"

namespace ops_test {

/** How many rows a batch has on the host. */
constexpr int kRowsOnHost = 70;

enum class Sizes { kAll, kSome };

/** Whether a row's result is the same bits for any number of threads and in any part of a batch of `rows`. "" or what differs. `taken`: a
 * build that takes kSome sizes may refuse those that there are here, which is then all that is seen of it. */
std::string check_same_bits(const OpTest &test, const std::string &name, const Assignments &choices, int rows, Sizes taken = Sizes::kAll);

}  // namespace ops_test

#endif
