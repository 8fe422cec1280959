// Arithmetic of scripts on the sizes of a call, drawn at random, beside numbers of 128 bits.

#include <catch2/catch.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <Halide.h>

#include "language/exact_numbers.h"

namespace {

using namespace Halide;
using namespace halyard;
using Wide = __int128;

constexpr Wide kLargest = Wide(1) << 61;  // beyond, a number ends at some large one

struct Number {
    Expr expr;
    Wide value;
    bool is_exact = true;
};

class Draw {
public:
    explicit Draw(uint32_t seed) : random_(seed) {}

    Number number(int depth) {
        if (depth == 0 || random_() % 5 == 0) {
            return leaf();
        }
        const Number a = number(depth - 1), b = number(depth - 1);
        switch (random_() % 6) {
        case 0: return of(exact_sum(a.expr, b.expr), a, b, a.value + b.value);
        case 1: return of(exact_difference(a.expr, b.expr), a, b, a.value - b.value);
        case 2: {
            Number n = of(exact_product(a.expr, b.expr), a, b, a.value * b.value);
            n.is_exact = n.is_exact && is_factor(a.value) && is_factor(b.value);
            return n;
        }
        case 3: return of(exact_quotient(a.expr, b.expr), a, b, quotient(a.value, b.value));
        case 4: return of(exact_remainder(a.expr, b.expr), a, b, b.value == 0 ? 0 : a.value - quotient(a.value, b.value) * b.value);
        default: return of(exact_select(a.expr < b.expr, a.expr, b.expr), a, b, a.value < b.value ? a.value : b.value);
        }
    }

    /** What a number is in a call. */
    std::map<std::string, Expr> sizes;

private:
    Number leaf() {
        static const std::vector<int32_t> kValues = {INT32_MIN, INT32_MIN + 1, -65536, -1, 0, 1, 2, 3, 64, 65536, 1 << 30, INT32_MAX};
        const int32_t v = kValues[random_() % kValues.size()];
        if (random_() % 3 == 0) {
            return {Expr(v), v};
        }
        const std::string name = "n" + std::to_string(sizes.size());
        sizes[name] = Expr(v);
        return {Internal::Variable::make(Int(32), name), v};
    }

    // Factors of more bits may end where the product could have more than 64.
    static bool is_factor(Wide value) {
        return value >= -INT32_MAX && value <= INT32_MAX;
    }

    static Wide quotient(Wide a, Wide b) {
        // Halide rounds so that what remains is never below 0.
        if (b == 0) {
            return 0;
        }
        const Wide remains = ((a % b) + (b < 0 ? -b : b)) % (b < 0 ? -b : b);
        return (a - remains) / b;
    }

    static Number of(const Expr &e, const Number &a, const Number &b, Wide value) {
        const bool fits = value >= -kLargest && value <= kLargest;
        return {e, fits ? value : 0, a.is_exact && b.is_exact && fits};
    }

    std::mt19937 random_;
};

}  // namespace

TEST_CASE("numbers of scripts are exact, or end", "[exact]") {
    int exact = 0;
    for (uint32_t seed = 0; seed < 3000; seed++) {
        Draw draw(seed);
        const Number n = draw.number(1 + int(seed % 3));
        const Expr e = Internal::simplify(Internal::substitute(draw.sizes, n.expr));
        INFO("seed " << seed << ": " << n.expr << " gives " << e);
        const auto is = Internal::as_const_int(e);
        REQUIRE(is);  // neither an overflow, which Halide keeps as such, nor a number that is not known
        if (n.is_exact) {
            CHECK(Wide(*is) == n.value);
            exact++;
        }
    }
    CHECK(exact > 2000);
}

TEST_CASE("what fits stays in 32 bits", "[exact]") {
    const Expr extent = Internal::Variable::make(Int(32), "x.extent.0", Parameter(Float(32), true, 1, "x"));
    CHECK(exact_quotient(extent, 64).type() == Int(32));
    CHECK(exact_sum(exact_quotient(extent, 64), 1).type() == Int(32));
    CHECK(exact_remainder(extent, 8).type() == Int(32));
    CHECK(exact_product(extent, 2).type() == Int(64));
    CHECK(exact_quotient(exact_sum(extent, 63), 64).type() == Int(64));
}
