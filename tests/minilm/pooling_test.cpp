#include "pooling.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace minilm;

TEST_CASE("pooling is the unit vector of the mean, for widths around a vector") {
    for (int width : {1, 3, 16, 17, 384}) {
        TokenBatch batch;
        batch.ids.resize(6);
        batch.ends = {1, 6};
        std::vector<float> x;
        for (int i = 0; i < 6 * width; i++) {
            x.push_back(float(i * 37 % 101) - 30.0f);
        }
        std::vector<float> result(size_t(2 * width));
        mean_pool_and_normalize(batch, x.data(), width, result.data());
        for (int s = 0; s < 2; s++) {
            std::vector<double> mean(static_cast<size_t>(width));
            double squares = 0;
            for (int c = 0; c < width; c++) {
                for (int t = batch.begin(s); t < batch.ends[size_t(s)]; t++) {
                    mean[size_t(c)] += double(x[size_t(t * width + c)]) / batch.length(s);
                }
                squares += mean[size_t(c)] * mean[size_t(c)];
            }
            for (int c = 0; c < width; c++) {
                CAPTURE(width, s, c);
                REQUIRE(double(result[size_t(s * width + c)]) == Approx(mean[size_t(c)] / std::sqrt(squares)).margin(1e-6));
            }
        }
    }
}

TEST_CASE("rows of zeros pool to zeros, not to NaN") {
    TokenBatch batch;
    batch.ids = {1, 2};
    batch.end_sentence();
    const std::vector<float> x(8, 0.0f);
    std::vector<float> result(4, 1.0f);
    mean_pool_and_normalize(batch, x.data(), 4, result.data());
    REQUIRE(result == std::vector<float>(4, 0.0f));
}
