#ifndef MINILM_EMBED_LINES_H
#define MINILM_EMBED_LINES_H

/** \file
 * Lines to embeddings, in batches, so that input of any length streams through.
 */

#include "sentence_encoder.h"
#include "lines.h"
#include "sink.h"
#include "tokenizer.h"

namespace minilm {

struct LineCounts {
    size_t lines = 0;
    size_t cut = 0;        // lines over the tokenizer's limit
    size_t cut_bytes = 0;  // lines over LineReader's
};

/** With verbose, a note on standard error for every line that is cut. */
LineCounts embed_lines(LineReader *lines, Tokenizer *tokenizer, SentenceEncoder *encoder, int width, int batch_size, bool verbose,
                       Sink *sink);

}  // namespace minilm

#endif
