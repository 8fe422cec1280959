#include "weights_on_device.h"

#include <fmt/format.h>
#include <halyard/blocks.h>
#include <halyard/cuda.h>
#include <halyard/runtime.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

#include "dequantize.h"
#include "half_weights.h"
#include "kernels.h"
#include "view.h"

namespace halyard_llm {

using halyard_apps::DeviceBlock;

namespace {

// Of interleaved blocks, by way of those that a file has.
std::vector<float> floats_of(const Product::Part &part) {
    const BlockSize size = interleaved_block(part.type);
    const Panels p = panels_of(part.type, part.k, part.n);
    std::vector<uint8_t> blocks(size_t(p.blocks * size.bytes) * size_t(part.n));
    BufferView<3> from(kByteType, part.data, dim(p.bytes, 1), dim(p.blocks, p.bytes), dim(p.panels, p.blocks * p.bytes));
    BufferView<3> to(kByteType, blocks.data(), dim(size.bytes, 1), dim(p.blocks, size.bytes), dim(part.n, p.blocks * size.bytes));
    if (halyard_deinterleave_blocks(from, to) != 0) {
        throw std::runtime_error(halyard_last_error());
    }
    Tensor tensor;
    tensor.type = part.type;
    tensor.data = blocks.data();
    std::vector<float> values(size_t(part.k) * size_t(part.n));
    dequantize(tensor, 0, int64_t(values.size()), values.data());
    return values;
}

}  // namespace

int ProductOnDevice::columns() const {
    int n = 0;
    for (const Part &part : parts) {
        n += part.n;
    }
    return n;
}

namespace {

// Kernels norm heads of queries and keys or neither, and turn normed ones by halves, as all models do that have such norms.
void check_norms(const Model &model) {
    for (size_t i = 0; i < model.weights.layers.size(); i++) {
        const halyard_llm::Layer &layer = model.weights.layers[i];
        const bool normed = !layer.query_norm.empty();
        const char *const what = normed != !layer.key_norm.empty()     ? normed ? "norms its queries alone" : "norms its keys alone"
                                 : normed && !model.config.rope_halves ? "norms its heads and turns pairs of neighbours"
                                                                       : nullptr;
        if (what) {
            throw std::runtime_error(
                fmt::format("{}: layer {} {}, which is not computed on a GPU: run it on the processor", shown(model.file.name()), i, what));
        }
    }
}

}  // namespace

double bytes_of(const ProductOnDevice::Part &part) {
    if (!part.interleaved) {
        return double(part.k) * part.n * sizeof(float);
    }
    const Panels p = panels_of(part.type, part.k, part.n);
    return double(p.all()) * part.n / double(p.panels * kInterleaved);
}

WeightsOnDevice::WeightsOnDevice(const Model &model) {
    check_norms(model);
    for (size_t i = 0; i < model.weights.layers.size(); i++) {
        const halyard_llm::Layer &from = model.weights.layers[i];
        const LayerProducts &products = model.products.layers[i];
        Layer to;
        to.attention_norm = copy(from.attention_norm);
        to.query_norm = copy(from.query_norm);
        to.key_norm = copy(from.key_norm);
        to.after_attention = copy(from.after_attention);
        to.product_norm = copy(from.product_norm);
        to.after_product = copy(from.after_product);
        to.bias = copy(products.bias);
        to.query_key_value = copy(products.query_key_value);
        to.attention_output = copy(products.attention_output);
        to.gate_up = copy(products.gate_up);
        to.down = copy(products.down);
        layers.push_back(to);
    }
    output_norm = copy(model.weights.output_norm);
    frequencies = copy(model.weights.frequencies);
    local_frequencies = copy(model.weights.local_frequencies);
    head = copy(model.products.head);
    int columns = head.columns();
    for (const Layer &layer : layers) {
        for (const ProductOnDevice *product : {&layer.query_key_value, &layer.attention_output, &layer.gate_up, &layer.down}) {
            columns = std::max(columns, product->columns());
        }
    }
    zeros = copy(std::vector<float>(size_t(columns)));
    halyard_apps::check_cuda(halyard_cuda_synchronize(), "the weights on the GPU");  // other streams read them
}

WeightsOnDevice::~WeightsOnDevice() = default;

const HalfWeights *WeightsOnDevice::half() const {
    std::call_once(half_made_, [&] { half_ = HalfWeights::of(*this); });
    return half_.get();
}

std::shared_ptr<const WeightsOnDevice> WeightsOnDevice::of(const Model &model) {
    static std::mutex mutex;
    static std::map<const Model *, std::weak_ptr<const WeightsOnDevice>> all;
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<const WeightsOnDevice> weights = all[&model].lock();
    if (!weights) {
        all[&model] = weights = std::make_shared<const WeightsOnDevice>(model);
    }
    return weights;
}

uint64_t WeightsOnDevice::copy(const void *from, size_t bytes) {
    blocks_.push_back(std::make_unique<DeviceBlock>());
    blocks_.back()->upload(from, bytes);
    return blocks_.back()->address();
}

uint64_t WeightsOnDevice::copy(const std::vector<float> &values) {
    return values.empty() ? 0 : copy(values.data(), values.size() * sizeof(float));
}

ProductOnDevice WeightsOnDevice::copy(const Product &product) {
    ProductOnDevice result;
    for (const Product::Part &part : product.parts()) {
        if (!part.interleaved) {
            result.parts.push_back(copy_f32(part.k, part.n, reinterpret_cast<const float *>(part.data)));
        } else if (has_products_of(part.type)) {
            result.parts.push_back({part.k, part.n, part.type, true, copy(part.data, size_t(panels_of(part.type, part.k, part.n).all()))});
        } else {
            result.parts.push_back(copy_f32(part.k, part.n, floats_of(part).data()));
        }
    }
    return result;
}

ProductOnDevice::Part WeightsOnDevice::copy_f32(int k, int n, const float *values) {
    constexpr TensorType kType = TensorType::kF32;
    const BlockSize size = interleaved_block(kType);
    if (!has_products_of(kType) || k % size.elements != 0) {
        return {k, n, kType, false, copy(values, size_t(k) * size_t(n) * sizeof(float))};
    }
    const Panels p = panels_of(kType, k, n);
    std::vector<uint8_t> panels(size_t(p.all()));
    BufferView<3> from(kByteType, values, dim(size.bytes, 1), dim(p.blocks, size.bytes), dim(n, p.blocks * size.bytes));
    BufferView<3> to(kByteType, panels.data(), dim(p.bytes, 1), dim(p.blocks, p.bytes), dim(p.panels, p.blocks * p.bytes));
    if (halyard_interleave_blocks(from, to) != 0) {
        throw std::runtime_error(halyard_last_error());
    }
    return {k, n, kType, true, copy(panels.data(), panels.size())};
}

}  // namespace halyard_llm
