// The Lua arithmetic of the registry.

#include <catch2/catch.hpp>

#include "kernel/arithmetic.h"
#include "kernel/failure.h"

using halyard::Dims;
using halyard::evaluate;

TEST_CASE("Expressions over the dimensions", "[arithmetic]") {
    const Dims dims = {{"n", 10}, {"panel", 4}, {"d", 64}};
    CHECK(evaluate("n", dims) == 10.0);
    CHECK(evaluate("(n+panel-1)//panel", dims) == 3.0);
    CHECK(evaluate("2*n*d", dims) == 1280.0);
    CHECK(evaluate("d^-0.5", dims) == 0.125);
    CHECK(evaluate("1e-6", {}) == 1e-6);
    CHECK(evaluate("n - panel*2", dims) == 2.0);
    // Products of extents go beyond 32 bits.
    CHECK(evaluate("a*b*c", {{"a", 100000}, {"b", 100000}, {"c", 16}}) == 1.6e11);
}

TEST_CASE("A name that is not there gives nothing", "[arithmetic]") {
    CHECK(evaluate("rows", {}) == std::nullopt);
    CHECK(evaluate("n + rows", {{"n", 1}}) == std::nullopt);
    // Nor is there a library.
    CHECK(evaluate("math.pi", {}) == std::nullopt);
    CHECK(evaluate("os.time()", {}) == std::nullopt);
}

TEST_CASE("What is no arithmetic", "[arithmetic]") {
    CHECK_THROWS_AS(evaluate("n +", {{"n", 1}}), halyard::Failure);
    CHECK_THROWS_AS(evaluate("'four'", {}), halyard::Failure);
    CHECK_THROWS_AS(evaluate("{}", {}), halyard::Failure);
    CHECK_THROWS_AS(evaluate("", {}), halyard::Failure);
    CHECK_THROWS_AS(evaluate("n // 0", {{"n", 1}}), halyard::Failure);
    CHECK_THROWS_AS(evaluate("n.x.y", {{"n", 1}}), halyard::Failure);
}
