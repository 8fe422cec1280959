#ifndef HALYARD_LLM_EXPLAIN_H
#define HALYARD_LLM_EXPLAIN_H

/** \file
 * Where a token's time goes.
 */

#include "sequence.h"

namespace halyard_llm {

/** A table: what a generated token reads and computes behind `depth` others, op by op, how long that takes at least, as this machine reads
 * memory and multiplies, and how long it took. */
void explain(const Model &model, const Precision &precision, int depth, int threads);

}  // namespace halyard_llm

#endif
