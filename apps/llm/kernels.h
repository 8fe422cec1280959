#ifndef HALYARD_LLM_KERNELS_H
#define HALYARD_LLM_KERNELS_H

/** \file
 * The ahead-of-time libraries of the decoder, as functions of rows in f32. They throw std::runtime_error with the kernel's message.
 */

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "products.h"

namespace halyard_llm {

/** What calls of a kernel on this thread read and wrote, and how long they took. */
struct KernelUse {
    int64_t calls = 0;
    double bytes = 0, seconds = 0;
};
using KernelLog = std::map<std::string, KernelUse>;

/** Calls of this thread are added to the log from here on; null: to none. */
void log_kernels(KernelLog *log);

/** y = a w + more, exact: by a in f32, otherwise, where weights have blocks, by each 32 elements of a rounded to 8 bits, for `rows` rows.
 * `more` is a row that all get (bias), or as many rows (residual), which may not be y; null is none. */
void multiply(bool exact, const float *a, const Product &w, int rows, const float *bias, const float *residual, float *y);

/** y = x / rms(x) * weight over rows of `columns`. */
void rms_norm(const float *x, const float *weight, int columns, int64_t rows, float eps, float *y);

/** Turns `heads` heads of `rows` tokens, which lie side by side in a row, each by its position. Rows of x are `x_row` elements apart. */
void rope(bool halves, const float *x, int64_t x_row, const int32_t *positions, const std::vector<float> &frequencies, int width, int heads,
          int rows, float *y);

struct AttentionSizes {
    int head_width, heads, key_heads;
    float scale;
    int window;  // keys that a query sees, its own among them; 0: all before it
};

/** Rows of queries over a cache of rows of keys and values, of which the last are those of the queries. */
void attend(const AttentionSizes &sizes, const float *q, int rows, const float *k, const float *v, int keys, float *y);

/** y = activation(gate) * up, where each row has `columns` of the one and then of the other. */
void gate(bool gelu, const float *gate_up, int columns, int rows, float *y);

}  // namespace halyard_llm

#endif
