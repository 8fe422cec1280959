#ifndef HALYARD_LLM_MEASURE_H
#define HALYARD_LLM_MEASURE_H

/** \file
 * How fast a model is, and how well it predicts a text.
 */

#include <string>

#include "decoder.h"

namespace halyard_llm {

struct BenchOptions {
    int prompt = 512, generated = 128;  // tokens; 0: not measured
    int depth = 0;                      // tokens before both
    int repetitions = 3;
};

/** Tokens a second of a prompt (pp512) and of generated tokens (tg128), as llama-bench has them. */
void bench(const Model &model, const Precision &precision, const BenchOptions &options);

/** A table: what a generated token reads and computes behind `depth` others, op by op, how long that takes at least, as this machine reads
 * memory and multiplies, and how long it took. */
void explain(const Model &model, const Precision &precision, int depth, int threads);

/** Perplexity of a text in chunks of `length` tokens, of which the second half counts, as llama.cpp has it. */
void perplexity(const Model &model, const Precision &precision, const std::string &path, int length);

}  // namespace halyard_llm

#endif
