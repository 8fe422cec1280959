#include "part_encoder.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "buffer_view.h"
#include "pooling.h"

namespace minilm {

namespace {

void check(int code, const char *kernel) {
    if (code != 0) {
        throw std::runtime_error(fmt::format("kernel {} failed with code {}", kernel, code));
    }
}

}  // namespace

PartEncoder::PartEncoder(const Model &model, const Kernels &kernels) : model_(model), kernels_(kernels), precision_(model.precision()) {
    if (kernels.precision != model.precision()) {
        throw std::logic_error("minilm: the kernels are of another type than the weights");
    }
}

void PartEncoder::reserve(int tokens) {
    const size_t rows = size_t(tokens);
    const size_t hidden = size_t(model_.config().hidden);
    // Halide strides are 32-bit.
    if (rows * 3 * hidden > size_t(INT32_MAX)) {
        throw std::runtime_error(fmt::format("a batch of {} tokens is too large: use a smaller --batch", tokens));
    }
    const size_t bytes = bytes_of(precision_);
    x_.reserve(rows * hidden * bytes);
    qkv_.reserve(rows * 3 * hidden * bytes);
    context_.reserve(rows * hidden * bytes);
    sum_.reserve(rows * hidden * sizeof(float));
    inner_.reserve(rows * size_t(model_.config().intermediate) * bytes);
}

void PartEncoder::embed(const TokenBatch &batch) {
    const int hidden = model_.config().hidden;
    float *row = sums();
    int begin = 0;
    for (const int end : batch.ends) {
        for (int t = begin; t < end; t++, row += hidden) {
            const float *__restrict word = model_.word_embedding(batch.ids[size_t(t)]);
            const float *__restrict position = model_.position_embedding(t - begin);
            for (int i = 0; i < hidden; i++) {
                row[i] = word[i] + position[i];
            }
        }
        begin = end;
    }
    layer_norm(sums(), model_.embedding_norm(), batch.tokens(), x_.data());
}

void PartEncoder::attend(const TokenBatch &batch) {
    const Config &config = model_.config();
    const int hidden = config.hidden, size = config.head_size();
    const float scale = 1.0f / std::sqrt(float(size));

    // Neighbours of one length are one call: the kernel then has more to share
    // out among threads.
    int next = 0;
    for (int s = 0; s < batch.sentences(); s = next) {
        const int length = batch.length(s);
        next = s + 1;
        while (next < batch.sentences() && batch.length(next) == length) {
            next++;
        }
        const auto view_of = [&](const void *rows, int column, int row_stride) {
            const size_t first = size_t(batch.begin(s)) * size_t(row_stride) + size_t(column);
            return BufferView<4>(precision_, element(precision_, rows, first), dense(size, 1), dense(length, row_stride),
                                 dense(config.heads, size), dense(next - s, length * row_stride));
        };
        auto q = view_of(qkv_.data(), 0, 3 * hidden);
        auto k = view_of(qkv_.data(), hidden, 3 * hidden);
        auto v = view_of(qkv_.data(), 2 * hidden, 3 * hidden);
        auto out = view_of(context_.data(), 0, hidden);
        check(kernels_.attention(q, k, v, scale, out), "minilm_attention");
    }
}

void PartEncoder::finish_layer(const Layer &layer, int rows) {
    linear_residual(context_.data(), layer.attention_output, x_.data(), rows, sums());
    layer_norm(sums(), layer.attention_norm, rows, x_.data());
    linear(kernels_.gelu, "minilm_gelu", x_.data(), layer.up, rows, inner_.data());
    linear_residual(inner_.data(), layer.down, x_.data(), rows, sums());
    layer_norm(sums(), layer.output_norm, rows, x_.data());
}

void PartEncoder::encode(const TokenBatch &batch, float *result) {
    const Config &config = model_.config();
    const int tokens = batch.tokens();
    reserve(tokens);
    embed(batch);
    for (const Layer &layer : model_.layers()) {
        linear(kernels_.qkv, "minilm_qkv", x_.data(), layer.qkv, tokens, qkv_.data());
        attend(batch);
        finish_layer(layer, tokens);
    }
    // The sums have done their work: what is pooled can lie there as f32.
    load(precision_, x_.data(), size_t(tokens) * size_t(config.hidden), sums());
    mean_pool_and_normalize(batch, sums(), config.hidden, result);
}

void PartEncoder::linear(Kernels::Linear kernel, const char *what, const void *a, const Linear &weights, int rows, void *y) {
    MatrixView a_view(precision_, a, weights.k, rows);
    PanelView b_view(precision_, weights.packed, weights.panel, weights.k, panel_count(weights.n, weights.panel));
    VectorView bias_view(precision_, weights.bias, weights.n);
    MatrixView y_view(precision_, y, weights.n, rows);
    check(kernel(a_view, b_view, bias_view, y_view), what);
}

void PartEncoder::linear_residual(const void *a, const Linear &weights, const void *residual, int rows, float *y) {
    MatrixView a_view(precision_, a, weights.k, rows);
    PanelView b_view(precision_, weights.packed, weights.panel, weights.k, panel_count(weights.n, weights.panel));
    VectorView bias_view(precision_, weights.bias, weights.n);
    MatrixView residual_view(precision_, residual, weights.n, rows);
    MatrixView y_view(Precision::F32, y, weights.n, rows);
    check(kernels_.residual(a_view, b_view, bias_view, residual_view, y_view), "minilm_residual");
}

void PartEncoder::layer_norm(const float *x, const Norm &norm, int rows, void *y) {
    const int hidden = model_.config().hidden;
    MatrixView x_view(Precision::F32, x, hidden, rows);
    VectorView weight_view(Precision::F32, norm.weight, hidden);
    VectorView bias_view(Precision::F32, norm.bias, hidden);
    MatrixView y_view(precision_, y, hidden, rows);
    check(kernels_.layer_norm(x_view, weight_view, bias_view, model_.config().layer_norm_eps, y_view), "minilm_layer_norm");
}

}  // namespace minilm
