#include "sampler.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace halyard_llm {

Sampler::Sampler(float temperature, int top_k, float top_p, uint64_t seed)
    : temperature_(temperature), top_p_(top_p), top_k_(top_k), state_(seed) {
    if (!(temperature >= 0) || std::isinf(temperature)) {
        throw std::runtime_error("the temperature is 0 or more");
    }
    if (top_k < 0) {
        throw std::runtime_error("top-k is 0 (all tokens) or more");
    }
    if (!(top_p > 0 && top_p <= 1)) {
        throw std::runtime_error("top-p is above 0, and 1 at most");
    }
}

// Splitmix64 (Steele, Lea and Flood 2014), the upper 53 bits as a fraction.
double Sampler::next_random() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

Sampler::Draw Sampler::next_draw() {
    return {float(next_random()), temperature_, top_p_, top_k_};
}

int32_t Sampler::sample(const float *logits, int count) {
    if (is_greedy()) {
        return int32_t(std::max_element(logits, logits + count) - logits);
    }
    candidates_.resize(size_t(count));
    for (int i = 0; i < count; i++) {
        candidates_[size_t(i)] = {logits[i], i};
    }
    // Of equal logits the first token comes first, so that the order is one only.
    const auto before = [](const Candidate &a, const Candidate &b) {
        return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
    };
    const size_t kept = top_k_ > 0 ? std::min(size_t(top_k_), candidates_.size()) : candidates_.size();
    std::partial_sort(candidates_.begin(), candidates_.begin() + long(kept), candidates_.end(), before);
    weights_.resize(kept);
    double sum = 0;
    for (size_t i = 0; i < kept; i++) {
        weights_[i] = std::exp((double(candidates_[i].logit) - double(candidates_[0].logit)) / double(temperature_));
        sum += weights_[i];
    }
    double reached = 0;
    size_t end = 0;
    while (end < kept && reached < double(top_p_) * sum) {
        reached += weights_[end++];
    }
    end = std::max(end, size_t(1));
    double left = next_random() * reached;
    for (size_t i = 0; i < end; i++) {
        left -= weights_[i];
        if (left < 0) {
            return candidates_[i].token;
        }
    }
    return candidates_[end - 1].token;
}

}  // namespace halyard_llm
