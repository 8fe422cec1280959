#include "pack.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace minilm;

TEST_CASE("packing puts column n of row k into its panel and group, zero padded") {
    const int k = 5;
    const int wanted = GENERATE(1, 4, 48, whole_matrix);
    const Precision precision = GENERATE(Precision::F32, Precision::BF16);
    const int sizes[] = {7, 1, 6};
    const int n = 14;
    const Packing packing = packing_of(precision, n, wanted);
    const auto [panel, group] = packing;
    const int groups = (k + group - 1) / group;
    CAPTURE(panel, group);
    REQUIRE((wanted != whole_matrix || (panel == n && group == 1)));
    const size_t size = packed_size(n, k, packing);
    REQUIRE(size == size_t(panel_count(n, panel) * panel * groups * group));
    std::vector<char> packed(size * bytes_of(precision), 0);
    int first = 0;
    for (int rows : sizes) {
        std::vector<float> weight;  // small integers, which bf16 holds
        for (int r = 0; r < rows; r++) {
            for (int i = 0; i < k; i++) {
                weight.push_back(float(10 * (first + r) + i + 1));
            }
        }
        pack_rows(precision, weight.data(), rows, k, first, packing, packed.data());
        first += rows;
    }
    for (int column = 0; column < panel_count(n, panel) * panel; column++) {
        for (int i = 0; i < groups * group; i++) {
            const int at = (((column / panel) * groups + i / group) * panel + column % panel) * group + i % group;
            float value = -1;
            load(precision, element(precision, packed.data(), size_t(at)), 1, &value);
            REQUIRE(value == (column < n && i < k ? float(10 * column + i + 1) : 0.0f));
        }
    }
}

TEST_CASE("bf16 rounds to the nearest, ties to even") {
    const float from[] = {1.0f, 1.00390625f, 1.01171875f, -3.0e38f, 3.4e38f, 1e-40f, NAN, -INFINITY};
    const float expected[] = {1.0f, 1.0f, 1.015625f, -3.004055e38f, INFINITY, 9.183550e-41f, NAN, -INFINITY};
    for (size_t i = 0; i < 8; i++) {
        uint16_t stored;
        float value;
        store(Precision::BF16, from + i, 1, &stored);
        load(Precision::BF16, &stored, 1, &value);
        CAPTURE(from[i], value);
        CHECK((std::isnan(expected[i]) ? std::isnan(value) : value == Approx(expected[i]).epsilon(1e-5)));
    }
}
