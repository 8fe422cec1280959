#ifndef HALYARD_LLM_MEASURE_H
#define HALYARD_LLM_MEASURE_H

/** \file
 * How fast a model is, and how well it predicts a text.
 */

#include <string>

#include "decoder.h"

namespace halyard_llm {

/** Tokens a second of a prompt of 512 tokens (pp512) and of 128 generated ones (tg128), behind `depth` others, as llama-bench has them. */
void bench(const Model &model, bool exact, int depth, int repetitions);

/** A table: what a generated token reads and writes behind `depth` others, kernel by kernel, how long that takes at least, as this machine
 * reads memory, and how long it took. */
void explain(const Model &model, bool exact, int depth, int threads);

/** Perplexity of a text in chunks of `length` tokens, of which the second half counts, as llama.cpp has it. */
void perplexity(const Model &model, bool exact, const std::string &path, int length);

}  // namespace halyard_llm

#endif
