#include "kernels.h"

#include <fmt/format.h>
#include <halyard/runtime.h>

#include <chrono>
#include <stdexcept>

#include "llm_attention.h"
#include "llm_decode_attention.h"
#include "llm_f32.h"
#include "llm_gated_gelu_tanh.h"
#include "llm_gated_silu.h"
#include "llm_int8_q4_0.h"
#include "llm_int8_q4_1.h"
#include "llm_int8_q8_0.h"
#include "llm_q4_0.h"
#include "llm_q4_1.h"
#include "llm_q8_0.h"
#include "llm_rms_norm.h"
#include "llm_rope.h"
#include "llm_rope_halves.h"
#include "view.h"

namespace halyard_llm {

namespace {

thread_local KernelLog *kernel_log = nullptr;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/** Calls a kernel, which reads and writes so many bytes. */
template<typename Call>
void run(const char *kernel, double bytes, const Call &call) {
    const double begin = kernel_log ? now() : 0;
    if (call() != 0) {
        throw std::runtime_error(fmt::format("kernel {}: {}", kernel, halyard_last_error()));
    }
    if (kernel_log) {
        KernelUse &use = (*kernel_log)[kernel];
        use.calls++;
        use.bytes += bytes;
        use.seconds += now() - begin;
    }
}

double floats(int64_t count) {
    return double(count) * sizeof(float);
}

struct Kernel {
    const char *name;
    int (*call)(halide_buffer_t *a, halide_buffer_t *b, halide_buffer_t *residual, halide_buffer_t *y);
};

#define LLM_PRODUCT(name)                                                                                                                  \
    { #name, name }

Kernel product_of(TensorType type, bool exact) {
    switch (type) {
    case TensorType::kQ4_0: return exact ? Kernel LLM_PRODUCT(llm_q4_0) : Kernel LLM_PRODUCT(llm_int8_q4_0);
    case TensorType::kQ4_1: return exact ? Kernel LLM_PRODUCT(llm_q4_1) : Kernel LLM_PRODUCT(llm_int8_q4_1);
    case TensorType::kQ8_0: return exact ? Kernel LLM_PRODUCT(llm_q8_0) : Kernel LLM_PRODUCT(llm_int8_q8_0);
    default: return Kernel LLM_PRODUCT(llm_f32);
    }
}

#undef LLM_PRODUCT

}  // namespace

void log_kernels(KernelLog *log) {
    kernel_log = log;
}

void multiply(bool exact, const float *a, const Product &w, int rows, const float *bias, const float *residual, float *y) {
    // A residual of one row that has no distance to the next one is a bias, of zeros it is none: one library serves all.
    static const std::vector<float> zeros(size_t(1) << 20);
    const std::vector<float> more(bias || residual || size_t(w.columns()) <= zeros.size() ? 0 : size_t(w.columns()));
    const float *first = residual ? residual : bias ? bias : more.empty() ? zeros.data() : more.data();
    int64_t column = 0;
    for (const Product::Part &part : w.parts()) {
        BufferView<2> added(kFloatType, first + column, dim(part.n, 1), dim(rows, residual ? w.columns() : 0));
        BufferView<2> y_rows(kFloatType, y + column, dim(part.n, 1), dim(rows, w.columns()));
        Rows a_rows(a, part.k, rows);
        const Kernel kernel = product_of(part.type, exact);
        const BlockSize *block = block_size(part.type);
        const int64_t blocks = part.k / block->elements, panel = blocks * block->bytes * kInterleaved;
        const double bytes =
            double(part.n) * double(blocks * block->bytes) + floats(int64_t(rows) * (part.k + part.n * (residual ? 2 : 1)));
        if (part.type == TensorType::kF32) {
            run(kernel.name, bytes, [&] { return kernel.call(a_rows, Rows(part.data, part.k, part.n), added, y_rows); });
        } else {
            BufferView<3> weights(kByteType, part.data, dim(block->bytes * kInterleaved, 1), dim(blocks, block->bytes * kInterleaved),
                                  dim((part.n + kInterleaved - 1) / kInterleaved, panel));
            run(kernel.name, bytes, [&] { return kernel.call(a_rows, weights, added, y_rows); });
        }
        column += part.n;
    }
}

void rms_norm(const float *x, const float *weight, int columns, int64_t rows, float eps, float *y) {
    BufferView<1> of_columns(kFloatType, weight, dim(columns, 1));
    run("llm_rms_norm", floats(columns * (2 * rows + 1)),
        [&] { return llm_rms_norm(Rows(x, columns, rows), of_columns, eps, Rows(y, columns, rows)); });
}

void rope(bool halves, const float *x, int64_t x_row, const int32_t *positions, const std::vector<float> &frequencies, int width, int heads,
          int rows, float *y) {
    const int64_t row = int64_t(width) * heads;
    BufferView<3> from(kFloatType, x, dim(width, 1), dim(heads, width), dim(rows, x_row));
    BufferView<3> to(kFloatType, y, dim(width, 1), dim(heads, width), dim(rows, row));
    BufferView<1> at(kIntType, positions, dim(rows, 1));
    BufferView<1> of_pairs(kFloatType, frequencies.data(), dim(int64_t(frequencies.size()), 1));
    run(halves ? "llm_rope_halves" : "llm_rope", floats(2 * row * rows),
        [&] { return (halves ? llm_rope_halves : llm_rope)(from, at, of_pairs, to); });
}

void attend(const AttentionSizes &sizes, const float *q, int rows, const float *k, const float *v, int keys, float *y) {
    const int width = sizes.head_width;
    const int64_t query_row = int64_t(width) * sizes.heads, key_row = int64_t(width) * sizes.key_heads;
    const auto queries_view = [&](const float *at) {
        return BufferView<4>(kFloatType, at, dim(width, 1), dim(rows, query_row), dim(sizes.heads, width), dim(1, query_row * rows));
    };
    const bool one = rows == 1;
    // One query needs no more than the keys that it sees.
    const int first = one && sizes.window > 0 && keys > sizes.window ? keys - sizes.window : 0;
    const auto keys_view = [&](const float *at) {
        return BufferView<4>(kFloatType, at + first * key_row, dim(width, 1), dim(keys - first, key_row), dim(sizes.key_heads, width),
                             dim(1, key_row * (keys - first)));
    };
    const double bytes = floats(2 * rows * query_row + 2 * (keys - first) * key_row);
    if (one) {
        run("llm_decode_attention", bytes,
            [&] { return llm_decode_attention(queries_view(q), keys_view(k), keys_view(v), sizes.scale, queries_view(y)); });
    } else {
        const int left = sizes.window > 0 ? sizes.window - 1 : -1;
        run("llm_attention", bytes,
            [&] { return llm_attention(queries_view(q), keys_view(k), keys_view(v), sizes.scale, left, 0, queries_view(y)); });
    }
}

void gate(bool gelu, const float *gate_up, int columns, int rows, float *y) {
    const auto half = [&](int which) {
        return BufferView<2>(kFloatType, gate_up + int64_t(which) * columns, dim(columns, 1), dim(rows, 2 * int64_t(columns)));
    };
    run(gelu ? "llm_gated_gelu_tanh" : "llm_gated_silu", floats(3 * int64_t(columns) * rows),
        [&] { return (gelu ? llm_gated_gelu_tanh : llm_gated_silu)(half(0), half(1), Rows(y, columns, rows)); });
}

}  // namespace halyard_llm
