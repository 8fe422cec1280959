#ifndef HALYARD_LLM_DECODER_H
#define HALYARD_LLM_DECODER_H

/** \file
 * A model, and a sequence of tokens that it has read: its keys and values, and the logits of what comes next.
 */

#include <cstdint>
#include <string>
#include <vector>

#include "config.h"
#include "gguf.h"
#include "kernels.h"
#include "memory.h"
#include "tokenizer.h"
#include "weights.h"

namespace halyard_llm {

/** Of one file. It is only read after it is made, so that any number of contexts may use it, on any threads. */
struct Model {
    /** Throws std::runtime_error with the file, what is wrong and what to do. */
    explicit Model(const std::string &path, const Kernels &kernels = fused_kernels())
        : file(path), config(read_config(file)), tokenizer(file), weights(file, config), products(weights, kernels.fused),
          kernels(kernels) {
        check();
    }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    Gguf file;
    Config config;
    Tokenizer tokenizer;
    Weights weights;
    Products products;
    const Kernels &kernels;

private:
    void check() const;
};

/** What is rounded, and how. */
struct Precision {
    bool exact = true;  // products are by rows in f32, and not in 8 bits
    CacheType cache = CacheType::kF32;
};

/** One sequence; one thread at a time may use it. */
class Decoder {
public:
    /** `length` tokens at most; 0: as many as the model was made for, but 4096 at most. The model has to outlive it. */
    Decoder(const Model &model, int length, const Precision &precision);

    void set_exact(bool exact) {
        exact_ = exact;
    }

    /** Reads tokens behind those before. With `all`, the logits of each of them go there: `count` rows of the vocabulary. Throws
     * std::runtime_error where they do not fit, or one is none of the vocabulary; the sequence is then as it was. */
    void feed(const int32_t *tokens, int count, float *all = nullptr);

    /** Whether they may be fed together. */
    bool is_like(const Decoder &other) const {
        return &model_ == &other.model_ && exact_ == other.exact_;
    }

    /** Tokens of one sequence among several. */
    struct Feed {
        Decoder *decoder;
        const int32_t *tokens;
        int count;
    };

    /** The same as feed() of each, to the bit, in one pass through the layers: by rows in 8 bits weights are read once for all. The decoders
     * are of one model, and different ones. Where it throws, all sequences are as they were. */
    static void feed_together(const std::vector<Feed> &feeds);

    /** Of the token behind the last one; null before there is one. */
    const float *logits() const;

    int position() const {
        return position_;
    }
    int length() const {
        return length_;
    }

    /** Forgets the tokens from `position` on. The logits are those of nothing until something is fed. */
    void rewind(int position);

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
        return {model_.kernels, op};
    }

    /** Rows of a sequence in a pass: `first` is the first of them among all. */
    struct Segment {
        Decoder *decoder;
        const int32_t *tokens;
        int rows, first;
    };

    void check(const int32_t *tokens, int count) const;
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
    const Config &config_;
    bool exact_;
    CacheType cache_;
    int length_ = 0, position_ = 0, rows_ = 0;
    bool has_logits_ = false;
    Cache keys_, values_;
    std::vector<int32_t> positions_;
    // Of a pass, in the memory of the first sequence of those that are fed together.
    Memory x_, next_, normed_, qkv_, q_, q_turned_, k_, k_normed_, k_turned_, context_, gate_up_, inner_, last_;
    std::vector<float> logits_, together_;
};

}  // namespace halyard_llm

#endif
