#ifndef HALYARD_LLM_CUDA_DECODER_H
#define HALYARD_LLM_CUDA_DECODER_H

/** \file
 * A sequence on a GPU. Rows are f32, keys and values f16, bf16 or of 8 bits; a token of generation is one CUDA graph.
 */

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "kernels.h"
#include "sequence.h"
#include "slots.h"
#include "stream.h"

namespace halyard_llm {

/** What the device does for a generated token, one kernel or some after the other. */
struct TokenStep {
    const char *op;
    double memory = 0;      // bytes of weights, and of the cache of keys and values
    double operations = 0;  // multiplications and additions
    std::function<void()> queue;
};

class CudaDecoder : public Sequence {
public:
    CudaDecoder(const Model &model, int length, const Precision &precision);
    ~CudaDecoder() override;

    void feed(const int32_t *tokens, int count, float *all = nullptr) override;
    const float *logits() override;
    int32_t draw(Sampler *sampler) override;
    void wait() const override;
    void set_exact(bool exact) override;
    bool is_like(const Sequence &other) const override;

    /** A token of a sequence. */
    struct Next {
        CudaDecoder *decoder;
        int32_t token;
    };
    static constexpr int kMostTogether = kMany - 1;
    /** Whether a token of each can be fed by one pass: heads of their caches lie alike, too. */
    bool is_beside(const CudaDecoder &other) const {
        return length_ == other.length_ && cache_ == other.cache_ && slot_->is_beside(*other.slot_);
    }
    /** Feeds a token to each of at most so many sequences that are beside each other, and waits: the same bits as feed() of each. Where it throws,
     * their tokens have to be rewound. */
    static void feed_tokens(std::vector<Next> tokens);

    /** The steps of the token that was fed last, which may be queued again, in any order, while nothing is fed. */
    std::vector<TokenStep> steps_of_token();
    const Stream &stream() const {
        return stream_;
    }
    /** Where steps find what they need for themselves. */
    uint64_t scratch() const {
        return scratch_.address();
    }
    static constexpr size_t kScratch = 8 << 20;  // bytes for temporary arrays of a token

private:
    static constexpr int kMostRows = 512;      // of a pass through the layers
    static constexpr size_t kMostGraphs = 32;  // that are kept
    static constexpr int kFewestKeys = 256;    // that a graph is for; others are for powers of two

    /** Where what goes into a pass is in input_: the length, positions and rows. */
    struct Input {
        size_t positions, rows, bytes;
        explicit Input(int count, int width);
    };

    // What is queued over and over, and has become a graph or not.
    struct Recorded {
        int runs = 0;
        std::unique_ptr<Graph> graph;
        uint64_t last_x = 0;
    };

    // The same of tokens of several sequences: of each, kLengthStep apart, the length of its sequence and, kPosition behind it, its position; then
    // the positions of all, and their rows.
    struct TogetherInput {
        static constexpr size_t kPosition = 16;
        size_t positions, rows, bytes;
        TogetherInput(int count, int width);
    };
    // Those whose attention is the same kernels: tokens from the first one on.
    struct Group {
        int first, count, keys;
    };

    // Queues attention of a layer; `results` is where it leaves them, in f16.
    struct Attention {
        uint64_t results;
        std::function<void()> queue;
    };
    using AttentionOf = std::function<Attention(int layer)>;

    AttentionOf attention_of_token(int keys);
    AttentionOf attention_of_prompt(int rows, int keys);
    AttentionOf attention_of_tokens(const std::vector<Next> &tokens, const std::vector<Group> &groups);
    void pass_tokens(const std::vector<Next> &tokens);
    uint64_t cache_of(int layer) const {
        return slot_->address() + uint64_t(layer) * layer_bytes_;
    }
    uint64_t logits_on_device() const {
        return cache_of(config_.layers);
    }

    HeadsOnDevice heads_of(int layer) const;
    void queue_decode(const HeadsOnDevice &heads, uint64_t qkv, uint64_t position, uint64_t cache, int keys, uint64_t length,
                      uint64_t results);
    void step(TokenStep step);
    void queue_token(int keys);
    int keys_for(int end) const;
    void make_room(int rows);
    void pass(const int32_t *tokens, int rows, float *all);
    int32_t checked(int32_t token) const;
    void embed(int32_t token, float *row) const;
    void queue_layers(int rows, uint64_t positions, uint64_t x, const AttentionOf &attention);
    bool has_half_layers() const;
    void queue_half_layers(int rows, int keys);
    void multiply_normed(uint64_t x, uint64_t norm, const ProductOnDevice &w, int rows, const Added &more, uint64_t y);
    void queue_logits(uint64_t x, int rows, uint64_t to);
    void queue_angles(uint64_t positions, int rows);
    size_t bytes_of_angles(int rows) const;
    void upload_draw(const Sampler::Draw &draw);
    void run(Recorded &recorded, const std::function<void()> &queue, int times = 0);
    void download_logits(uint64_t from, int rows, float *to) const;

    const Model &model_;
    std::shared_ptr<const WeightsOnDevice> weights_;
    Stream stream_;
    int rows_ = 0;
    bool downloaded_ = false;

    const CacheType cache_;
    size_t layer_bytes_ = 0;
    std::unique_ptr<const Slots::Taken> slot_;        // caches of the layers, and then the logits
    std::map<std::pair<int, int>, Recorded> graphs_;  // by rows, and the keys that they are for
    std::map<std::vector<int>, Recorded> together_;   // by places, and the keys that they are for
    bool has_graphs_ = true;
    mutable bool is_queued_ = false;  // something may be under way on the stream
    Recorded largest_graph_, draw_graph_;
    std::vector<uint8_t> input_values_;
    halyard_apps::DeviceBlock wide_cache_;  // of a layer, as f16, where it is something else
    halyard_apps::DeviceBlock input_, scratch_, x_, next_, normed_, qkv_, q_, context_, half_context_, half_rows_, gate_up_, inner_, all_,
        draw_, token_, angles_, together_logits_, together_likeliest_;
    uint64_t last_x_ = 0;                      // where the rows are behind the last layer
    std::vector<TokenStep> *steps_ = nullptr;  // where steps go in place of the stream
    std::vector<float> logits_values_;
    static constexpr int32_t kUnknown = -2;
    int32_t likeliest_ = kUnknown;  // token, where it was computed with the logits
};

}  // namespace halyard_llm

#endif
