#include "encoder.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <halyard/cuda.h>

#include "minilm_cuda_attention.h"
#include "minilm_cuda_embedding.h"
#include "minilm_cuda_gelu_many.h"
#include "minilm_cuda_gelu_small.h"
#include "minilm_cuda_layer_norm.h"
#include "minilm_cuda_pooling.h"
#include "minilm_cuda_qkv_many.h"
#include "minilm_cuda_qkv_small.h"
#include "minilm_cuda_residual_many.h"
#include "minilm_cuda_residual_small.h"

namespace minilm {

using halyard_apps::check_cuda;
using halyard_apps::DeviceView;

namespace {

const halide_type_t f32(halide_type_float, 32), bf16(halide_type_bfloat, 16), i32(halide_type_int, 32);

class Vector : public DeviceView<1> {
public:
    Vector(halide_type_t type, uint64_t address, int count) : DeviceView<1>(type, address, dense(count, 1)) {}
};

class Matrix : public DeviceView<2> {
public:
    Matrix(halide_type_t type, uint64_t address, int columns, int rows)
        : DeviceView<2>(type, address, dense(columns, 1), dense(rows, columns)) {}
};

// Whether tiles of 64 x 192, as CMakeLists.txt has them, occupy the device but for an eighth.
bool has_many_tiles(int rows, int columns) {
    const int64_t tiles = int64_t((rows + 63) / 64) * ((columns + 191) / 192);
    return tiles * 8 >= int64_t(halyard_cuda_multiprocessors(nullptr)) * 7;
}

}  // namespace

CudaEncoder::CudaEncoder(const Model &model)
    : config_(model.config()), layers_(model.layers()), embedding_norm_(model.embedding_norm()), block_(model.block()),
      positions_(model.position_embedding(0)) {
    if (model.precision() != Precision::BF16) {
        throw std::logic_error("minilm: the kernels of the GPU are of another type than the weights");
    }
    weights_.upload(model.block(), model.block_bytes());
    words_.upload(model.word_embedding(0), size_t(config_.vocabulary) * size_t(config_.hidden) * sizeof(float));
}

uint64_t CudaEncoder::on_device(const void *weights) const {
    return weights_.address() + uint64_t(static_cast<const char *>(weights) - block_);
}

void CudaEncoder::encode(const TokenBatch &batch, float *result) {
    if (batch.tokens() == 0) {
        return;
    }
    check_batch(batch, config_);
    upload(batch);
    embed();
    for (const Layer &layer : layers_) {
        run_layer(layer);
    }
    pool();
    result_.download(result, size_t(sentences_) * size_t(config_.hidden) * sizeof(float));
}

void CudaEncoder::upload(const TokenBatch &batch) {
    sentences_ = batch.sentences();
    length_ = 0;
    for (int s = 0; s < sentences_; s++) {
        length_ = std::max(length_, batch.length(s));
    }
    // Ids start where vectors of 16 bytes may. What pads a sentence is token 0, [PAD]: attention and pooling know the
    // lengths.
    ids_at_ = size_t(sentences_ + 3) / 4 * 4;
    const size_t rows = size_t(sentences_) * size_t(length_);
    inputs_.assign(ids_at_ + rows, 0);
    for (int s = 0; s < sentences_; s++) {
        inputs_[size_t(s)] = batch.length(s);
        int32_t *row = &inputs_[ids_at_ + size_t(s) * size_t(length_)];
        std::copy_n(&batch.ids[size_t(batch.begin(s))], batch.length(s), row);
    }
    device_inputs_.upload(inputs_.data(), inputs_.size() * sizeof(int32_t));

    const size_t hidden = size_t(config_.hidden);
    x_.reserve(rows * hidden * 2);
    qkv_.reserve(rows * 3 * hidden * 2);
    context_.reserve(rows * hidden * 2);
    sum_.reserve(rows * hidden * sizeof(float));
    inner_.reserve(rows * size_t(config_.intermediate) * 2);
    result_.reserve(size_t(sentences_) * hidden * sizeof(float));
}

void CudaEncoder::embed() {
    const int hidden = config_.hidden;
    Matrix ids(i32, device_inputs_.address() + ids_at_ * sizeof(int32_t), length_, sentences_);
    Matrix words(f32, words_.address(), hidden, config_.vocabulary);
    Matrix positions(f32, on_device(positions_), hidden, config_.max_positions);
    Vector weight(f32, on_device(embedding_norm_.weight), hidden), bias(f32, on_device(embedding_norm_.bias), hidden);
    DeviceView<3> y(bf16, x_.address(), dense(hidden, 1), dense(length_, hidden), dense(sentences_, length_ * hidden));
    check_cuda(minilm_cuda_embedding(ids, words, positions, weight, bias, config_.layer_norm_eps, y), "embedding");
}

void CudaEncoder::run_layer(const Layer &layer) {
    linear({minilm_cuda_qkv_small, minilm_cuda_qkv_many}, "qkv", x_, layer.qkv, qkv_);
    attend();
    linear_residual(context_, layer.attention_output);
    layer_norm(layer.attention_norm);
    linear({minilm_cuda_gelu_small, minilm_cuda_gelu_many}, "gelu", x_, layer.up, inner_);
    linear_residual(inner_, layer.down);
    layer_norm(layer.output_norm);
}

void CudaEncoder::attend() {
    const int hidden = config_.hidden, size = config_.head_size();
    const auto rows_of = [&](const DeviceBlock &block, int column, int stride) {
        return DeviceView<4>(bf16, block.address() + uint64_t(column) * 2, dense(size, 1), dense(length_, stride),
                             dense(config_.heads, size), dense(sentences_, length_ * stride));
    };
    auto q = rows_of(qkv_, 0, 3 * hidden);
    auto k = rows_of(qkv_, hidden, 3 * hidden);
    auto v = rows_of(qkv_, 2 * hidden, 3 * hidden);
    auto out = rows_of(context_, 0, hidden);
    Vector lengths(i32, device_inputs_.address(), sentences_);
    check_cuda(minilm_cuda_attention(q, k, v, 1.0f / std::sqrt(float(size)), lengths, out), "attention");
}

void CudaEncoder::pool() {
    const int hidden = config_.hidden;
    DeviceView<3> x(bf16, x_.address(), dense(hidden, 1), dense(length_, hidden), dense(sentences_, length_ * hidden));
    Vector lengths(i32, device_inputs_.address(), sentences_);
    Matrix y(f32, result_.address(), hidden, sentences_);
    check_cuda(minilm_cuda_pooling(x, lengths, y), "pooling");
}

void CudaEncoder::linear(LinearKernels kernels, const char *what, const DeviceBlock &a, const Linear &weights, const DeviceBlock &y) {
    const int rows = sentences_ * length_;
    Matrix a_view(bf16, a.address(), weights.k, rows), b_view(bf16, on_device(weights.packed), weights.n, weights.k);
    Vector bias(bf16, on_device(weights.bias), weights.n);
    Matrix y_view(bf16, y.address(), weights.n, rows);
    check_cuda((has_many_tiles(rows, weights.n) ? kernels.many : kernels.small)(a_view, b_view, bias, y_view), what);
}

void CudaEncoder::linear_residual(const DeviceBlock &a, const Linear &weights) {
    const int rows = sentences_ * length_;
    Matrix a_view(bf16, a.address(), weights.k, rows), b_view(bf16, on_device(weights.packed), weights.n, weights.k);
    Vector bias(bf16, on_device(weights.bias), weights.n);
    Matrix x(bf16, x_.address(), weights.n, rows), sum(f32, sum_.address(), weights.n, rows);
    const auto kernel = has_many_tiles(rows, weights.n) ? minilm_cuda_residual_many : minilm_cuda_residual_small;
    check_cuda(kernel(a_view, b_view, bias, x, sum), "residual");
}

void CudaEncoder::layer_norm(const Norm &norm) {
    const int hidden = config_.hidden, rows = sentences_ * length_;
    Matrix sum(f32, sum_.address(), hidden, rows), x(bf16, x_.address(), hidden, rows);
    Vector weight(f32, on_device(norm.weight), hidden), bias(f32, on_device(norm.bias), hidden);
    check_cuda(minilm_cuda_layer_norm(sum, weight, bias, config_.layer_norm_eps, x), "layer_norm");
}

}  // namespace minilm
