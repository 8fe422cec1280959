#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <HalideBuffer.h>
#include <halyard/runtime.h>

#include "my_blur.h"
#include "my_cuda_softmax.h"
#include "my_softmax.h"
#include "norm.h"

using Halide::Runtime::Buffer;

static void require(bool ok, const char *what) {
    if (!ok) {
        std::fprintf(stderr, "failed: %s (%s)\n", what, halyard_last_error());
        std::exit(1);
    }
}

int main() {
    const int cols = 300, rows = 7;
    Buffer<float> x(cols, rows), y(cols, rows), weight(cols);
    x.for_each_element([&](int c, int r) { x(c, r) = std::sin(0.1f * c + r); });
    weight.fill(2.0f);

    const auto require_softmax = [&](const char *what) {
        for (int r = 0; r < rows; r++) {
            double sum = 0;
            for (int c = 0; c < cols; c++) {
                sum += std::exp(3.0 * x(c, r));
            }
            for (int c = 0; c < cols; c++) {
                require(std::fabs(y(c, r) - std::exp(3.0 * x(c, r)) / sum) < 1e-7, what);
            }
        }
    };
    require(my_softmax(x, 3.0f, y) == 0, "softmax");
    require_softmax("softmax is right");
    y.fill(0.0f);
    require(my_cuda_softmax(x, 3.0f, y) == 0 && y.copy_to_host() == 0, "softmax for CUDA");
    require_softmax("softmax for CUDA is right");

    require(norm(x, weight, 1e-6f, y) == 0, "norm");
    double squares = 0;
    for (int c = 0; c < cols; c++) {
        squares += double(x(c, 3)) * x(c, 3);
    }
    require(std::fabs(y(5, 3) - 2 * x(5, 3) / std::sqrt(squares / cols + 1e-6)) < 1e-5, "norm is right");

    Buffer<float> blurred(cols - 2, rows - 2);
    require(my_blur(x, blurred) == 0, "blur");
    float sum = 0;
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++) {
            sum += x(10 + i, 2 + j);
        }
    }
    require(std::fabs(blurred(10, 2) - sum / 9) < 1e-5, "blur is right");

    // A wrong call is an error code and a text, not the end of the program.
    Buffer<float> narrow(cols - 1);
    require(norm(x, narrow, 1e-6f, y) != 0, "a weight that is too short is an error");
    require(std::string(halyard_last_error()).find("weight") != std::string::npos, "and names the argument");
    std::puts("1 passed, 0 failed");
}
