#ifndef HALYARD_LLM_CUDA_KERNELS_H
#define HALYARD_LLM_CUDA_KERNELS_H

/** \file
 * The ahead-of-time libraries of the decoder on a GPU, as functions of addresses in its memory. They queue their work on the stream of the
 * thread, and throw std::runtime_error with the kernel's message.
 */

#include <cstdint>
#include <vector>

#include "weights_on_device.h"

namespace halyard_llm {

/** y = a w + more, over `rows` rows. `more` is a row that all get (bias), or as many rows (residual), which may not be y; 0 is none. */
void multiply_on_device(uint64_t a, const ProductOnDevice &w, int rows, uint64_t bias, uint64_t residual, uint64_t y);

/** y = x / rms(x) * weight over rows of `columns`. */
void norm_on_device(uint64_t x, uint64_t weight, int columns, int rows, float eps, uint64_t y);

/** y = x + more. */
void add_on_device(uint64_t x, uint64_t more, int columns, int rows, uint64_t y);

/** y = activation(gate) * up, where each row has both, `columns` of the one and then of the other. */
void gate_on_device(bool gelu, uint64_t gate_up, int columns, int rows, uint64_t y);

/** How heads lie, and what is done to them. */
struct HeadsOnDevice {
    int width = 0, heads = 0, key_heads = 0, places = 0;  // `places` of the cache
    float scale = 0;
    int window = 0;  // keys that a query sees, its own among them; 0: all before it
    bool halves = false;
    uint64_t frequencies = 0;
    int pairs = 0;
    uint64_t query_norm = 0, key_norm = 0;  // 0: none
    float eps = 0;
};

/** Queries, keys and values of `rows` tokens, side by side in a row of qkv: queries turned to q, in f32, or in f16 with `half`, keys turned and
 * values to their places in the cache kv, f16 [width, places, key_heads, keys and values]. */
void turn_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t positions, int rows, bool half, uint64_t q, uint64_t kv);

/** One query, in f32, over the first *length keys of `keys` in the cache, which are at least as many. */
void decode_on_device(const HeadsOnDevice &h, uint64_t q, uint64_t kv, int keys, uint64_t length, uint64_t y);

/** Queries in f16, which are those of the last of `keys` tokens. `half_y` has room for as many results in f16 as y in f32. */
void attend_on_device(const HeadsOnDevice &h, uint64_t q, int rows, uint64_t kv, int keys, uint64_t half_y, uint64_t y);

}  // namespace halyard_llm

#endif
