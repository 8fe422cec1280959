#ifndef HALYARD_LLM_CHAT_H
#define HALYARD_LLM_CHAT_H

/** \file
 * What stands around the messages of a conversation, as a model was trained with it.
 */

#include <string>
#include <vector>

#include "gguf.h"
#include "tokenizer.h"

namespace halyard_llm {

class ChatFormat {
public:
    /** By the template of the file. Templates are programs, which are not run: it is one of the known formats, or std::runtime_error. */
    ChatFormat(const Gguf &file, const Tokenizer &tokenizer);

    /** The begin of a conversation. Without a system message, what the template says in its place. */
    std::vector<int32_t> begin(const std::string &system);

    /** A message of the user, behind which the answer begins. Names of special tokens in the message are text as any other. */
    std::vector<int32_t> question(const std::string &text);

    /** What stands behind an answer, its last token being `last`. */
    std::vector<int32_t> after_answer(int32_t last) const;

private:
    struct Format {
        const char *mark;  // in the template
        const char *begin_system, *end_system, *begin_user, *end_user, *begin_answer, *end_answer;
    };
    static const Format kFormats[];

    void add(const std::string &text, bool special, std::vector<int32_t> *tokens) const;

    const Tokenizer &tokenizer_;
    const Format *format_ = nullptr;
    std::string usual_system_;
    std::string pending_;  // a system message that goes with the first question
};

}  // namespace halyard_llm

#endif
