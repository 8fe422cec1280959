#ifndef HALYARD_TESTS_OPS_ROWS_H
#define HALYARD_TESTS_OPS_ROWS_H

/** \file
 * Inputs that every op over the rows of a matrix gets.
 */

#include <cmath>
#include <limits>

#include "op_test.h"
#include "sizes.h"

namespace ops_test {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool is_f16(const Assignments &build) {
    const auto type = build.find("type");
    return type != build.end() && type->second == "float16";
}

inline void set_row(HostBuffer &x, int row, double value) {
    for (int c = 0; c < x.extents()[0]; c++) {
        x.set({c, row}, value);
    }
}

/** Rows of every odd size, then 9 rows, each with something else that is special. */
inline std::vector<Case> row_cases(const Assignments &build) {
    std::vector<Case> cases;
    for (size_t n = 0; n < kOddSizes.size(); n++) {
        cases.push_back({"random", {{"cols", kOddSizes[n]}, {"rows", cycle({5, 1, 9, 2, 17, 8, 3}, n)}}});
    }
    // Sums of them overflow f16, and their squares by far; f32 holds both.
    const double large = is_f16(build) ? 65504 : 1e17;
    for (int cols : {1, 2, 17, 64, 131}) {
        const auto special = [cols, large](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            x.set({cols / 2, 0}, kNaN);
            x.set({cols - 1, 2}, kInfinity);
            x.set({cols / 3, 4}, -kInfinity);
            set_row(x, 5, large);
            set_row(x, 6, 0.1);
            set_row(x, 7, 0);
            for (int c = 0; c < cols; c++) {
                x.set({c, 8}, c % 2 ? 6e-8 : 1e-40);
            }
            x.set({0, 10}, kNaN);
            x.set({cols - 1, 12}, kNaN);
            x.set({0, 13}, large);
        };
        cases.push_back({"special rows", {{"cols", cols}, {"rows", 15}}, special});
    }
    return cases;
}

}  // namespace ops_test

#endif
