#include "kernels.h"

#include "llm_cuda_add.h"
#include "llm_cuda_attention_128.h"
#include "llm_cuda_attention_256.h"
#include "llm_cuda_attention_64.h"
#include "llm_cuda_attention_any.h"
#include "llm_cuda_decode.h"
#include "llm_cuda_decode_window.h"
#include "llm_cuda_f32.h"
#include "llm_cuda_gated_gelu_tanh.h"
#include "llm_cuda_gated_silu.h"
#include "llm_cuda_many_f32.h"
#include "llm_cuda_many_q4_0.h"
#include "llm_cuda_many_q4_1.h"
#include "llm_cuda_many_q8_0.h"
#include "llm_cuda_q4_0.h"
#include "llm_cuda_q4_1.h"
#include "llm_cuda_q8_0.h"
#include "llm_cuda_rms_norm.h"
#include "llm_cuda_turn_halves.h"
#include "llm_cuda_turn_halves_half.h"
#include "llm_cuda_turn_neighbours.h"
#include "llm_cuda_turn_neighbours_half.h"
#include "llm_cuda_turn_normed.h"
#include "llm_cuda_turn_normed_half.h"
#include "llm_cuda_widen.h"

namespace halyard_llm {

namespace {

using halyard_apps::check_cuda;
using halyard_apps::DeviceView;
using halyard_apps::dim;

constexpr halide_type_t kFloat{halide_type_float, 32}, kHalf{halide_type_float, 16}, kByte{halide_type_uint, 8}, kInt{halide_type_int, 32};
constexpr int kMany = 9;  // rows for which weights are unpacked once

using Array = halide_buffer_t *;
using ProductKernel = int(Array a, Array b, Array residual, Array y);

class Vector : public DeviceView<1> {
public:
    Vector(halide_type_t type, uint64_t address, int64_t count) : DeviceView<1>(type, address, dim(count, 1)) {}
};

class Rows : public DeviceView<2> {
public:
    Rows(halide_type_t type, uint64_t address, int64_t columns, int64_t rows)
        : DeviceView<2>(type, address, dim(columns, 1), dim(rows, columns)) {}
};

ProductKernel *product_kernel(TensorType type, bool many) {
    switch (type) {
    case TensorType::kQ4_0: return many ? llm_cuda_many_q4_0 : llm_cuda_q4_0;
    case TensorType::kQ4_1: return many ? llm_cuda_many_q4_1 : llm_cuda_q4_1;
    case TensorType::kQ8_0: return many ? llm_cuda_many_q8_0 : llm_cuda_q8_0;
    default: return many ? llm_cuda_many_f32 : llm_cuda_f32;
    }
}

/** Keys, or values, of `keys` tokens of a cache. */
DeviceView<4> of_cache(const HeadsOnDevice &h, uint64_t kv, int keys, bool values) {
    const int64_t head = int64_t(h.width) * h.places, all = head * h.key_heads;
    return DeviceView<4>(kHalf, kv + (values ? uint64_t(all) * 2 : 0), dim(h.width, 1), dim(keys, h.width), dim(h.key_heads, head),
                         dim(1, all));
}

/** Heads of rows of queries, or of results, side by side. */
DeviceView<4> of_rows(const HeadsOnDevice &h, halide_type_t type, uint64_t rows_at, int rows) {
    const int64_t row = int64_t(h.width) * h.heads;
    return DeviceView<4>(type, rows_at, dim(h.width, 1), dim(rows, row), dim(h.heads, h.width), dim(1, row * rows));
}

}  // namespace

void multiply_on_device(uint64_t a, const ProductOnDevice &w, int rows, uint64_t bias, uint64_t residual, uint64_t y) {
    const int64_t columns = w.columns();
    uint64_t column = 0;
    for (const ProductOnDevice::Part &part : w.parts) {
        Rows a_rows(kFloat, a, part.k, rows);
        // A residual of one row that has no distance to the next one is a bias: one library serves both.
        DeviceView<2> more(kFloat, (residual ? residual : bias) + column, dim(part.n, 1), dim(rows, residual ? columns : 0));
        DeviceView<2> y_rows(kFloat, y + column, dim(part.n, 1), dim(rows, columns));
        ProductKernel *const kernel = product_kernel(part.type, rows >= kMany);
        if (part.type == TensorType::kF32) {
            check_cuda(kernel(a_rows, Rows(kFloat, part.data, part.k, part.n), more, y_rows), "product");
        } else {
            const BlockSize &size = *block_size(part.type);
            const int64_t blocks = part.k / size.elements, of_block = size.bytes * kInterleaved;
            DeviceView<3> b(kByte, part.data, dim(of_block, 1), dim(blocks, of_block),
                            dim((part.n + kInterleaved - 1) / kInterleaved, blocks * of_block));
            check_cuda(kernel(a_rows, b, more, y_rows), "product");
        }
        column += uint64_t(part.n) * sizeof(float);
    }
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

void turn_on_device(const HeadsOnDevice &h, uint64_t qkv, uint64_t positions, int rows, bool half, uint64_t q, uint64_t kv) {
    const int64_t heads = h.heads + 2 * h.key_heads, head = int64_t(h.width) * h.places;
    const auto heads_of = [&](halide_type_t type, uint64_t at, int64_t count) {
        return DeviceView<3>(type, at, dim(h.width, 1), dim(count, h.width), dim(rows, count * h.width));
    };
    auto qkv_heads = heads_of(kFloat, qkv, heads), q_heads = heads_of(half ? kHalf : kFloat, q, h.heads);
    Vector at(kInt, positions, rows), frequencies(kFloat, h.frequencies, h.pairs);
    DeviceView<4> cache(kHalf, kv, dim(h.width, 1), dim(h.places, h.width), dim(h.key_heads, head), dim(2, head * h.key_heads));
    if (h.query_norm) {
        Vector query_weight(kFloat, h.query_norm, h.width), key_weight(kFloat, h.key_norm, h.width);
        const auto kernel = half ? llm_cuda_turn_normed_half : llm_cuda_turn_normed;
        check_cuda(kernel(qkv_heads, at, frequencies, query_weight, key_weight, h.eps, q_heads, cache), "positions");
        return;
    }
    const auto kernel = h.halves ? half ? llm_cuda_turn_halves_half : llm_cuda_turn_halves
                        : half   ? llm_cuda_turn_neighbours_half
                                 : llm_cuda_turn_neighbours;
    check_cuda(kernel(qkv_heads, at, frequencies, q_heads, cache), "positions");
}

void decode_on_device(const HeadsOnDevice &h, uint64_t q, uint64_t kv, int keys, uint64_t length, uint64_t y) {
    auto queries = of_rows(h, kFloat, q, 1), out = of_rows(h, kFloat, y, 1);
    auto k = of_cache(h, kv, keys, false), v = of_cache(h, kv, keys, true);
    Vector lengths(kInt, length, 1);
    check_cuda(h.window > 0 ? llm_cuda_decode_window(queries, k, v, h.scale, lengths, h.window - 1, 0, out)
                            : llm_cuda_decode(queries, k, v, h.scale, lengths, out),
               "attention of one query");
}

void attend_on_device(const HeadsOnDevice &h, uint64_t q, int rows, uint64_t kv, int keys, uint64_t half_y, uint64_t y) {
    auto queries = of_rows(h, kHalf, q, rows), out = of_rows(h, kHalf, half_y, rows);
    auto k = of_cache(h, kv, keys, false), v = of_cache(h, kv, keys, true);
    const auto kernel = h.width == 64    ? llm_cuda_attention_64
                        : h.width == 128 ? llm_cuda_attention_128
                        : h.width == 256 ? llm_cuda_attention_256
                                         : llm_cuda_attention_any;
    const int left = h.window > 0 ? h.window - 1 : keys;
    check_cuda(kernel(queries, k, v, h.scale, left, 0, out), "attention");
    const int columns = h.width * h.heads;
    check_cuda(llm_cuda_widen(Rows(kHalf, half_y, columns, rows), Rows(kFloat, y, columns, rows)), "results of attention");
}

}  // namespace halyard_llm
