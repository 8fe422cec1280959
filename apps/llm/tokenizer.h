#ifndef HALYARD_LLM_TOKENIZER_H
#define HALYARD_LLM_TOKENIZER_H

/** \file
 * Text to tokens and back, by the vocabulary of a GGUF file: byte-level BPE (GPT-2, Llama 3, Qwen), or pieces with scores
 * (SentencePiece: Llama 2, Mistral, Gemma).
 */

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gguf.h"
#include "longest_names.h"
#include "pieces.h"
#include "common/keyed_hash.h"

namespace halyard_llm {

class Tokenizer {
public:
    /** Throws std::runtime_error for a vocabulary that is damaged or of another kind. The file has to outlive it. */
    explicit Tokenizer(const Gguf &file);

    int size() const {
        return int(tokens_.size());
    }

    /** With `special`, names such as <|im_end|> become their tokens; otherwise they are text as any other. */
    void encode(std::string_view text, bool special, std::vector<int32_t> *tokens) const;

    /** What stands before a text that is no conversation: the token of its begin, if the file wants one. */
    void begin(std::vector<int32_t> *tokens) const;

    /** The bytes of a token, which may be a part of a character. A special one has none, unless `special`. */
    std::string text_of(int32_t token, bool special = false) const;

    /** Whether a text ends with it. */
    bool is_end(int32_t token) const;

    /** The token with this name, or -1. */
    int32_t find(const std::string &name) const;

private:
    // Types of tokens by the numbers that files have for them.
    enum Kind { kNormal = 1, kUnknown = 2, kControl = 3, kOwn = 4, kUnused = 5, kByte = 6 };

    void read_merges(const Gguf &file);
    void read_kinds(const Gguf &file);
    void read_specials(const Gguf &file);
    void encode_text(std::string_view text, bool first, std::vector<int32_t> *tokens) const;
    void encode_bpe(std::string_view piece, std::vector<int32_t> *tokens) const;
    void encode_scored(std::string_view text, std::vector<int32_t> *tokens) const;
    void add_unknown(std::string_view symbol, std::vector<int32_t> *tokens) const;

    std::vector<std::string_view> tokens_;
    std::vector<uint8_t> kinds_;
    std::unordered_map<std::string_view, int32_t, halyard_apps::KeyedHash> ids_;
    size_t longest_ = 0;           // bytes of a token
    LongestNames specials_, own_;  // of both kinds, and of those that any text may hold
    std::vector<int32_t> ends_;
    bool scored_ = false, add_begin_ = false, space_first_ = false;
    PieceRules rules_ = PieceRules::kGpt2;
    std::unordered_map<uint64_t, std::pair<int32_t, int32_t>, halyard_apps::KeyedHash> merges_;  // of two tokens: rank and what they become
    std::vector<float> scores_;
    int32_t begin_ = -1, unknown_ = -1;
    std::vector<int32_t> bytes_;  // the tokens of single bytes; -1: none
};

}  // namespace halyard_llm

#endif
