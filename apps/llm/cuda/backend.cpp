// Sequences on a GPU.

#include <algorithm>

#include "decoder.h"
#include "sequence.h"

namespace halyard_llm {

std::unique_ptr<Sequence> make_sequence(const Model &model, int length, const Precision &precision) {
    return std::make_unique<CudaDecoder>(model, length, precision);
}

// Single tokens of sequences that lie beside each other together; prompts, which fill the device, one after the other.
void feed_together(const std::vector<Feed> &feeds) {
    check_together(feeds);
    std::vector<int> begins;
    for (const Feed &feed : feeds) {
        feed.sequence->check(feed.tokens, feed.count);
        begins.push_back(feed.sequence->position());
    }
    try {
        std::vector<std::vector<CudaDecoder::Next>> passes;
        for (const Feed &feed : feeds) {
            auto *const decoder = static_cast<CudaDecoder *>(feed.sequence);
            if (feed.count != 1) {
                decoder->feed(feed.tokens, feed.count);
                continue;
            }
            const auto has_room = [&](const std::vector<CudaDecoder::Next> &pass) {
                return pass.size() < size_t(CudaDecoder::kMostTogether) && pass[0].decoder->is_beside(*decoder);
            };
            auto pass = std::find_if(passes.begin(), passes.end(), has_room);
            if (pass == passes.end()) {
                pass = passes.emplace(passes.end());
            }
            pass->push_back({decoder, feed.tokens[0]});
        }
        for (std::vector<CudaDecoder::Next> &pass : passes) {
            CudaDecoder::feed_tokens(std::move(pass));
        }
    } catch (...) {
        for (size_t i = 0; i < feeds.size(); i++) {
            feeds[i].sequence->rewind(begins[i]);
        }
        throw;
    }
}

const Kernels *default_kernels() {
    return nullptr;
}

CacheType default_cache(bool) {
    return CacheType::kF16;
}

}  // namespace halyard_llm
