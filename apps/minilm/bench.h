#ifndef MINILM_BENCH_H
#define MINILM_BENCH_H

/** \file
 * Timing on request, so that a driver can interleave this program with others.
 */

#include <istream>
#include <ostream>
#include <string>

#include "model.h"
#include "sentence_encoder.h"
#include "tokenizer.h"

namespace minilm {

/** The batch of a case: "BxS" is B sentences of S made-up tokens, "Bxnatural" the
 * first B lines of a file. Throws std::invalid_argument for what is neither. */
TokenBatch make_bench_batch(const std::string &bench_case, const std::string &sentences_path, const Config &config, Tokenizer *tokenizer);

/** Answer each line `run CASE SECONDS` by one line of JSON with the shortest and
 * the median time of encoding the case's batch again and again for that long:
 * embedding lookup, layers, pooling and normalisation, not tokenization. A request
 * that cannot be met is answered by a record with "error". */
void serve_bench(const Model &model, Tokenizer *tokenizer, SentenceEncoder *encoder, const std::string &sentences_path,
                 std::istream *requests, std::ostream *answers);

}  // namespace minilm

#endif
