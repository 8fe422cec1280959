#include "kernels.h"

#include <algorithm>
#include <map>

#include "formats.inc"
#include "views.h"

#include "llm_cuda_add.h"
#include "llm_cuda_angles.h"
#include "llm_cuda_attend_halves.h"
#include "llm_cuda_attend_neighbours.h"
#include "llm_cuda_attend_normed.h"
#include "llm_cuda_attend_several_halves.h"
#include "llm_cuda_attend_several_neighbours.h"
#include "llm_cuda_attend_several_normed.h"
#include "llm_cuda_attention_128.h"
#include "llm_cuda_attention_256.h"
#include "llm_cuda_attention_64.h"
#include "llm_cuda_attention_any.h"
#include "llm_cuda_decode.h"
#include "llm_cuda_decode_bf16.h"
#include "llm_cuda_decode_int8.h"
#include "llm_cuda_decode_window.h"
#include "llm_cuda_decode_window_bf16.h"
#include "llm_cuda_decode_window_int8.h"
#include "llm_cuda_gated_gelu_tanh.h"
#include "llm_cuda_gated_silu.h"
#include "llm_cuda_largest.h"
#include "llm_cuda_many_rows.h"
#include "llm_cuda_rms_norm.h"
#include "llm_cuda_rows.h"
#include "llm_cuda_sample.h"
#include "llm_cuda_turn_halves.h"
#include "llm_cuda_turn_halves_bf16.h"
#include "llm_cuda_turn_halves_int8.h"
#include "llm_cuda_turn_halves_one.h"
#include "llm_cuda_turn_neighbours.h"
#include "llm_cuda_turn_neighbours_bf16.h"
#include "llm_cuda_turn_neighbours_int8.h"
#include "llm_cuda_turn_neighbours_one.h"
#include "llm_cuda_turn_normed.h"
#include "llm_cuda_turn_normed_bf16.h"
#include "llm_cuda_turn_normed_int8.h"
#include "llm_cuda_turn_normed_one.h"
#include "llm_cuda_widen.h"
#include "llm_cuda_widen_bf16.h"
#include "llm_cuda_widen_int8.h"

namespace halyard_llm {

namespace {

using halyard_apps::check_cuda;

constexpr int kMostOfLayers = 16384;  // columns; heads have more

using Array = halide_buffer_t *;
using ProductKernel = int(Array a, Array b, Array residual, Array y);

using NormedKernel = int(Array x, Array b, Array norm, float eps, Array residual, Array y);
using GatedKernel = int(Array x, Array b, Array norm, float eps, Array y);
using UnpackKernel = int(Array b, Array y);

/** Products of a type of weights; those that are null are computed step by step. */
struct ProductKernels {
    ProductKernel *few, *many, *half = nullptr;
    NormedKernel *normed = nullptr, *head = nullptr;  // few columns, and many
    GatedKernel *silu = nullptr, *gelu_tanh = nullptr;
    UnpackKernel *unpack = nullptr;  // as f16
};

#define HALYARD_LLM_PRODUCTS(type, name)                                                                                                   \
    {TensorType::type,                                                                                                                     \
     {llm_cuda_##name, llm_cuda_many_##name, llm_cuda_half_##name, llm_cuda_normed_##name, llm_cuda_head_##name, llm_cuda_silu_##name,     \
      llm_cuda_gelu_tanh_##name, llm_cuda_unpack_##name}},

/** Of weights in blocks. */
const std::map<TensorType, ProductKernels> &block_kernels() {
    static const std::map<TensorType, ProductKernels> kernels = {HALYARD_LLM_FORMATS(HALYARD_LLM_PRODUCTS)};
    return kernels;
}

const ProductKernels &kernels_of(const ProductOnDevice::Part &part) {
    static const ProductKernels of_rows = {llm_cuda_rows, llm_cuda_many_rows};
    return part.interleaved ? block_kernels().at(part.type) : of_rows;
}

/** A residual of one row that has no distance to the next one is a bias: one library serves both. */
DeviceView<2> added(const Added &more, int64_t first, int64_t columns, int64_t n, int rows) {
    return DeviceView<2>(kFloat, more.address + uint64_t(first) * sizeof(float), dim(n, 1), dim(rows, more.every_row ? 0 : columns));
}

DeviceView<3> angles_of(int pairs, uint64_t angles, int rows) {
    return DeviceView<3>(kFloat, angles, dim(pairs, 1), dim(2, pairs), dim(rows, 2 * int64_t(pairs)));
}

halide_type_t stored_type(const HeadsOnDevice &h) {
    return h.cache == CacheType::kBF16 ? kBFloat : h.cache == CacheType::kInt8 ? kInt8 : kHalf;
}

/** Keys and values of `keys` tokens of a cache; or, with `count` of 1, keys or values. */
DeviceView<4> of_cache(const HeadsOnDevice &h, uint64_t kv, int keys, int first, int count) {
    const int64_t head = int64_t(h.width) * h.places, all = head * h.key_heads;
    return DeviceView<4>(stored_type(h), kv + uint64_t(first * all * stored_type(h).bytes()), dim(h.width, 1), dim(keys, h.width),
                         dim(h.key_heads, head), dim(count, all));
}

/** Their scales. */
DeviceView<3> scales_of(const HeadsOnDevice &h, uint64_t kv, int keys, int first, int count) {
    const int64_t all = int64_t(h.places) * h.key_heads;
    return DeviceView<3>(kFloat, behind_cache(h, kv) + uint64_t(first * all) * sizeof(float), dim(keys, 1), dim(h.key_heads, h.places),
                         dim(count, all));
}

/** Keys, values, and what stands behind them of one token. */
int64_t rows_of_one(const HeadsOnDevice &h) {
    return 2 * int64_t(h.places) * h.key_heads + h.heads;
}

/** Heads of rows of queries, or of results, side by side. */
DeviceView<4> of_rows(const HeadsOnDevice &h, halide_type_t type, uint64_t rows_at, int rows) {
    const int64_t row = int64_t(h.width) * h.heads;
    return DeviceView<4>(type, rows_at, dim(h.width, 1), dim(rows, row), dim(h.heads, h.width), dim(1, row * rows));
}

/** Parts side by side, each with its columns of the results and of what is added. */
template<typename Multiply>
void by_parts(const ProductOnDevice &w, int rows, const Added &more, uint64_t y, const Multiply &multiply) {
    const int64_t columns = w.columns();
    int64_t column = 0;
    for (const ProductOnDevice::Part &part : w.parts) {
        auto more_rows = added(more, column, columns, part.n, rows);
        DeviceView<2> y_rows(kFloat, y + uint64_t(column) * sizeof(float), dim(part.n, 1), dim(rows, columns));
        multiply(part, kernels_of(part), more_rows, y_rows);
        column += part.n;
    }
}

}  // namespace

bool has_products_of(TensorType type) {
    return block_kernels().count(type) != 0;
}

bool is_fused(const ProductOnDevice &w, int rows, bool halves) {
    constexpr int kBlock = 32;
    const auto of_part = [&](const ProductOnDevice::Part &part) { return kernels_of(part).normed != nullptr; };
    return rows < kMany && std::all_of(w.parts.begin(), w.parts.end(), of_part) &&
           (!halves || (w.parts.size() == 1 && w.parts[0].n % (2 * kBlock) == 0));
}

void multiply_on_device(uint64_t a, const ProductOnDevice &w, int rows, const Added &more, uint64_t y) {
    by_parts(w, rows, more, y,
             [&](const ProductOnDevice::Part &part, const ProductKernels &kernels, DeviceView<2> &added, DeviceView<2> &to) {
                 Rows a_rows(kFloat, a, part.k, rows);
                 ProductKernel *const kernel = rows >= kMany ? kernels.many : kernels.few;
                 check_cuda(part.interleaved ? kernel(a_rows, blocks_of(part), added, to)
                                             : kernel(a_rows, Rows(kFloat, part.data, part.k, part.n), added, to),
                            "product");
             });
}

void multiply_normed_on_device(uint64_t x, uint64_t weight, float eps, const ProductOnDevice &w, int rows, const Added &more, uint64_t y) {
    by_parts(w, rows, more, y,
             [&](const ProductOnDevice::Part &part, const ProductKernels &kernels, DeviceView<2> &added, DeviceView<2> &to) {
                 NormedKernel *const kernel = part.n > kMostOfLayers ? kernels.head : kernels.normed;
                 check_cuda(kernel(Rows(kFloat, x, part.k, rows), blocks_of(part), Vector(kFloat, weight, part.k), eps, added, to),
                            "norm and product");
             });
}

void gate_normed_on_device(bool gelu, uint64_t x, uint64_t weight, float eps, const ProductOnDevice &w, int rows, uint64_t y) {
    const ProductOnDevice::Part &part = w.parts[0];
    const ProductKernels &kernels = kernels_of(part);
    check_cuda((gelu ? kernels.gelu_tanh : kernels.silu)(Rows(kFloat, x, part.k, rows), blocks_of(part), Vector(kFloat, weight, part.k),
                                                         eps, Rows(kFloat, y, part.n / 2, rows)),
               "norm, gate and up");
}

void multiply_half_on_device(uint64_t a, const ProductOnDevice &w, int rows, const Added &more, uint64_t y) {
    by_parts(w, rows, more, y,
             [&](const ProductOnDevice::Part &part, const ProductKernels &kernels, DeviceView<2> &added, DeviceView<2> &to) {
                 check_cuda(kernels.half(Rows(kHalf, a, part.k, rows), blocks_of(part), added, to), "product of f16");
             });
}

void unpack_on_device(const ProductOnDevice::Part &part, uint64_t y) {
    check_cuda(kernels_of(part).unpack(blocks_of(part), Rows(kHalf, y, part.k, part.n)), "weights as f16");
}

void norm_on_device(uint64_t x, uint64_t weight, int columns, int rows, float eps, uint64_t y) {
    check_cuda(llm_cuda_rms_norm(Rows(kFloat, x, columns, rows), Vector(kFloat, weight, columns), eps, Rows(kFloat, y, columns, rows)),
               "norm");
}

void add_on_device(uint64_t x, uint64_t more, int columns, int rows, uint64_t y) {
    check_cuda(llm_cuda_add(Rows(kFloat, x, columns, rows), Rows(kFloat, more, columns, rows), Rows(kFloat, y, columns, rows)), "sum");
}

void gate_on_device(bool gelu, uint64_t gate_up, int columns, int rows, uint64_t y) {
    const auto half = [&](int first) {
        return DeviceView<2>(kFloat, gate_up + uint64_t(first) * sizeof(float), dim(columns, 1), dim(rows, 2 * int64_t(columns)));
    };
    auto gate = half(0), up = half(columns);
    check_cuda((gelu ? llm_cuda_gated_gelu_tanh : llm_cuda_gated_silu)(gate, up, Rows(kFloat, y, columns, rows)), "activation");
}

int64_t cache_elements(const HeadsOnDevice &h) {
    return 2 * int64_t(h.places) * h.key_heads * h.width;
}

int64_t cache_bytes(const HeadsOnDevice &h) {
    const int64_t rows = 2 * int64_t(h.places) * h.key_heads, end = int64_t(behind_cache(h, 0));
    switch (h.cache) {
    case CacheType::kF16: return end + int64_t(kMany) * h.heads * h.width * kHalf.bytes();
    case CacheType::kInt8: return end + rows * int64_t(sizeof(float));
    default: return end;
    }
}

int64_t bytes_of_token(const HeadsOnDevice &h) {
    const int64_t scale = h.cache == CacheType::kInt8 ? sizeof(float) : 0;
    return 2 * int64_t(h.key_heads) * (int64_t(h.width) * stored_type(h).bytes() + scale);
}

uint64_t behind_cache(const HeadsOnDevice &h, uint64_t cache) {
    constexpr int64_t kScale = sizeof(float);  // which is aligned
    const int64_t bytes = cache_elements(h) * stored_type(h).bytes();
    return cache + uint64_t((bytes + kScale - 1) / kScale * kScale);
}

void turn_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t positions, int rows, uint64_t q, uint64_t cache) {
    const auto heads_of = [&](halide_type_t type, uint64_t at, int64_t count) {
        return DeviceView<3>(type, at, dim(h.width, 1), dim(count, h.width), dim(rows, count * h.width));
    };
    auto qkv_heads = heads_of(kFloat, qkv, h.heads + 2 * int64_t(h.key_heads)), q_heads = heads_of(kHalf, q, h.heads);
    Vector at(kInt, positions, rows);
    auto turns = angles_of(h.pairs, h.angles, rows);
    auto kv = of_cache(h, cache, h.places, 0, 2);
    const auto turn = [&](auto *normed, auto *halves, auto *neighbours, auto &...outputs) {
        if (h.query_norm) {
            Vector query_weight(kFloat, h.query_norm, h.width), key_weight(kFloat, h.key_norm, h.width);
            check_cuda(normed(qkv_heads, at, turns, query_weight, key_weight, h.eps, outputs...), "positions");
        } else {
            check_cuda((h.halves ? halves : neighbours)(qkv_heads, at, turns, outputs...), "positions");
        }
    };
    if (h.cache == CacheType::kInt8) {
        auto scales = scales_of(h, cache, h.places, 0, 2);
        turn(llm_cuda_turn_normed_int8, llm_cuda_turn_halves_int8, llm_cuda_turn_neighbours_int8, q_heads, kv, scales);
    } else if (h.cache == CacheType::kBF16) {
        turn(llm_cuda_turn_normed_bf16, llm_cuda_turn_halves_bf16, llm_cuda_turn_neighbours_bf16, q_heads, kv);
    } else {
        turn(llm_cuda_turn_normed, llm_cuda_turn_halves, llm_cuda_turn_neighbours, q_heads, kv);
    }
}

void turn_one_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t position, uint64_t cache) {
    const int64_t heads = h.heads + 2 * h.key_heads;
    DeviceView<3> qkv_heads(kFloat, qkv, dim(h.width, 1), dim(heads, h.width), dim(1, heads * h.width));
    Vector at(kInt, position, 1);
    auto turns = angles_of(h.pairs, h.angles, 1);
    Rows all(kHalf, cache, h.width, rows_of_one(h));
    if (h.query_norm) {
        Vector query_weight(kFloat, h.query_norm, h.width), key_weight(kFloat, h.key_norm, h.width);
        check_cuda(llm_cuda_turn_normed_one(qkv_heads, at, turns, h.key_heads, query_weight, key_weight, h.eps, all), "position");
        return;
    }
    check_cuda((h.halves ? llm_cuda_turn_halves_one : llm_cuda_turn_neighbours_one)(qkv_heads, at, turns, h.key_heads, all), "position");
}

void decode_on_device(const HeadsOnDevice &h, uint64_t q, uint64_t cache, int keys, uint64_t length, uint64_t y) {
    auto queries = of_rows(h, kHalf, q, 1), out = of_rows(h, kHalf, y, 1);
    auto k = of_cache(h, cache, keys, 0, 1), v = of_cache(h, cache, keys, 1, 1);
    Vector lengths(kInt, length, 1);
    const auto decode = [&](auto *windowed, auto *all, auto &...scales) {
        check_cuda(h.window > 0 ? windowed(queries, k, v, h.scale, scales..., lengths, h.window - 1, 0, out)
                                : all(queries, k, v, h.scale, scales..., lengths, out),
                   "attention of one query");
    };
    if (h.cache == CacheType::kInt8) {
        auto k_scales = scales_of(h, cache, keys, 0, 1), v_scales = scales_of(h, cache, keys, 1, 1);
        decode(llm_cuda_decode_window_int8, llm_cuda_decode_int8, k_scales, v_scales);
    } else if (h.cache == CacheType::kBF16) {
        decode(llm_cuda_decode_window_bf16, llm_cuda_decode_bf16);
    } else {
        decode(llm_cuda_decode_window, llm_cuda_decode);
    }
}

void widen_cache_on_device(const HeadsOnDevice &h, uint64_t cache, int keys, uint64_t y) {
    HeadsOnDevice wide = h;
    wide.cache = CacheType::kF16;
    wide.places = keys;
    auto from = of_cache(h, cache, keys, 0, 2), to = of_cache(wide, y, keys, 0, 2);
    check_cuda(h.cache == CacheType::kInt8 ? llm_cuda_widen_int8(from, scales_of(h, cache, keys, 0, 2), to) : llm_cuda_widen_bf16(from, to),
               "keys and values as f16");
}

bool is_for_one_block(const HeadsOnDevice &h, int keys) {
    constexpr int kAtOnce = 32768, kFewKeys = 256;  // elements of keys of a head that threads have at once (attend.lua)
    return h.cache == CacheType::kF16 && (h.width == 64 || h.width == 128 || h.width == 256) &&
           (keys * h.width <= kAtOnce || keys <= kFewKeys);
}

void angles_on_device(uint64_t positions, uint64_t frequencies, int pairs, int rows, uint64_t angles) {
    check_cuda(llm_cuda_angles(Vector(kInt, positions, rows), Vector(kFloat, frequencies, pairs), angles_of(pairs, angles, rows)),
               "angles");
}

void few_keys_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t cache, int keys, uint64_t length) {
    Rows qkv_heads(kFloat, qkv, h.width, h.heads + 2 * h.key_heads);
    auto turns = angles_of(h.pairs, h.angles, 1);
    Vector lengths(kInt, length, 1);
    Rows read(kHalf, cache, h.width, rows_of_one(h)), written(kHalf, cache, h.width, rows_of_one(h));
    const int window = h.window > 0 ? h.window : h.places;
    if (h.query_norm) {
        Vector query_weight(kFloat, h.query_norm, h.width), key_weight(kFloat, h.key_norm, h.width);
        check_cuda(llm_cuda_attend_normed(qkv_heads, turns, lengths, read, h.key_heads, keys, window, h.scale, query_weight, key_weight,
                                          h.eps, written),
                   "attention of few keys");
        return;
    }
    check_cuda((h.halves ? llm_cuda_attend_halves : llm_cuda_attend_neighbours)(qkv_heads, turns, lengths, read, h.key_heads, keys, window,
                                                                                h.scale, written),
               "attention of few keys");
}

void few_keys_of_several_on_device(const HeadsOnDevice &h, uint64_t qkv, const TokensOnDevice &tokens, int keys) {
    constexpr int kElement = 2, kStep = kLengthStep / int(sizeof(int32_t));
    Rows qkv_heads(kFloat, qkv, h.width, (h.heads + 2 * int64_t(h.key_heads)) * tokens.count);
    auto turns = angles_of(h.pairs, h.angles, tokens.count);
    DeviceView<1> lengths(kInt, tokens.lengths, dim(tokens.count, kStep));
    const auto caches = [&] {
        return DeviceView<3>(kHalf, tokens.cache, dim(h.width, 1), dim(cache_bytes(h) / kElement / h.width, h.width),
                             dim(tokens.places, tokens.stride / kElement));
    };
    auto read = caches(), written = caches();
    const int window = h.window > 0 ? h.window : h.places;
    const auto what = "attention of few keys of several tokens";
    const int(&place)[8] = tokens.place;
    if (h.query_norm) {
        Vector query_weight(kFloat, h.query_norm, h.width), key_weight(kFloat, h.key_norm, h.width);
        check_cuda(llm_cuda_attend_several_normed(qkv_heads, turns, lengths, read, h.key_heads, keys, window, h.scale, place[0], place[1],
                                                  place[2], place[3], place[4], place[5], place[6], place[7], h.places,
                                                  tokens.first_results, query_weight, key_weight, h.eps, written),
                   what);
        return;
    }
    check_cuda((h.halves ? llm_cuda_attend_several_halves : llm_cuda_attend_several_neighbours)(
                   qkv_heads, turns, lengths, read, h.key_heads, keys, window, h.scale, place[0], place[1], place[2], place[3], place[4],
                   place[5], place[6], place[7], h.places, tokens.first_results, written),
               what);
}

void attend_on_device(const HeadsOnDevice &h, uint64_t q, int rows, uint64_t cache, int keys, uint64_t y) {
    auto queries = of_rows(h, kHalf, q, rows), out = of_rows(h, kHalf, y, rows);
    auto k = of_cache(h, cache, keys, 0, 1), v = of_cache(h, cache, keys, 1, 1);
    const auto kernel = h.width == 64    ? llm_cuda_attention_64
                        : h.width == 128 ? llm_cuda_attention_128
                        : h.width == 256 ? llm_cuda_attention_256
                                         : llm_cuda_attention_any;
    check_cuda(kernel(queries, k, v, h.scale, h.window > 0 ? h.window - 1 : keys, 0, out), "attention");
}

void largest_on_device(uint64_t logits, int count, uint64_t token, int rows) {
    check_cuda(llm_cuda_largest(Rows(kFloat, logits, count, rows), Vector(kInt, token, rows)), "the most probable token");
}

void draw_on_device(uint64_t logits, int count, uint64_t draw, uint64_t token) {
    const auto number = [&](halide_type_t type, int i) { return DeviceView<1>(type, draw + uint64_t(i * kDrawStep), dim(1, 1)); };
    auto uniform = number(kFloat, 0), temperature = number(kFloat, 1), top_k = number(kInt, 2), top_p = number(kFloat, 3),
         min_p = number(kFloat, 4);
    check_cuda(llm_cuda_sample(Rows(kFloat, logits, count, 1), uniform, temperature, top_k, top_p, min_p, Vector(kInt, token, 1)),
               "sampling");
}

void widen_on_device(uint64_t x, int columns, int rows, uint64_t y) {
    check_cuda(llm_cuda_widen(Rows(kHalf, x, columns, rows), Rows(kFloat, y, columns, rows)), "rows as f32");
}

}  // namespace halyard_llm
