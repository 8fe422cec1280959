#ifndef MINILM_SINK_H
#define MINILM_SINK_H

/** \file
 * Where embeddings go.
 */

#include <memory>
#include <string>

#include "precision.h"

namespace minilm {

class Sink {
public:
    virtual ~Sink() = default;

    /** The sentences come in the order of the input. */
    virtual void add(const std::string &sentence, const float *embedding) = 0;

    /** After the last sentence. False makes the program exit with 1. */
    virtual bool finish() {
        return true;
    }
};

enum class Format {
    Text,
    Json,
    F32,
};

/** Embeddings as they come: a line of numbers, a JSON record, or raw f32 each. */
std::unique_ptr<Sink> make_embedding_sink(Format format, int width);

/** The cosines of all pairs, once all sentences are there. */
std::unique_ptr<Sink> make_similarity_sink(Format format, int width);

/** Comparison with a file of raw f32 embeddings, as close as the precision of the encoder lets expect. */
std::unique_ptr<Sink> make_check_sink(const std::string &path, int width, Format format, Precision precision);

}  // namespace minilm

#endif
