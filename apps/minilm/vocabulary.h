#ifndef MINILM_VOCABULARY_H
#define MINILM_VOCABULARY_H

/** \file
 * The pieces of vocab.txt and WordPiece over them.
 */

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "words.h"
#include "common/keyed_hash.h"

namespace minilm {

class Vocabulary {
public:
    /** Read a file of one piece a line; the id is the number of the line. */
    explicit Vocabulary(const std::string &path);

    int32_t size() const {
        return size_;
    }

    /** The id of a whole piece; throws if there is none. */
    int32_t id(std::string_view piece) const;

    /** Append the ids of a word's pieces, longest first; one [UNK] for a word
     * of over 100 code points or one that the pieces do not cover. */
    void split(const Word &word, std::vector<int32_t> *ids) const;

private:
    using Pieces = std::unordered_map<std::string_view, int32_t, halyard_apps::KeyedHash>;

    std::string path_;
    std::string text_;  // The file; the keys below are views of it.
    Pieces starts_, continuations_;
    size_t longest_ = 0;
    int32_t size_ = 0;
    int32_t unknown_ = 0;
};

}  // namespace minilm

#endif
