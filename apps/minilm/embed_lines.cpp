#include "embed_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace minilm {

LineCounts embed_lines(LineReader *lines, Tokenizer *tokenizer, SentenceEncoder *encoder, int width, int batch_size, bool verbose,
                       Sink *sink) {
    LineCounts counts;
    TokenBatch batch;
    std::vector<std::string> sentences;
    sentences.resize(size_t(batch_size));
    std::vector<float> embeddings(size_t(batch_size) * size_t(width));
    bool more = true;
    while (more) {
        batch.clear();
        while (batch.sentences() < batch_size) {
            std::string &sentence = sentences[size_t(batch.sentences())];
            more = lines->next(&sentence);
            if (!more) {
                break;
            }
            counts.lines++;
            const bool long_text = tokenizer->encode(sentence, &batch.ids);
            counts.cut += long_text ? 1 : 0;
            counts.cut_bytes += lines->was_cut() ? 1 : 0;
            if (verbose && long_text) {
                fmt::print(stderr, "minilm: line {} is cut at {} tokens\n", counts.lines, tokenizer->max_tokens());
            }
            if (verbose && lines->was_cut()) {
                fmt::print(stderr, "minilm: line {} is cut at {} bytes\n", counts.lines, LineReader::max_bytes);
            }
            batch.end_sentence();
        }
        encoder->encode(batch, embeddings.data());
        for (int s = 0; s < batch.sentences(); s++) {
            // Weights of any size are read, and sums of large ones leave f32.
            const float *embedding = &embeddings[size_t(s) * size_t(width)];
            if (!std::all_of(embedding, embedding + width, [](float v) { return std::isfinite(v); })) {
                throw std::runtime_error(fmt::format("line {}: its embedding is not finite: the weights of this model are too large",
                                                     counts.lines - size_t(batch.sentences()) + size_t(s) + 1));
            }
            sink->add(sentences[size_t(s)], &embeddings[size_t(s) * size_t(width)]);
        }
    }
    return counts;
}

}  // namespace minilm
