#ifndef MINILM_JSON_TEXT_H
#define MINILM_JSON_TEXT_H

/** \file
 * A text as a JSON string literal.
 */

#include <nlohmann/json.hpp>
#include <string>

namespace minilm {

/** What is not UTF-8 becomes U+FFFD, as the tokenizer reads it. */
inline std::string json_text(const std::string &text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace minilm

#endif
