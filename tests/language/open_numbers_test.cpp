// Numbers that an algorithm leaves to its schedule.

#include <catch2/catch.hpp>

#include "math/open_number.h"
#include "language/open_numbers.h"
#include "language/pipeline_view.h"

using namespace Halide;

namespace {

// The sum of `parts` ones, or of as many twos.
struct Sums {
    Var x{"x"};
    RDom part{0, halyard::number_or_open(halyard::kOpen, "parts", 1, 8), "part"};
    Func ones{"ones"}, twos{"twos"}, y{"y"};

    Sums() {
        ones(x) += select(part >= 0, 1, 0);
        twos(x) += select(part >= 0, 2, 0);
        y(x) = select(halyard::number_or_open(halyard::kOpen, "lanes", 1, 32) == 1, ones(x), twos(x));
    }
};

halyard::PipelineView set_numbers(Sums &sums, const std::string &parts, const std::string &lanes) {
    halyard::set_open_numbers(Pipeline(sums.y), [&](const std::string &name) { return name == "parts" ? parts : lanes; });
    return halyard::PipelineView(Pipeline(sums.y));
}

}  // namespace

TEST_CASE("A number that is open is set, and what it leaves out is gone") {
    Sums few, many;
    const auto view = set_numbers(few, "3", "1");
    CHECK(view.funcs().count("ones") == 1);
    CHECK(view.funcs().count("twos") == 0);
    CHECK(view.scalars().empty());
    CHECK(set_numbers(many, "5", "32").funcs().count("ones") == 0);
    const Buffer<int> a = few.y.realize({2}), b = many.y.realize({2});
    CHECK(a(1) == 3);
    CHECK(b(0) == 10);
}

TEST_CASE("A number that no parameter sets is an error") {
    for (const char *value : {"", "four", "4x"}) {
        Sums sums;
        CHECK_THROWS_WITH(set_numbers(sums, value, "1"), Catch::Contains("leaves \"parts\" to the schedule"));
    }
}

TEST_CASE("A number that the algorithm does not take is an error") {
    for (const char *value : {"0", "-1", "9"}) {
        Sums sums;
        CHECK_THROWS_WITH(set_numbers(sums, value, "1"), Catch::Contains("takes parts from 1 to 8, not "));
    }
}

TEST_CASE("A number that is given is no parameter") {
    CHECK(Internal::is_const(halyard::number_or_open(4, "parts", 1, 8), 4));
    CHECK_THROWS_AS(halyard::number_or_open(9, "parts", 1, 8), CompileError);
}
