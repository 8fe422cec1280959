// Halide's errors of a call name the argument of the caller.
#include <catch2/catch.hpp>

#include <limits>
#include <string>

#include <HalideRuntime.h>
#include <halyard/runtime.h>

namespace {

std::string last() {
    return halyard_last_error();
}

}  // namespace

TEST_CASE("an input that is too small is named, not the Func that reads it") {
    for (const char *func : {"b_im_global_wrapper$0", "b_im", "b_im$3"}) {
        CHECK(halide_error_explicit_bounds_too_small(nullptr, func, "_0", 0, 4, 0, 8) == halide_error_code_explicit_bounds_too_small);
        CHECK(last() == "b is too small: it has 0 to 4 in dimension 0, and the output needs 0 to 8");
    }
    halide_error_explicit_bounds_too_small(nullptr, "row_image$1", "row", 0, 4, 0, 8);
    CHECK(last() == "the schedule bounds \"row\" of row_image to 0 to 4, and the output needs 0 to 8");
}

TEST_CASE("an input without elements has a text, whatever its min is") {
    const int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    CHECK(halide_error_access_out_of_bounds(nullptr, "Input buffer x", 1, 0, 4, least, most) == halide_error_code_access_out_of_bounds);
    CHECK(last() == "Input buffer x is accessed at 0, and has no elements in dimension 1");
    halide_error_access_out_of_bounds(nullptr, "Input buffer x", 0, -1, 4, 0, 4);
    CHECK(last() == "Input buffer x is accessed at -1, which is before the min (0) in dimension 0");
    halide_error_access_out_of_bounds(nullptr, "Input buffer x", 0, 0, 5, 0, 4);
    CHECK(last() == "Input buffer x is accessed at 5, which is beyond the max (4) in dimension 0");
}

TEST_CASE("an argument whose size makes a split empty is named") {
    CHECK(halide_error_split_factor_not_positive(nullptr, "y", "c", "group", "channel", "(x.extent.2/groups)", 0) ==
          halide_error_code_split_factor_not_positive);
    CHECK(last() == "x is too small in dimension 2: x.extent.2/groups must be 1 or more, and is 0");
    halide_error_split_factor_not_positive(nullptr, "y$1", "c", "o", "i", "(a + b)*(c)", -1);
    CHECK(last() == "the loop \"c\" of y is in parts of (a + b)*(c), which must be 1 or more, and is -1");
}

TEST_CASE("an output that can have no elements is named") {
    CHECK(halide_error_constraints_make_required_region_smaller(nullptr, "Output buffer y", 1, 0, 5, -3, 0) ==
          halide_error_code_constraints_make_required_region_smaller);
    CHECK(last() == "y would have no elements in dimension 1 by the sizes of the other arguments: one of them is too small");
    halide_error_constraints_make_required_region_smaller(nullptr, "Input buffer x", 0, 0, 4, 0, 8);
    CHECK(last() == "x must have 0 to 3 in dimension 0 by the sizes of the other arguments, and 0 to 7 is asked for");
}
