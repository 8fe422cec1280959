// Tokens of several sequences of a model in one pass: products and norms of their rows, and attention of each over its own cache.

#include <algorithm>
#include <cstring>

#include "decoder.h"

namespace halyard_llm {

CudaDecoder::TogetherInput::TogetherInput(int count, int width)
    : positions(size_t(count) * kLengthStep), rows(positions + kMostTogether * sizeof(int32_t)),
      bytes(rows + size_t(count) * size_t(width) * sizeof(float)) {
    static_assert(kMostTogether * sizeof(int32_t) % TogetherInput::kPosition == 0, "rows are aligned");
}

void CudaDecoder::feed_tokens(std::vector<Next> tokens) {
    if (tokens.size() == 1) {
        tokens[0].decoder->feed(&tokens[0].token, 1);
        return;
    }
    // By the kernels that they need, and always in the same order, as graphs are kept.
    std::sort(tokens.begin(), tokens.end(), [](const Next &a, const Next &b) {
        const auto order = [](const CudaDecoder &d) { return std::make_pair(d.keys_for(d.position_ + 1), d.slot_->number()); };
        return order(*a.decoder) < order(*b.decoder);
    });
    for (const Next &next : tokens) {
        if (next.decoder->is_queued_) {
            next.decoder->wait();
        }
    }
    const auto first = std::min_element(
        tokens.begin(), tokens.end(), [](const Next &a, const Next &b) { return a.decoder->slot_->number() < b.decoder->slot_->number(); });
    first->decoder->pass_tokens(tokens);
}

// What is allocated is this sequence's, and it is done on its stream.
void CudaDecoder::pass_tokens(const std::vector<Next> &tokens) {
    const Stream::Used used(stream_);
    const int rows = int(tokens.size());
    const size_t width = size_t(config_.width), of_logits = size_t(config_.vocabulary) * sizeof(float);
    make_room(kMostTogether);
    together_logits_.reserve(kMostTogether * of_logits);
    together_likeliest_.reserve(kMostTogether * sizeof(int32_t));
    const TogetherInput input(rows, config_.width);
    input_values_.assign(input.bytes, 0);
    const auto put = [&](size_t at, int32_t value) { std::memcpy(&input_values_[at], &value, sizeof(value)); };
    std::vector<Group> groups;
    std::vector<int> key;
    for (int i = 0; i < rows; i++) {
        const CudaDecoder &d = *tokens[size_t(i)].decoder;
        const int end = d.position_ + 1, keys = d.keys_for(end), place = d.slot_->number();
        const size_t length = size_t(i) * kLengthStep;
        put(length, end);
        put(length + TogetherInput::kPosition, d.position_);
        put(input.positions + size_t(i) * sizeof(int32_t), d.position_);
        embed(tokens[size_t(i)].token, reinterpret_cast<float *>(&input_values_[input.rows]) + size_t(i) * width);
        if (groups.empty() || groups.back().keys != keys) {
            groups.push_back({i, 0, keys});
        }
        groups.back().count++;
        key.insert(key.end(), {place, keys});
    }
    input_.upload(input_values_.data(), input.bytes);
    const Scratch scratch(scratch_.address(), kScratch);
    if (together_.size() >= kMostGraphs && together_.count(key) == 0) {
        together_.clear();
    }
    const auto queue = [&] {
        queue_layers(rows, input_.address() + input.positions, input_.address() + input.rows, attention_of_tokens(tokens, groups));
        queue_logits(last_x_, rows, together_logits_.address());
        for (int i = 0; i < rows; i++) {
            copy_on_device(tokens[size_t(i)].decoder->logits_on_device(), together_logits_.address() + uint64_t(i) * of_logits, of_logits);
        }
        largest_on_device(together_logits_.address(), config_.vocabulary, together_likeliest_.address(), rows);
    };
    run(together_[key], queue, 1);  // who is together may change with the next token
    std::vector<int32_t> likeliest(tokens.size());
    together_likeliest_.download(likeliest.data(), likeliest.size() * sizeof(int32_t));
    for (size_t i = 0; i < tokens.size(); i++) {
        CudaDecoder &d = *tokens[i].decoder;
        d.position_++;
        d.has_logits_ = true;
        d.downloaded_ = false;
        d.likeliest_ = likeliest[i];
    }
}

CudaDecoder::AttentionOf CudaDecoder::attention_of_tokens(const std::vector<Next> &tokens, const std::vector<Group> &groups) {
    return [this, lengths = input_.address(), tokens, groups](int layer) {
        const HeadsOnDevice of_layer = heads_of(layer);
        const uint64_t of_token = uint64_t(of_layer.width) * uint64_t(of_layer.heads) * 2;
        const uint64_t results = cache_ == CacheType::kF16 ? behind_cache(of_layer, cache_of(layer)) + of_token : half_context_.address();
        const auto queue = [=] {
            const uint64_t of_row = uint64_t(of_layer.width) * uint64_t(of_layer.heads + 2 * of_layer.key_heads) * sizeof(float);
            for (const Group &group : groups) {
                const auto heads_from = [&](int token) {
                    HeadsOnDevice heads = of_layer;
                    heads.angles += uint64_t(token) * 2 * uint64_t(heads.pairs) * sizeof(float);
                    return heads;
                };
                if (is_for_one_block(of_layer, group.keys)) {
                    TokensOnDevice of_group;
                    of_group.count = group.count;
                    of_group.cache = cache_of(layer);
                    of_group.stride = int64_t(slot_->stride());
                    of_group.lengths = lengths + uint64_t(group.first) * kLengthStep;
                    of_group.first_results = 1 + group.first;
                    for (int i = 0; i < group.count; i++) {
                        of_group.place[i] = tokens[size_t(group.first + i)].decoder->slot_->number() - slot_->number();
                        of_group.places = std::max(of_group.places, of_group.place[i] + 1);
                    }
                    few_keys_of_several_on_device(heads_from(group.first), qkv_.address() + uint64_t(group.first) * of_row, of_group,
                                                  group.keys);
                    continue;
                }
                for (int i = group.first; i < group.first + group.count; i++) {
                    const uint64_t cache = tokens[size_t(i)].decoder->cache_of(layer), own = lengths + uint64_t(i) * kLengthStep;
                    queue_decode(heads_from(i), qkv_.address() + uint64_t(i) * of_row, own + TogetherInput::kPosition, cache, group.keys,
                                 own, results + uint64_t(i) * of_token);
                }
            }
        };
        return Attention{results, queue};
    };
}

}  // namespace halyard_llm
