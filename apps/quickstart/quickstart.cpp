// The same in C++, with Halide's Buffer over vectors of the program: y = rms_norm(x) * weights^T.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <halyard/HalideBuffer.h>
#include <halyard/pack.h>
#include <halyard/runtime.h>

#include "norm.h"
#include "product.h"

namespace {

constexpr int kRows = 50, kColumns = 768, kOutputs = 1000;

using Buffer = Halide::Runtime::Buffer<float>;

int fail() {
    std::fprintf(stderr, "%s\n", halyard_last_error());
    return 1;
}

}  // namespace

int main() {
    std::vector<float> x(kRows * kColumns), scale(kColumns), weights(kOutputs * kColumns), normed(x.size()), y(kRows * kOutputs);
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = float(i * 5 % 13) - 6.0f;
    }
    for (size_t i = 0; i < scale.size(); i++) {
        scale[i] = 1.0f + 0.1f * float(i % 3);
    }
    for (size_t i = 0; i < weights.size(); i++) {
        weights[i] = float(i * 11 % 17) / 8.0f - 1.0f;
    }

    // Extents stand innermost dimension first.
    Buffer bx(x.data(), kColumns, kRows), bscale(scale.data(), kColumns), bnormed(normed.data(), kColumns, kRows);
    Buffer bweights(weights.data(), kColumns, kOutputs), by(y.data(), kOutputs, kRows);

    // Once, when the program starts: in the layout that this library reads from front to back.
    const int64_t bytes = halyard_packed_bytes(product_metadata(), "b_packed", bweights);
    std::vector<char> memory(size_t(std::max<int64_t>(bytes, 0)));
    halyard_array packed;
    if (bytes < 0 || halyard_pack(product_metadata(), "b_packed", bweights, memory.data(), &packed) != 0) {
        return fail();
    }

    if (norm(bx, bscale, 1e-6f, bnormed) != 0 || product(bnormed, &packed.buffer, by) != 0) {
        return fail();
    }

    double largest = 0;
    for (int row = 0; row < kRows; row++) {
        double squares = 0;
        for (int c = 0; c < kColumns; c++) {
            squares += double(bx(c, row)) * bx(c, row);
        }
        for (int output = 0; output < kOutputs; output++) {
            double sum = 0;
            for (int c = 0; c < kColumns; c++) {
                sum += bx(c, row) / std::sqrt(squares / kColumns + 1e-6) * bscale(c) * bweights(c, output);
            }
            largest = std::max(largest, std::abs(by(output, row) - sum));
        }
    }
    std::printf("y(%d, %d) = %.4f, largest difference from double %.1e\n", kOutputs - 1, kRows - 1, by(kOutputs - 1, kRows - 1), largest);
    return largest < 1e-3 ? 0 : 1;
}
