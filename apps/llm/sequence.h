#ifndef HALYARD_LLM_SEQUENCE_H
#define HALYARD_LLM_SEQUENCE_H

/** \file
 * A sequence of tokens that a model has read, wherever it is computed: its keys and values, and the logits of what comes next.
 */

#include <cstdint>
#include <memory>
#include <vector>

#include "kernel_table.h"
#include "model.h"
#include "sampler.h"

namespace halyard_llm {

/** What is rounded, and how. */
struct Precision {
    bool exact = true;  // products are by rows in f32, and not in 8 bits
    CacheType cache = CacheType::kF32;
};

/** One thread at a time may use it. */
class Sequence {
public:
    /** `length` tokens at most; 0: as many as the model was made for, but 4096 at most. Throws std::runtime_error where it was made for fewer. */
    Sequence(const Config &config, int length);
    virtual ~Sequence() = default;

    /** Reads tokens behind those before. With `all`, the logits of each of them go there: `count` rows of the vocabulary. Throws
     * std::runtime_error where they do not fit, or one is none of the vocabulary; the sequence is then as it was. */
    virtual void feed(const int32_t *tokens, int count, float *all = nullptr) = 0;

    /** Of the token behind the last one; null before there is one. */
    virtual const float *logits() = 0;
    bool has_logits() const {
        return has_logits_;
    }

    /** Returns when what was fed has been computed. */
    virtual void wait() const {}

    /** Draws that token; only where there are logits. */
    virtual int32_t draw(Sampler *sampler) {
        return sampler->sample(logits(), vocabulary());
    }

    /** Throws std::runtime_error where it is not computed so. */
    virtual void set_exact(bool exact) = 0;

    /** Whether they may be fed together. */
    virtual bool is_like(const Sequence &other) const = 0;

    int vocabulary() const {
        return config_.vocabulary;
    }
    /** Tokens that it has, and may have. */
    int position() const {
        return position_;
    }
    int length() const {
        return length_;
    }

    /** Forgets the tokens from `position` on. The logits are those of nothing until something is fed. */
    void rewind(int position);

    /** Throws std::runtime_error where feed() would, before it changes anything. */
    void check(const int32_t *tokens, int count) const;

protected:
    [[noreturn]] void fail_too_long() const;

    const Config &config_;
    int length_, position_ = 0;
    bool has_logits_ = false;
};

/** Tokens of one sequence among several. */
struct Feed {
    Sequence *sequence;
    const int32_t *tokens;
    int count;
};

/** Throws std::runtime_error unless these are different sequences that are alike. */
void check_together(const std::vector<Feed> &feeds);

// What a program or library computes on: the processor (host_backend.cpp) or a GPU (cuda/backend.cpp).

/** `length` tokens at most; 0: as many as the model was made for, but 4096 at most. The model has to outlive it. */
std::unique_ptr<Sequence> make_sequence(const Model &model, int length, const Precision &precision);

/** The same as feed() of each, to the bit. The sequences are of one model, and different ones. Where it throws, all are as they were. */
void feed_together(const std::vector<Feed> &feeds);

/** What a model is loaded for; null where its kernels are not those of a table. */
const Kernels *default_kernels();

/** What a sequence keeps keys and values as where nothing else is said. */
CacheType default_cache(bool exact);

}  // namespace halyard_llm

#endif
