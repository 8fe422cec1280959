#ifndef MINILM_WORDS_H
#define MINILM_WORDS_H

/** \file
 * BERT's uncased normalisation and splitting into words: what the BertNormalizer
 * (clean_text, handle_chinese_chars, strip_accents, lowercase) and the
 * BertPreTokenizer of Hugging Face `tokenizers` do, one word at a time, so that
 * the rest of a text that is cut need not be looked at.
 */

#include <string>
#include <string_view>
#include <vector>

namespace minilm {

struct Word {
    static constexpr int max_length = 100;  // max_input_chars_per_word of tokenizer.json

    std::string text;  // UTF-8; of a word that is longer just the beginning
    int length = 0;    // in code points, max_length + 1 for all that are longer
};

class WordReader {
public:
    /** Begin with another text. It is not copied. */
    void start(std::string_view text);

    /** The next word; false at the end of the text. */
    bool next(Word *word);

private:
    bool peek(char32_t *c);
    void refill();
    void accept(char32_t c);
    void release_run();

    std::string_view text_;
    size_t position_ = 0;

    // Code points of one combining run: they wait until a code point of class
    // 0 shows that no other mark will go in front of them.
    std::vector<char32_t> run_;
    std::vector<char32_t> parts_;

    std::vector<char32_t> ready_;
    size_t ready_position_ = 0;
};

}  // namespace minilm

#endif
