#ifndef HALYARD_LLM_CUDA_KERNELS_H
#define HALYARD_LLM_CUDA_KERNELS_H

/** \file
 * The ahead-of-time libraries of the decoder on a GPU, as functions of addresses in its memory. They queue their work on the stream of the
 * thread, and throw std::runtime_error with the kernel's message.
 */

#include <cstdint>
#include <vector>

#include "kernel_table.h"
#include "weights_on_device.h"

namespace halyard_llm {

/** Rows from which on weights are unpacked, by tensor cores; fewer go by threads that read blocks. */
constexpr int kMany = 9;

/** y = a w + more, over `rows` rows. `more` is a row that all get (bias), or as many rows (residual), which may not be y. */
struct Added {
    uint64_t address = 0;
    bool every_row = false;
};
void multiply_on_device(uint64_t a, const ProductOnDevice &w, int rows, const Added &more, uint64_t y);

/** Whether weights in blocks of this type are multiplied as they are. */
bool has_products_of(TensorType type);

/** Such weights as f16, column by column. */
void unpack_on_device(const ProductOnDevice::Part &part, uint64_t y);

/** Whether kernels of few rows do what stands before or behind a product in one pass: the next three functions; gate and up too if `halves`
 * of its columns begin where blocks of the next product do. */
bool is_fused(const ProductOnDevice &w, int rows, bool halves = false);
/** y = (x / rms(x) * weight) w + more. */
void multiply_normed_on_device(uint64_t x, uint64_t weight, float eps, const ProductOnDevice &w, int rows, const Added &more, uint64_t y);
/** The same of gate and up, side by side in w: y = activation(gate) * up. */
void gate_normed_on_device(bool gelu, uint64_t x, uint64_t weight, float eps, const ProductOnDevice &w, int rows, uint64_t y);
/** y = a w + more, with a in f16. */
void multiply_half_on_device(uint64_t a, const ProductOnDevice &w, int rows, const Added &more, uint64_t y);

/** y = x / rms(x) * weight over rows of `columns`. */
void norm_on_device(uint64_t x, uint64_t weight, int columns, int rows, float eps, uint64_t y);

/** y = x + more. */
void add_on_device(uint64_t x, uint64_t more, int columns, int rows, uint64_t y);

/** y = activation(gate) * up, where each row has both, `columns` of the one and then of the other. */
void gate_on_device(bool gelu, uint64_t gate_up, int columns, int rows, uint64_t y);

/** How heads lie, and what is done to them. */
struct HeadsOnDevice {
    CacheType cache = CacheType::kF16;
    int width = 0, heads = 0, key_heads = 0, places = 0;  // `places` of the cache
    float scale = 0;
    int window = 0;  // keys that a query sees, its own among them; 0: all before it
    bool halves = false;
    uint64_t angles = 0;  // of the tokens that are turned: [pairs, 2, rows]
    int pairs = 0;
    uint64_t query_norm = 0, key_norm = 0;  // 0: none
    float eps = 0;
};

/** Elements of a layer's cache: [width, places, key_heads, keys and values]. */
int64_t cache_elements(const HeadsOnDevice &h);
/** Bytes of it and of what stands behind it: in 8 bits scales, f32 [places, key_heads, keys and values]; in f16 a token's queries or results, and then
 * results of tokens of kMany - 1 sequences, as all are rows of one array that kernels write. */
int64_t cache_bytes(const HeadsOnDevice &h);
uint64_t behind_cache(const HeadsOnDevice &h, uint64_t cache);
/** Bytes of a token's keys, values and scales. */
int64_t bytes_of_token(const HeadsOnDevice &h);

/** Queries, keys and values of `rows` tokens, side by side in a row of qkv: queries turned to q, in f16, keys turned and values to their places
 * in the cache. */
void turn_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t positions, int rows, uint64_t q, uint64_t cache);

/** The same of one token and a cache of f16, behind which queries go (behind_cache()). */
void turn_one_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t position, uint64_t cache);

/** A token's queries, in f16, over the first *length keys of a cache, of which `keys` are at least as many; y is f16. */
void decode_on_device(const HeadsOnDevice &h, uint64_t q, uint64_t cache, int keys, uint64_t length, uint64_t y);

/** Whether few_keys_on_device() does such heads, of a cache of f16, and the fewer kernels that it takes outweigh that a head is one block's work. */
bool is_for_one_block(const HeadsOnDevice &h, int keys);

/** Cosines and sines of positions: [pairs, 2, rows]. */
void angles_on_device(uint64_t positions, uint64_t frequencies, int pairs, int rows, uint64_t angles);

/** Both of the last two functions in one kernel, for few keys: results, in f16, go where queries go there. */
void few_keys_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t cache, int keys, uint64_t length);

/** Tokens of some sequences, whose caches of a layer are places of one array, so many bytes apart. */
struct TokensOnDevice {
    int count = 0;
    uint64_t cache = 0;    // of the first of the places
    int64_t stride = 0;    // of places, in bytes
    int places = 0;        // as many
    uint64_t lengths = 0;  // of the sequences, kLengthStep bytes apart
    int place[kMany - 1] = {};
    int first_results = 0;  // results go behind the cache of the first place, of the first token so many tokens behind
};
constexpr int kLengthStep = 64;
/** The same as few_keys_on_device() of each, to the bit. */
void few_keys_of_several_on_device(const HeadsOnDevice &h, uint64_t qkv, const TokensOnDevice &tokens, int keys);

/** The first `keys` keys and values of a cache of another type as one of f16 that has so many places. */
void widen_cache_on_device(const HeadsOnDevice &h, uint64_t cache, int keys, uint64_t y);

/** Queries in f16 over a cache of f16, which are those of the last of `keys` tokens; y is f16. */
void attend_on_device(const HeadsOnDevice &h, uint64_t q, int rows, uint64_t cache, int keys, uint64_t y);

/** The first of the largest of `count` logits of each row goes to *token, -1 where one is NaN. */
void largest_on_device(uint64_t logits, int count, uint64_t token, int rows = 1);

/** Draws a token of `count` logits to *token, -1 where they have no distribution. `draw` has the random number, the temperature, top-k, top-p
 * and min-p, so many bytes apart. */
constexpr int kDrawStep = 64, kDrawNumbers = 5;
void draw_on_device(uint64_t logits, int count, uint64_t draw, uint64_t token);

/** y = x, in f32 where x is in f16. */
void widen_on_device(uint64_t x, int columns, int rows, uint64_t y);

}  // namespace halyard_llm

#endif
