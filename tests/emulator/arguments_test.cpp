// Which bytes of device memory are elements of a buffer, by all of them counted one by one.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>

#include "arguments.h"

using halyard::emulator::driver::ElementsOfBuffer;

namespace {

std::set<int64_t> places_of(const halide_buffer_t &b, int from = 0, int64_t place = 0) {
    if (from == b.dimensions) {
        return {place};
    }
    std::set<int64_t> all;
    for (int i = 0; i < b.dim[from].extent; i++) {
        const auto inner = places_of(b, from + 1, place + int64_t(i) * b.dim[from].stride);
        all.insert(inner.begin(), inner.end());
    }
    return all;
}

}  // namespace

TEST_CASE("elements of a buffer: of any strides, whatever their order and sign, and where dimensions interleave") {
    std::mt19937 random(7);
    const auto draw = [&](int least, int most) { return least + int(random() % unsigned(most - least + 1)); };
    for (int i = 0; i < 400; i++) {
        halide_dimension_t dims[4];
        halide_buffer_t b = {};
        b.type = halide_type_t(halide_type_int, 16);
        b.dimensions = draw(0, 4);
        b.dim = dims;
        for (int d = 0; d < b.dimensions; d++) {
            dims[d] = halide_dimension_t(draw(-3, 3), draw(i % 10 == 0 ? 0 : 1, 4), draw(-9, 14));
        }
        const std::set<int64_t> places = places_of(b);
        const ElementsOfBuffer elements(b);
        for (int64_t place = -120; place < 160; place++) {
            for (int count = 1; count <= 3; count++) {
                bool all = true;
                for (int k = 0; k < count; k++) {
                    all = all && places.count(place + k);
                }
                REQUIRE(elements.holds(2 * place, 2 * count) == all);
            }
            // Half of an element and half of the next one.
            REQUIRE(elements.holds(2 * place + 1, 2) == (places.count(place) && places.count(place + 1)));
        }
        REQUIRE(elements.begin() == (places.empty() ? 0 : 2 * *places.begin()));
        REQUIRE(elements.end() == (places.empty() ? 0 : 2 * (*places.rbegin() + 1)));
        if (!places.empty()) {
            const bool dense = int64_t(places.size()) == *places.rbegin() - *places.begin() + 1;
            REQUIRE((elements.has_gaps() || dense));  // gaps may be said where dimensions fill them, and are looked at then
        }
    }
}

TEST_CASE("elements of a buffer: a place between rows, in words") {
    halide_dimension_t dims[2] = {{0, 250, 1}, {0, 130, 264}};
    halide_buffer_t b = {};
    b.type = halide_type_t(halide_type_float, 16);
    b.dimensions = 2;
    b.dim = dims;
    const ElementsOfBuffer elements(b);
    CHECK(elements.has_gaps());
    CHECK(elements.holds(2 * (3 * 264 + 242), 16));
    CHECK(!elements.holds(2 * (3 * 264 + 248), 16));
    CHECK(elements.place(2 * (3 * 264 + 250)) == "at (250, 3) of (250, 130)");
}
