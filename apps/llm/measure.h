#ifndef HALYARD_LLM_MEASURE_H
#define HALYARD_LLM_MEASURE_H

/** \file
 * How fast a model is, and how well it predicts a text.
 */

#include <functional>
#include <string>

#include "sequence.h"

namespace halyard_llm {

/** By the clock. */
double seconds_of(const std::function<void()> &work);

struct BenchOptions {
    int prompt = 512, generated = 128;  // tokens; 0: not measured
    int depth = 0;                      // tokens before both
    int repetitions = 3;
    int sequences = 1;
};

/** Tokens a second of a prompt (pp512) and of generated tokens (tg128), as llama-bench has them, and of those of several sequences together
 * (tg128 x8). */
void bench(const Model &model, const Precision &precision, const BenchOptions &options);

/** Perplexity of a text in chunks of `length` tokens, of which the second half counts, as llama.cpp has it. */
void perplexity(const Model &model, const Precision &precision, const std::string &path, int length);

}  // namespace halyard_llm

#endif
