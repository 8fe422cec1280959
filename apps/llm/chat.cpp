#include "chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace halyard_llm {

// A format without a place for the system message has it before the first question.
const ChatFormat::Format ChatFormat::kFormats[] = {
    {"<|im_start|>", "<|im_start|>system\n", "<|im_end|>\n", "<|im_start|>user\n", "<|im_end|>\n", "<|im_start|>assistant\n",
     "<|im_end|>\n"},
    {"<|start_header_id|>", "<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>", "<|start_header_id|>user<|end_header_id|>\n\n",
     "<|eot_id|>", "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
    {"<start_of_turn>", nullptr, "\n\n", "<start_of_turn>user\n", "<end_of_turn>\n", "<start_of_turn>model\n", "<end_of_turn>\n"},
    {"[INST]", nullptr, "\n\n", "[INST] ", " [/INST]", "", "</s>"},
};

ChatFormat::ChatFormat(const Gguf &file, const Tokenizer &tokenizer) : tokenizer_(tokenizer) {
    const std::string program = file.text_or("tokenizer.chat_template", "");
    const auto *found =
        std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format &f) { return program.find(f.mark) != std::string::npos; });
    if (found == std::end(kFormats)) {
        throw std::runtime_error(
            fmt::format("{}: {}: give what the model was trained with as --prompt", shown(file.name()),
                        program.empty() ? "it has no template of conversations" : "its template is of no known format"));
    }
    format_ = found;
    if (format_->begin_system) {
        // A system message that stands in the template as a text, from its mark to the next one.
        for (const char *newline : {"\n", "\\n"}) {
            std::string mark = format_->begin_system;
            mark = mark.substr(0, mark.find('\n')) + newline;
            const size_t begin = program.find(mark);
            const size_t end = begin == std::string::npos ? begin : program.find("<|", begin + mark.size());
            if (end != std::string::npos && program.substr(begin, end - begin).find_first_of("'\"{}") == std::string::npos) {
                usual_system_ = program.substr(begin + mark.size(), end - begin - mark.size());
            }
        }
    }
}

void ChatFormat::add(const std::string &text, bool special, std::vector<int32_t> *tokens) const {
    tokenizer_.encode(text, special, tokens);
}

std::vector<int32_t> ChatFormat::begin(const std::string &system) {
    std::vector<int32_t> tokens;
    tokenizer_.begin(&tokens);
    const std::string &said = system.empty() ? usual_system_ : system;
    if (said.empty()) {
        return tokens;
    }
    if (!format_->begin_system) {
        pending_ = said + format_->end_system;
        return tokens;
    }
    add(format_->begin_system, true, &tokens);
    add(said, false, &tokens);
    add(format_->end_system, true, &tokens);
    return tokens;
}

std::vector<int32_t> ChatFormat::question(const std::string &text) {
    std::vector<int32_t> tokens;
    add(format_->begin_user, true, &tokens);
    add(std::exchange(pending_, "") + text, false, &tokens);
    add(std::string(format_->end_user) + format_->begin_answer, true, &tokens);
    return tokens;
}

std::vector<int32_t> ChatFormat::after_answer(int32_t last) const {
    std::vector<int32_t> tokens, end;
    add(format_->end_answer, true, &end);
    // The answer's own last token ends it where it could; an answer that was cut gets the end of others.
    const size_t said = tokenizer_.is_end(last) && !end.empty() ? 1 : 0;
    tokens.assign(end.begin() + long(said), end.end());
    if (said == 1) {
        tokens.insert(tokens.begin(), last);
    }
    return tokens;
}

}  // namespace halyard_llm
