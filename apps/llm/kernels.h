#ifndef HALYARD_LLM_KERNELS_H
#define HALYARD_LLM_KERNELS_H

/** \file
 * The ahead-of-time libraries of the decoder, as functions of rows in f32. They throw std::runtime_error with the kernel's message.
 */

#include <cstdint>
#include <vector>

#include "kernel_table.h"
#include "products.h"

namespace halyard_llm {

/** What calls for an op on this thread read and computed, and how long they took. */
struct KernelUse {
    const char *op, *kernel;
    bool exact = true;  // rows in f32, and not in 8 bits
    int64_t calls = 0;
    double memory = 0;      // bytes of weights, and of the cache of keys and values
    double between = 0;     // bytes of what goes from one step to the next, which caches of the processor hold where it is little
    double operations = 0;  // multiplications and additions of products
    double seconds = 0;
};
/** In the order of the first calls. */
using KernelLog = std::vector<KernelUse>;

/** Calls of this thread are added to the log from here on; null: to none. */
void log_kernels(KernelLog *log);

/** What a call is for, and the libraries that compute it. */
struct Step {
    const Kernels &kernels;
    const char *op;
};

/** y = a w + more, exact: by a in f32, otherwise, where weights have blocks, by each 32 elements of a rounded to 8 bits, for `rows` rows.
 * `more` is a row that all get (bias), or as many rows (residual), which may not be y; null is none. */
void multiply(const Step &step, bool exact, const float *a, const Product &w, int rows, const float *bias, const float *residual, float *y);

/** y = x / rms(x) * weight over rows of `columns`. */
void rms_norm(const Step &step, const float *x, const float *weight, int columns, int64_t rows, float eps, float *y);

/** Turns `heads` heads of `rows` tokens, which lie side by side in a row, each by its position. Rows of x are `x_row` elements apart, those of y
 * `y_row`, and its heads `y_head`. */
void rope(const Step &step, bool halves, const float *x, int64_t x_row, const int32_t *positions, const std::vector<float> &frequencies,
          int width, int heads, int rows, float *y, int64_t y_row, int64_t y_head);

/** Keys or values of a layer: the tokens of a head, then those of the next one, as attention goes head by head. */
struct CacheRows {
    CacheType type = CacheType::kF32;
    void *data = nullptr;
    float *scales = nullptr;  // of 8 bits, in the same order
    int length = 0;           // tokens that there is room for
};

/** Bytes of an element. */
int bytes_of(CacheType type);

/** Writes heads of `rows` tokens, which lie side by side in a row, behind the first `begin` tokens of a cache. Rows of x are `x_row`
 * elements apart. In 8 bits each head of a token is rounded to multiples of its largest by 127. */
void store(const Step &step, const float *x, int64_t x_row, int width, int heads, int rows, const CacheRows &to, int begin);

struct AttentionSizes {
    int head_width, heads, key_heads;
    float scale;
    int window;  // keys that a query sees, its own among them; 0: all before it
};

/** Rows of queries over the first `keys` keys and values, of which the last are those of the queries. */
void attend(const Step &step, const AttentionSizes &sizes, const float *q, int rows, const CacheRows &k, const CacheRows &v, int keys,
            float *y);

/** y = activation(gate) * up: rows of `columns`, `row` elements apart. */
void gate(const Step &step, bool gelu, const float *gate, const float *up, int64_t row, int columns, int rows, float *y);

}  // namespace halyard_llm

#endif
