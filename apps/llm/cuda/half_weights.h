#ifndef HALYARD_LLM_CUDA_HALF_WEIGHTS_H
#define HALYARD_LLM_CUDA_HALF_WEIGHTS_H

/** \file
 * The weights of a model's layers as f16, for prompts.
 */

#include <memory>
#include <vector>

#include "common/device_block.h"
#include "weights_on_device.h"

namespace halyard_llm {

class HalfWeights {
public:
    struct Layer {
        uint64_t query_key_value = 0, bias = 0, attention_output = 0, gate = 0, up = 0, down = 0;  // [k, n] each, and [n]
    };
    std::vector<Layer> layers;

    /** Unpacks them by the thread's stream; null where they would take more than half of the memory that is free. */
    static std::unique_ptr<const HalfWeights> of(const WeightsOnDevice &weights);

private:
    halyard_apps::DeviceBlock block_;
};

}  // namespace halyard_llm

#endif
