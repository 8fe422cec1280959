#include "kernel/json_text.h"

#include <fmt/format.h>

#include "kernel/failure.h"

namespace halyard {

namespace {

constexpr int kDeepest = 100, kMostValues = 4'000'000;

// The library writes and frees as deep as a value is, and takes twenty times the memory of its text. What is ours has a depth below ten,
// and a million values at most.
bool is_too_much(const std::string &text) {
    int depth = 0, values = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size() && depth <= kDeepest && values <= kMostValues; i++) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\' ? 1 : 0;
            quoted = c != '"';
        } else {
            quoted = c == '"';
            depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
            values += c == '[' || c == '{' || c == ',' || c == ':';
        }
    }
    return depth > kDeepest || values > kMostValues;
}

}  // namespace

nlohmann::json parse_json(const std::string &text) {
    if (is_too_much(text)) {
        throw Failure(fmt::format("error: JSON that is nested more than {} deep or has more than {} values", kDeepest, kMostValues));
    }
    return nlohmann::json::parse(text);
}

nlohmann::json parse_if_json(const std::string &text) {
    return is_too_much(text) ? nlohmann::json(nlohmann::json::value_t::discarded) : nlohmann::json::parse(text, nullptr, false);
}

}  // namespace halyard
