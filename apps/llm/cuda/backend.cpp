// Sequences on a GPU.

#include "decoder.h"
#include "sequence.h"

namespace halyard_llm {

std::unique_ptr<Sequence> make_sequence(const Model &model, int length, const Precision &precision) {
    return std::make_unique<CudaDecoder>(model, length, precision);
}

// One after the other.
void feed_together(const std::vector<Feed> &feeds) {
    check_together(feeds);
    std::vector<int> begins;
    for (const Feed &feed : feeds) {
        feed.sequence->check(feed.tokens, feed.count);
        begins.push_back(feed.sequence->position());
    }
    try {
        for (const Feed &feed : feeds) {
            feed.sequence->feed(feed.tokens, feed.count);
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
