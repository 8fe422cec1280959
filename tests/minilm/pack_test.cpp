#include "pack.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace minilm;

TEST_CASE("packing puts column n of row k at [n / panel][k][n % panel], zero padded") {
    const int k = 5;
    for (int panel : {1, 4, 48}) {
        const int sizes[] = {7, 1, 6};
        const int n = 14;
        CAPTURE(panel);
        std::vector<float> packed(packed_size(n, k, panel), 0.0f);
        REQUIRE(packed.size() == size_t(panel_count(n, panel) * panel * k));
        int first = 0;
        for (int rows : sizes) {
            std::vector<float> weight;
            for (int r = 0; r < rows; r++) {
                for (int i = 0; i < k; i++) {
                    weight.push_back(float(100 * (first + r) + i + 1));
                }
            }
            pack_rows(weight.data(), rows, k, first, panel, packed.data());
            first += rows;
        }
        for (int column = 0; column < panel_count(n, panel) * panel; column++) {
            for (int i = 0; i < k; i++) {
                const int at = ((column / panel) * k + i) * panel + column % panel;
                REQUIRE(packed[size_t(at)] == (column < n ? float(100 * column + i + 1) : 0.0f));
            }
        }
    }
}
