#include "half_weights.h"

#include <algorithm>

#include "half_kernels.h"
#include "kernels.h"
#include "stream.h"

namespace halyard_llm {

namespace {

constexpr int kElement = 2;  // bytes

// Where all weights lie, one after the other.
class Places {
public:
    uint64_t next(int64_t elements) {
        constexpr uint64_t kLine = 128;
        const uint64_t here = end;
        end += (uint64_t(elements) * kElement + kLine - 1) / kLine * kLine;
        return here;
    }
    uint64_t end = 0;
};

HalfWeights::Layer place(const WeightsOnDevice::Layer &layer, Places &places) {
    const auto of = [&](const ProductOnDevice &product) { return places.next(int64_t(product.parts[0].k) * product.columns()); };
    HalfWeights::Layer to;
    to.query_key_value = of(layer.query_key_value);
    to.bias = places.next(layer.query_key_value.columns());
    to.attention_output = of(layer.attention_output);
    to.gate = of(layer.gate_up);
    to.up = to.gate + uint64_t(layer.gate_up.parts[0].k) * uint64_t(layer.gate_up.columns() / 2) * kElement;
    to.down = of(layer.down);
    return to;
}

void unpack(const ProductOnDevice &product, uint64_t to) {
    for (const ProductOnDevice::Part &part : product.parts) {
        if (!part.interleaved) {
            narrow_on_device(part.data, part.k, part.n, to);
        } else {
            unpack_on_device(part, to);
        }
        to += uint64_t(part.k) * uint64_t(part.n) * kElement;
    }
}

}  // namespace

std::unique_ptr<const HalfWeights> HalfWeights::of(const WeightsOnDevice &weights) {
    auto half = std::make_unique<HalfWeights>();
    Places places;
    for (const auto &layer : weights.layers) {
        half->layers.push_back(place(layer, places));
    }
    if (places.end > free_memory() / 2) {
        return nullptr;
    }
    half->block_.reserve(places.end);
    const uint64_t base = half->block_.address();
    for (size_t i = 0; i < half->layers.size(); i++) {
        const WeightsOnDevice::Layer &from = weights.layers[i];
        Layer &to = half->layers[i];
        for (uint64_t *at : {&to.query_key_value, &to.bias, &to.attention_output, &to.gate, &to.up, &to.down}) {
            *at += base;
        }
        unpack(from.query_key_value, to.query_key_value);
        unpack(from.attention_output, to.attention_output);
        unpack(from.gate_up, to.gate);
        unpack(from.down, to.down);
        if (from.bias) {
            narrow_on_device(from.bias, from.query_key_value.columns(), 1, to.bias);
        } else {
            to.bias = 0;
        }
    }
    halyard_apps::check_cuda(halyard_cuda_synchronize(), "weights as f16 on the GPU");  // other streams read them
    return half;
}

}  // namespace halyard_llm
