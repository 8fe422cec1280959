#ifndef HALYARD_LLM_KERNEL_TABLE_H
#define HALYARD_LLM_KERNEL_TABLE_H

/** \file
 * The libraries of a decoder by what they compute: those that fuse, and for comparison the same ops without fusion.
 */

#include <HalideRuntime.h>

#include <cstdint>

namespace halyard_llm {

/** What keys and values are kept as. */
enum class CacheType { kF32, kF16, kBF16, kInt8 };
constexpr int kCacheTypes = 4;

/** A library, by its name; its call may be null, if there is none. */
template<typename Call>
struct Kernel {
    const char *name;
    Call *call;
};

struct Kernels {
    using Array = halide_buffer_t *;
    using Product = int(Array a, Array b, Array residual, Array y);
    using Norm = int(Array x, Array weight, float eps, Array y);
    using Rope = int(Array x, Array positions, Array frequencies, Array y);
    using Gated = int(Array gate, Array up, Array y);
    using Store = int(Array x, Array y);
    using ScaledStore = int(Array x, Array y, Array scale);
    using Decode = int(Array q, Array k, Array v, float scale, Array y);
    using ScaledDecode = int(Array q, Array k, Array v, float scale, Array k_scale, Array v_scale, Array y);
    using Attention = int(Array q, Array k, Array v, float scale, int32_t left, int32_t right, Array y);
    using ScaledAttention = int(Array q, Array k, Array v, float scale, Array k_scale, Array v_scale, int32_t left, int32_t right, Array y);

    enum Weights { kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ4_K, kQ5_K, kQ6_K, kF16, kBF16, kF32, kWeights };

    bool fused;
    Kernel<Product> products[kWeights][2];  // by rows in 8 bits, if weights are integers, and in f32
    Kernel<Norm> rms_norm;
    Kernel<Rope> rope, rope_halves;
    Kernel<Gated> gated_silu, gated_gelu_tanh;
    // By the type of the cache.
    Kernel<Store> store[3];
    Kernel<Decode> decode_attention[3];
    Kernel<Decode> decode_attention_64[3], decode_attention_128[3];  // by heads of such widths; without a call it is the one above
    Kernel<Attention> attention[3];
    Kernel<ScaledStore> store_int8;
    Kernel<ScaledDecode> decode_attention_int8;
    Kernel<ScaledAttention> attention_int8;
};

const Kernels &fused_kernels();

/** The same with each step of an op in a pass of its own, and without products that are done together; the cache is f32. Of the program,
 * and not of the library. */
const Kernels &unfused_kernels();

#define HALYARD_LLM_KERNEL(name)                                                                                                           \
    { #name, name }

}  // namespace halyard_llm

#endif
