#ifndef MINILM_TOKENIZER_H
#define MINILM_TOKENIZER_H

/** \file
 * Text to token ids: [CLS], the WordPieces of a text, [SEP].
 */

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vocabulary.h"
#include "words.h"

namespace minilm {

class Tokenizer {
public:
    /** max_tokens counts [CLS] and [SEP]. */
    Tokenizer(const std::string &vocabulary_path, int max_tokens);

    /** Append the ids of a text. True if they had to be cut at max_tokens. */
    bool encode(std::string_view text, std::vector<int32_t> *ids);

    int max_tokens() const {
        return max_tokens_;
    }
    int32_t begin_id() const {
        return begin_;
    }
    int32_t end_id() const {
        return end_;
    }
    int32_t vocabulary_size() const {
        return vocabulary_.size();
    }

private:
    bool encode_segment(std::string_view text, size_t limit, std::vector<int32_t> *ids);

    Vocabulary vocabulary_;
    int max_tokens_;
    int32_t begin_, end_;
    // Written literally in a text these are the tokens, not words with brackets.
    std::vector<std::pair<std::string_view, int32_t>> special_;
    WordReader words_;
    Word word_;
};

}  // namespace minilm

#endif
