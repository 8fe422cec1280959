#ifndef HALYARD_LLM_CUDA_DECODER_H
#define HALYARD_LLM_CUDA_DECODER_H

/** \file
 * A sequence on a GPU. Rows are f32, keys and values f16; a token of generation is one CUDA graph.
 */

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "kernels.h"
#include "sequence.h"
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

    HeadsOnDevice heads_of(int layer) const;
    void step(TokenStep step);
    void queue_token(int keys);
    int keys_for(int end) const;
    void make_room(int rows);
    void pass(const int32_t *tokens, int rows, float *all);
    void queue_layers(int rows, int keys);
    bool has_half_layers() const;
    void queue_half_layers(int rows, int keys);
    void multiply_normed(uint64_t x, uint64_t norm, const ProductOnDevice &w, int rows, const Added &more, uint64_t y);
    void queue_logits(uint64_t x, int rows, uint64_t to);
    void queue_angles(uint64_t positions, int rows);
    size_t bytes_of_angles(int rows) const;
    void upload_draw(const Sampler::Draw &draw);
    void run(Recorded &recorded, const std::function<void()> &queue, int times = 0);
    void download(const halyard_apps::DeviceBlock &logits, int rows, float *to) const;

    const Model &model_;
    std::shared_ptr<const WeightsOnDevice> weights_;
    Stream stream_;
    int rows_ = 0;
    bool downloaded_ = false;

    std::vector<std::unique_ptr<halyard_apps::DeviceBlock>> caches_;  // of the layers
    std::map<std::pair<int, int>, Recorded> graphs_;                  // by rows, and the keys that they are for
    bool has_graphs_ = true;
    Recorded largest_graph_, draw_graph_;
    std::vector<uint8_t> input_values_;
    halyard_apps::DeviceBlock input_, scratch_, x_, next_, normed_, qkv_, q_, context_, half_context_, half_rows_, gate_up_, inner_,
        logits_, all_, draw_, token_, angles_;
    uint64_t last_x_ = 0;                      // where the rows are behind the last layer
    std::vector<TokenStep> *steps_ = nullptr;  // where steps go in place of the stream
    std::vector<float> logits_values_;
};

}  // namespace halyard_llm

#endif
