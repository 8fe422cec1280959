// Sequences on the processor.

#include "decoder.h"
#include "sequence.h"

namespace halyard_llm {

std::unique_ptr<Sequence> make_sequence(const Model &model, int length, const Precision &precision) {
    return std::make_unique<Decoder>(model, length, precision);
}

void feed_together(const std::vector<Feed> &feeds) {
    Decoder::feed_together(feeds);
}

const Kernels *default_kernels() {
    return &fused_kernels();
}

CacheType default_cache(bool exact) {
    return exact ? CacheType::kF32 : CacheType::kF16;
}

}  // namespace halyard_llm
