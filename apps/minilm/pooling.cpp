#include "pooling.h"

#include <algorithm>
#include <cmath>

namespace minilm {

void mean_pool_and_normalize(const TokenBatch &batch, const float *x, int width, float *result) {
    // As torch's normalize: a vector of zeros stays one.
    constexpr float smallest_length = 1e-12f;

    for (int s = 0; s < batch.sentences(); s++) {
        float *__restrict sum = result + size_t(s) * size_t(width);
        std::fill_n(sum, width, 0.0f);
        for (int t = batch.begin(s); t < batch.ends[size_t(s)]; t++) {
            const float *__restrict row = x + size_t(t) * size_t(width);
            for (int i = 0; i < width; i++) {
                sum[i] += row[i];
            }
        }
        // Independent partial sums, so that the loop vectorises without -ffast-math.
        constexpr int lanes = 16;
        float partial[lanes] = {};
        int i = 0;
        for (; i + lanes <= width; i += lanes) {
            for (int j = 0; j < lanes; j++) {
                partial[j] += sum[i + j] * sum[i + j];
            }
        }
        float squares = 0;
        for (float p : partial) {
            squares += p;
        }
        for (; i < width; i++) {
            squares += sum[i] * sum[i];
        }
        const float inverse_count = 1.0f / float(batch.length(s));
        const float length = std::sqrt(squares) * inverse_count;
        const float scale = inverse_count / std::max(length, smallest_length);
        for (int c = 0; c < width; c++) {
            sum[c] *= scale;
        }
    }
}

}  // namespace minilm
