#ifndef MINILM_UNICODE_H
#define MINILM_UNICODE_H

/** \file
 * What BERT's normalisation asks of a code point, with the answers of Hugging
 * Face `tokenizers`, whose tables are of several Unicode versions.
 */

#include <vector>

namespace minilm {

bool is_white_space(char32_t c);

/** Dropped by clean_text: NUL, U+FFFD, controls, formats and private use. */
bool is_dropped(char32_t c);

/** The ideograph blocks that stand as words of their own. */
bool is_ideograph(char32_t c);

/** A non-spacing mark, which strip_accents drops. */
bool is_accent(char32_t c);

/** Stands as a word of its own. */
bool is_punctuation(char32_t c);

/** Canonical combining class: marks of classes other than 0 are put in order. */
int combining_class(char32_t c);

char32_t to_lower(char32_t c);

/** Append the full canonical decomposition of c. */
void decompose(char32_t c, std::vector<char32_t> *result);

}  // namespace minilm

#endif
