#include "reference_ops.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

int attention_calls = 0;

/** The address of an element by its coordinates, mins and strides honoured. */
template<typename... Coordinates>
float *at(const halide_buffer_t *b, Coordinates... coordinates) {
    ptrdiff_t index = 0;
    const halide_dimension_t *dim = b->dim;
    ((index += ptrdiff_t(coordinates - dim->min) * dim->stride, ++dim), ...);
    return reinterpret_cast<float *>(b->host) + index;
}

int first(const halide_buffer_t *b, int d) {
    return b->dim[d].min;
}

int last(const halide_buffer_t *b, int d) {
    return b->dim[d].min + b->dim[d].extent;
}

double gelu(double x) {
    return 0.5 * x * (1.0 + std::erf(x * std::sqrt(0.5)));
}

template<typename Epilogue>
int gemm(halide_buffer_t *a, halide_buffer_t *b, halide_buffer_t *bias, halide_buffer_t *y, Epilogue epilogue) {
    const int panel = b->dim[1].extent;
    std::vector<double> sums(static_cast<size_t>(panel));
    for (int m = first(y, 1); m < last(y, 1); m++) {
        for (int j = first(y, 0) / panel; j * panel < last(y, 0); j++) {
            std::fill(sums.begin(), sums.end(), 0.0);
            for (int k = first(a, 0); k < last(a, 0); k++) {
                const double left = *at(a, k, m);
                const float *right = at(b, first(b, 0), first(b, 1), k, j);
                const int stride = b->dim[1].stride;
                for (int p = 0; p < panel; p++) {
                    sums[size_t(p)] += left * double(right[p * stride]);
                }
            }
            const int begin = std::max(j * panel, first(y, 0));
            const int end = std::min((j + 1) * panel, last(y, 0));
            for (int n = begin; n < end; n++) {
                const double sum = sums[size_t(n - j * panel)] + double(*at(bias, n));
                *at(y, n, m) = float(epilogue(sum, n, m));
            }
        }
    }
    return 0;
}

int reference_qkv(halide_buffer_t *a, halide_buffer_t *b, halide_buffer_t *bias, halide_buffer_t *y) {
    return gemm(a, b, bias, y, [](double sum, int, int) { return sum; });
}

int reference_gelu(halide_buffer_t *a, halide_buffer_t *b, halide_buffer_t *bias, halide_buffer_t *y) {
    return gemm(a, b, bias, y, [](double sum, int, int) { return gelu(sum); });
}

int reference_residual(halide_buffer_t *a, halide_buffer_t *b, halide_buffer_t *bias, halide_buffer_t *residual, halide_buffer_t *y) {
    return gemm(a, b, bias, y, [=](double sum, int n, int m) { return sum + double(*at(residual, n, m)); });
}

int reference_attention(halide_buffer_t *q, halide_buffer_t *k, halide_buffer_t *v, float scale, halide_buffer_t *out) {
    attention_calls++;
    const int keys_begin = first(k, 1), keys_end = last(k, 1);
    std::vector<double> p(static_cast<size_t>(keys_end - keys_begin));
    for (int b = first(out, 3); b < last(out, 3); b++) {
        for (int h = first(out, 2); h < last(out, 2); h++) {
            for (int i = first(out, 1); i < last(out, 1); i++) {
                double largest = -INFINITY, sum = 0;
                for (int j = keys_begin; j < keys_end; j++) {
                    double dot = 0;
                    for (int d = first(q, 0); d < last(q, 0); d++) {
                        dot += double(*at(q, d, i, h, b)) * double(*at(k, d, j, h, b));
                    }
                    p[size_t(j - keys_begin)] = dot * double(scale);
                    largest = std::max(largest, dot * double(scale));
                }
                for (double &score : p) {
                    score = std::exp(score - largest);
                    sum += score;
                }
                for (int d = first(out, 0); d < last(out, 0); d++) {
                    double value = 0;
                    for (int j = keys_begin; j < keys_end; j++) {
                        value += p[size_t(j - keys_begin)] * double(*at(v, d, j, h, b));
                    }
                    *at(out, d, i, h, b) = float(value / sum);
                }
            }
        }
    }
    return 0;
}

int reference_layer_norm(halide_buffer_t *x, halide_buffer_t *weight, halide_buffer_t *bias, float eps, halide_buffer_t *y) {
    const int columns = x->dim[0].extent;
    for (int r = first(y, 1); r < last(y, 1); r++) {
        double mean = 0, variance = 0;
        for (int c = first(x, 0); c < last(x, 0); c++) {
            mean += double(*at(x, c, r)) / columns;
        }
        for (int c = first(x, 0); c < last(x, 0); c++) {
            const double d = double(*at(x, c, r)) - mean;
            variance += d * d / columns;
        }
        const double inverse = 1.0 / std::sqrt(variance + double(eps));
        for (int c = first(y, 0); c < last(y, 0); c++) {
            *at(y, c, r) = float((double(*at(x, c, r)) - mean) * inverse * double(*at(weight, c)) + double(*at(bias, c)));
        }
    }
    return 0;
}

}  // namespace

const minilm::Kernels &reference_kernels() {
    static constexpr minilm::Kernels kernels = {"reference",        minilm::Precision::F32, reference_qkv,       reference_gelu,
                                                reference_residual, reference_attention,    reference_layer_norm};
    return kernels;
}

int reference_attention_calls() {
    return attention_calls;
}
