#ifndef HALYARD_LLM_CUDA_WEIGHTS_ON_DEVICE_H
#define HALYARD_LLM_CUDA_WEIGHTS_ON_DEVICE_H

/** \file
 * The weights of a model in the memory of a GPU: interleaved blocks of the types that have kernels, all others as f32; and f32 interleaved, too, where
 * blocks of 32 divide it.
 */

#include <memory>
#include <mutex>
#include <vector>

#include "common/device_block.h"
#include "model.h"

namespace halyard_llm {

/** Matrices side by side. */
struct ProductOnDevice {
    struct Part {
        int k = 0, n = 0;
        TensorType type = TensorType::kF32;
        bool interleaved = false;  // else [k, n] of f32
        uint64_t data = 0;
    };
    std::vector<Part> parts;

    int columns() const;
};

/** Of its weights, without those that fill up a panel. */
double bytes_of(const ProductOnDevice::Part &part);

class HalfWeights;

class WeightsOnDevice {
public:
    /** Copies them. Throws std::runtime_error where there is no GPU, or no room on it. */
    explicit WeightsOnDevice(const Model &model);
    ~WeightsOnDevice();

    struct Layer {
        uint64_t attention_norm = 0, query_norm = 0, key_norm = 0, after_attention = 0, product_norm = 0, after_product = 0;  // 0: none
        uint64_t bias = 0;  // of the first product
        ProductOnDevice query_key_value, attention_output, gate_up, down;
    };
    std::vector<Layer> layers;
    uint64_t output_norm = 0, frequencies = 0, local_frequencies = 0;
    uint64_t zeros = 0;  // as many as any product has columns
    ProductOnDevice head;

    /** The same in f16, made when they are asked for first; null where there is no room. */
    const HalfWeights *half() const;

    /** Those of a model that live, or new ones: all sequences of a model share them. */
    static std::shared_ptr<const WeightsOnDevice> of(const Model &model);

private:
    uint64_t copy(const void *from, size_t bytes);
    uint64_t copy(const std::vector<float> &values);
    ProductOnDevice copy(const Product &product);
    ProductOnDevice::Part copy_f32(int k, int n, const float *values);

    std::vector<std::unique_ptr<halyard_apps::DeviceBlock>> blocks_;
    mutable std::once_flag half_made_;
    mutable std::unique_ptr<const HalfWeights> half_;
};

}  // namespace halyard_llm

#endif
