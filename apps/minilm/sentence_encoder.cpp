#include "sentence_encoder.h"

#include <fmt/format.h>

#include <stdexcept>

namespace minilm {

void check_batch(const TokenBatch &batch, const Config &config) {
    for (int s = 0; s < batch.sentences(); s++) {
        if (batch.length(s) < 1 || batch.length(s) > config.max_positions) {
            throw std::invalid_argument(
                fmt::format("a sentence of {} tokens; the model takes 1 to {}", batch.length(s), config.max_positions));
        }
    }
    for (const int32_t id : batch.ids) {
        if (id < 0 || id >= config.vocabulary) {
            throw std::invalid_argument(fmt::format("token id {} is outside the model's vocabulary of {}", id, config.vocabulary));
        }
    }
}

}  // namespace minilm
