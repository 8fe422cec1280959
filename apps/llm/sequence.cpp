#include "sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace halyard_llm {

Sequence::Sequence(const Config &config, int length) : config_(config) {
    constexpr int kUsual = 4096;
    length_ = length > 0 ? length : std::min(config.context, kUsual);
    if (length_ > config.context) {
        fail_too_long();
    }
}

void Sequence::fail_too_long() const {
    throw std::runtime_error(fmt::format("a context of {} tokens is too long: the model was made for {}", length_, config_.context));
}

void Sequence::rewind(int position) {
    if (position < 0 || position > position_) {
        throw std::runtime_error(fmt::format("a sequence of {} tokens has no token {} to go back to", position_, position));
    }
    position_ = position;
    has_logits_ = false;
}

void Sequence::check(const int32_t *tokens, int count) const {
    if (count < 0 || count > length_ - position_) {
        throw std::runtime_error(fmt::format("{} tokens do not fit behind the {} of a context of {}: make a longer one, or begin anew",
                                             count, position_, length_));
    }
    for (int i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= config_.vocabulary) {
            throw std::runtime_error(fmt::format("token {} is not one of the {} of the vocabulary", tokens[i], config_.vocabulary));
        }
    }
}

void check_together(const std::vector<Feed> &feeds) {
    for (const Feed &feed : feeds) {
        for (const Feed &other : feeds) {
            if (&other != &feed && other.sequence == feed.sequence) {
                throw std::runtime_error("a sequence is fed twice in one call: give it all of its tokens at once");
            }
        }
        if (!feed.sequence->is_like(*feeds.front().sequence)) {
            throw std::runtime_error("sequences that are fed together have one model, and rows of one kind, f32 or 8 bits");
        }
    }
}

}  // namespace halyard_llm
