#ifndef HALYARD_LLM_SAMPLER_H
#define HALYARD_LLM_SAMPLER_H

/** \file
 * Draws a token by its logits. The same seed and logits give the same tokens.
 */

#include <cstdint>
#include <vector>

namespace halyard_llm {

class Sampler {
public:
    /** Throws std::runtime_error for numbers that have no meaning.
     *
     * temperature   divides the logits; 0 takes the largest
     * top_k         only so many of the largest are drawn from; 0: all
     * top_p         then only the largest whose probabilities reach this sum; 1: all */
    Sampler(float temperature, int top_k, float top_p, uint64_t seed);

    int32_t sample(const float *logits, int count);

    /** What the next token is drawn by, for kernels that do it: `uniform` is the random number. */
    struct Draw {
        float uniform, temperature, top_p;
        int32_t top_k;
    };
    Draw next_draw();

    int top_k() const {
        return top_k_;
    }
    /** Whether it takes the most probable token, and no random number. */
    bool is_greedy() const {
        return temperature_ == 0 || top_k_ == 1;
    }

private:
    double next_random();

    struct Candidate {
        float logit;
        int32_t token;
    };

    float temperature_, top_p_;
    int top_k_;
    uint64_t state_;
    std::vector<Candidate> candidates_;
    std::vector<double> weights_;
};

}  // namespace halyard_llm

#endif
