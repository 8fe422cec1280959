#ifndef HALYARD_LLM_DECODER_H
#define HALYARD_LLM_DECODER_H

/** \file
 * A sequence on the processor.
 */

#include <cstdint>
#include <vector>

#include "kernels.h"
#include "memory.h"
#include "sequence.h"

namespace halyard_llm {

class Decoder : public Sequence {
public:
    Decoder(const Model &model, int length, const Precision &precision);

    void feed(const int32_t *tokens, int count, float *all = nullptr) override;
    const float *logits() override;
    void set_exact(bool exact) override {
        exact_ = exact;
    }
    bool is_like(const Sequence &other) const override;

    /** In one pass through the layers: by rows in 8 bits weights are read once for all. */
    static void feed_together(const std::vector<Feed> &feeds);

private:
    static constexpr int kMostRows = 512;  // of a pass through the layers

    /** Keys or values of all layers. */
    struct Cache {
        std::vector<Memory> rows, scales;
    };
    CacheRows rows_of(const Cache &cache, int layer) const {
        return {cache_, cache.rows[size_t(layer)].data(), cache_ == CacheType::kInt8 ? cache.scales[size_t(layer)].floats() : nullptr,
                length_};
    }
    Step step(const char *op) const {
        return {*model_.kernels, op};
    }

    /** Rows of a sequence in a pass: `first` is the first of them among all. */
    struct Segment {
        Decoder *decoder;
        const int32_t *tokens;
        int rows, first;
    };

    void make_room(int rows);
    void embed(const int32_t *tokens, int rows, float *to) const;
    void pass(const std::vector<Segment> &segments, float *all);
    void attention_block(int index, const std::vector<Segment> &segments, int rows);
    void product_block(int index, const std::vector<Segment> &segments, int rows);
    void multiply(const char *op, const std::vector<Segment> &segments, const float *a, const Product &w, const float *bias,
                  const float *residual, float *y) const;
    void add_normed(const float *product, const std::vector<float> &norm, int rows);
    void write_logits(const std::vector<Segment> &segments, const float *x, float *to);

    const Model &model_;
    bool exact_;
    CacheType cache_;
    int rows_ = 0;
    Cache keys_, values_;
    std::vector<int32_t> positions_;
    // Of a pass, in the memory of the first sequence of those that are fed together.
    Memory x_, next_, normed_, qkv_, q_, q_turned_, k_, k_normed_, k_turned_, context_, gate_up_, inner_, last_;
    std::vector<float> logits_, together_;
};

}  // namespace halyard_llm

#endif
