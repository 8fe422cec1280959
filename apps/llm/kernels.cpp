#include "kernels.h"

#include <fmt/format.h>
#include <halyard/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "view.h"

namespace halyard_llm {

namespace {

thread_local KernelLog *kernel_log = nullptr;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Work {
    double memory = 0, between = 0, operations = 0;
    bool exact = true;
};

/** Calls a kernel, which does so much. */
template<typename Call>
void run(const Step &step, const char *kernel, const Work &work, const Call &call) {
    const double begin = kernel_log ? now() : 0;
    if (call() != 0) {
        throw std::runtime_error(fmt::format("kernel {}: {}", kernel, halyard_last_error()));
    }
    if (!kernel_log) {
        return;
    }
    const double seconds = now() - begin;
    auto use = std::find_if(kernel_log->begin(), kernel_log->end(),
                            [&](const KernelUse &u) { return std::string_view(u.op) == step.op && std::string_view(u.kernel) == kernel; });
    if (use == kernel_log->end()) {
        kernel_log->push_back({step.op, kernel, work.exact});
        use = kernel_log->end() - 1;
    }
    use->calls++;
    use->memory += work.memory;
    use->between += work.between;
    use->operations += work.operations;
    use->seconds += seconds;
}

double floats(int64_t count) {
    return double(count) * sizeof(float);
}

Kernels::Weights weights_of(TensorType type) {
    switch (type) {
    case TensorType::kQ4_0: return Kernels::kQ4_0;
    case TensorType::kQ4_1: return Kernels::kQ4_1;
    case TensorType::kQ5_0: return Kernels::kQ5_0;
    case TensorType::kQ5_1: return Kernels::kQ5_1;
    case TensorType::kQ8_0: return Kernels::kQ8_0;
    case TensorType::kQ4_K: return Kernels::kQ4_K;
    case TensorType::kQ5_K: return Kernels::kQ5_K;
    case TensorType::kQ6_K: return Kernels::kQ6_K;
    case TensorType::kF16: return Kernels::kF16;
    case TensorType::kBF16: return Kernels::kBF16;
    default: return Kernels::kF32;
    }
}

halide_type_t type_of(CacheType type) {
    switch (type) {
    case CacheType::kF16: return {halide_type_float, 16};
    case CacheType::kBF16: return {halide_type_bfloat, 16};
    case CacheType::kInt8: return {halide_type_int, 8};
    default: return kFloatType;
    }
}

}  // namespace

void log_kernels(KernelLog *log) {
    kernel_log = log;
}

void multiply(const Step &step, bool exact, const float *a, const Product &w, int rows, const float *bias, const float *residual,
              float *y) {
    // A residual of one row that has no distance to the next one is a bias, of zeros it is none: one library serves all.
    static const std::vector<float> zeros(size_t(1) << 20);
    const std::vector<float> more(bias || residual || size_t(w.columns()) <= zeros.size() ? 0 : size_t(w.columns()));
    const float *first = residual ? residual : bias ? bias : more.empty() ? zeros.data() : more.data();
    int64_t column = 0;
    for (const Product::Part &part : w.parts()) {
        BufferView<2> added(kFloatType, first + column, dim(part.n, 1), dim(rows, residual ? w.columns() : 0));
        BufferView<2> y_rows(kFloatType, y + column, dim(part.n, 1), dim(rows, w.columns()));
        Rows a_rows(a, part.k, rows);
        const Kernel<Kernels::Product> &kernel = step.kernels.products[weights_of(part.type)][exact];
        const double count = double(part.n) * double(part.k);
        Work work;
        work.exact = exact || !is_integers(part.type);
        // Sums, and what is added to them, are written and read again where nothing is fused, and so are unpacked weights.
        const bool fused = step.kernels.fused;
        work.between = floats(int64_t(rows) * (part.k + part.n * ((residual ? 2 : 1) + (fused ? 0 : 6))));
        work.operations = 2 * count * rows;
        if (part.interleaved) {
            const Panels p = panels_of(part.type, part.k, part.n);
            work.memory = double(p.all()) * part.n / double(p.panels * kInterleaved);
            work.between += fused ? 0 : 2 * count * (exact ? sizeof(float) : 1);
            BufferView<3> panels(kByteType, part.data, dim(p.bytes, 1), dim(p.blocks, p.bytes), dim(p.panels, p.blocks * p.bytes));
            run(step, kernel.name, work, [&] { return kernel.call(a_rows, panels, added, y_rows); });
        } else {
            work.memory = floats(int64_t(part.n) * part.k);
            run(step, kernel.name, work, [&] { return kernel.call(a_rows, Rows(part.data, part.k, part.n), added, y_rows); });
        }
        column += part.n;
    }
}

void rms_norm(const Step &step, const float *x, const float *weight, int columns, int64_t rows, float eps, float *y) {
    const Kernel<Kernels::Norm> &kernel = step.kernels.rms_norm;
    BufferView<1> of_columns(kFloatType, weight, dim(columns, 1));
    run(step, kernel.name, {0, floats(columns * (2 * rows + 1))},
        [&] { return kernel.call(Rows(x, columns, rows), of_columns, eps, Rows(y, columns, rows)); });
}

void rope(const Step &step, bool halves, const float *x, int64_t x_row, const int32_t *positions, const std::vector<float> &frequencies,
          int width, int heads, int rows, float *y, int64_t y_row, int64_t y_head) {
    const Kernel<Kernels::Rope> &kernel = halves ? step.kernels.rope_halves : step.kernels.rope;
    const int64_t row = int64_t(width) * heads;
    BufferView<3> from(kFloatType, x, dim(width, 1), dim(heads, width), dim(rows, x_row));
    BufferView<3> to(kFloatType, y, dim(width, 1), dim(heads, y_head), dim(rows, y_row));
    BufferView<1> at(kIntType, positions, dim(rows, 1));
    BufferView<1> of_pairs(kFloatType, frequencies.data(), dim(int64_t(frequencies.size()), 1));
    run(step, kernel.name, {0, floats((step.kernels.fused ? 2 : 4) * row * rows)}, [&] { return kernel.call(from, at, of_pairs, to); });
}

int bytes_of(CacheType type) {
    return type_of(type).bytes();
}

void store(const Step &step, const float *x, int64_t x_row, int width, int heads, int rows, const CacheRows &to, int begin) {
    const int64_t of_head = int64_t(to.length) * width;
    const int bytes = bytes_of(to.type);
    uint8_t *data = static_cast<uint8_t *>(to.data) + int64_t(begin) * width * bytes;
    const Work work = {0, double(width) * heads * rows * (sizeof(float) + bytes)};
    if (to.type == CacheType::kF32) {
        run(step, step.kernels.store[0].name, work, [&] {
            for (int head = 0; head < heads; head++) {
                for (int i = 0; i < rows; i++) {
                    std::memcpy(data + (head * of_head + int64_t(i) * width) * bytes, x + i * x_row + int64_t(head) * width,
                                size_t(width) * sizeof(float));
                }
            }
            return 0;
        });
        return;
    }
    BufferView<3> from(kFloatType, x, dim(width, 1), dim(heads, width), dim(rows, x_row));
    BufferView<3> y(type_of(to.type), data, dim(width, 1), dim(heads, of_head), dim(rows, width));
    if (to.type == CacheType::kInt8) {
        BufferView<2> scales(kFloatType, to.scales + begin, dim(heads, to.length), dim(rows, 1));
        run(step, step.kernels.store_int8.name, work, [&] { return step.kernels.store_int8.call(from, y, scales); });
    } else {
        const Kernel<Kernels::Store> &kernel = step.kernels.store[int(to.type)];
        run(step, kernel.name, work, [&] { return kernel.call(from, y); });
    }
}

void attend(const Step &step, const AttentionSizes &sizes, const float *q, int rows, const CacheRows &k, const CacheRows &v, int keys,
            float *y) {
    const int width = sizes.head_width;
    const int64_t query_row = int64_t(width) * sizes.heads, key_row = int64_t(width) * sizes.key_heads;
    const auto queries_of = [&](const float *at) {
        return BufferView<4>(kFloatType, at, dim(width, 1), dim(rows, query_row), dim(sizes.heads, width), dim(1, query_row * rows));
    };
    const bool one = rows == 1, scaled = k.type == CacheType::kInt8;
    // One query needs no more than the keys that it sees.
    const int first = one && sizes.window > 0 && keys > sizes.window ? keys - sizes.window : 0, count = keys - first;
    const int bytes = bytes_of(k.type);
    const auto keys_of = [&](const CacheRows &of) {
        return BufferView<4>(type_of(of.type), static_cast<uint8_t *>(of.data) + int64_t(first) * width * bytes, dim(width, 1),
                             dim(count, width), dim(sizes.key_heads, int64_t(of.length) * width), dim(1, 0));
    };
    const auto scales_of = [&](const CacheRows &of) {
        return BufferView<3>(kFloatType, of.scales + first, dim(count, 1), dim(sizes.key_heads, of.length), dim(1, 0));
    };
    const Kernels &kernels = step.kernels;
    const double read = 2.0 * double(count) * (double(key_row) * bytes + (scaled ? floats(sizes.key_heads) : 0));
    const double pairs = double(rows) * count - (one ? 0 : double(rows) * (rows - 1) / 2);
    // Scores, exponentials and what they are divided by go to memory where nothing is fused.
    const double steps = kernels.fused ? 0 : floats(int64_t(rows) * count) * sizes.heads * 6;
    const Work work = {read, floats(2 * rows * query_row) + steps, 4 * pairs * double(query_row)};
    const auto none = [] { return std::runtime_error("the unfused kernels have keys and values in f32 only"); };
    if (scaled && !kernels.attention_int8.call) {
        throw none();
    }
    const int left = sizes.window > 0 ? sizes.window - 1 : -1;
    if (scaled && one) {
        run(step, kernels.decode_attention_int8.name, work, [&] {
            return kernels.decode_attention_int8.call(queries_of(q), keys_of(k), keys_of(v), sizes.scale, scales_of(k), scales_of(v),
                                                      queries_of(y));
        });
    } else if (scaled) {
        run(step, kernels.attention_int8.name, work, [&] {
            return kernels.attention_int8.call(queries_of(q), keys_of(k), keys_of(v), sizes.scale, scales_of(k), scales_of(v), left, 0,
                                               queries_of(y));
        });
    } else if (!kernels.attention[int(k.type)].call) {
        throw none();
    } else if (one) {
        const int type = int(k.type);
        const auto &of_width = width == 64 ? kernels.decode_attention_64 : kernels.decode_attention_128;
        const bool usual = (width == 64 || width == 128) && of_width[type].call;
        const Kernel<Kernels::Decode> &kernel = usual ? of_width[type] : kernels.decode_attention[type];
        run(step, kernel.name, work, [&] { return kernel.call(queries_of(q), keys_of(k), keys_of(v), sizes.scale, queries_of(y)); });
    } else {
        const Kernel<Kernels::Attention> &kernel = kernels.attention[int(k.type)];
        run(step, kernel.name, work,
            [&] { return kernel.call(queries_of(q), keys_of(k), keys_of(v), sizes.scale, left, 0, queries_of(y)); });
    }
}

void gate(const Step &step, bool gelu, const float *gate, const float *up, int64_t row, int columns, int rows, float *y) {
    const Kernel<Kernels::Gated> &kernel = gelu ? step.kernels.gated_gelu_tanh : step.kernels.gated_silu;
    const auto rows_of = [&](const float *at) { return BufferView<2>(kFloatType, at, dim(columns, 1), dim(rows, row)); };
    run(step, kernel.name, {0, floats((step.kernels.fused ? 3 : 5) * int64_t(columns) * rows)},
        [&] { return kernel.call(rows_of(gate), rows_of(up), Rows(y, columns, rows)); });
}

}  // namespace halyard_llm
