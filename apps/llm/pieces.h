#ifndef HALYARD_LLM_PIECES_H
#define HALYARD_LLM_PIECES_H

/** \file
 * How a text is cut into pieces, within which a byte-level BPE joins.
 */

#include <functional>
#include <string>
#include <string_view>

namespace halyard_llm {

enum class PieceRules {
    kGpt2,    // words with the space before them, numbers, signs, spaces
    kSmollm,  // the same, where each digit stands alone
    kLlama3,  // numbers of up to three digits; a word may have a sign before it
    kQwen2,   // the same, where each digit stands alone
};

/** Whether `name`, the tokenizer.ggml.pre of a file, is one of them. */
bool find_piece_rules(const std::string &name, PieceRules *rules);

/** Calls `piece` with the pieces of a text, in order; together they are the text. */
void cut_into_pieces(PieceRules rules, std::string_view text, const std::function<void(std::string_view)> &piece);

}  // namespace halyard_llm

#endif
