#include "kernel/json_text.h"

#include "kernel/failure.h"

namespace halyard {

namespace {

// The library writes and frees as deep as a value is; what is ours has a depth below ten.
bool is_too_deep(const std::string &text) {
    constexpr int kDeepest = 100;
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size() && depth <= kDeepest; i++) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\' ? 1 : 0;
            quoted = c != '"';
        } else {
            quoted = c == '"';
            depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        }
    }
    return depth > kDeepest;
}

}  // namespace

nlohmann::json parse_json(const std::string &text) {
    if (is_too_deep(text)) {
        throw Failure("error: JSON that is nested more than 100 deep");
    }
    return nlohmann::json::parse(text);
}

nlohmann::json parse_if_json(const std::string &text) {
    return is_too_deep(text) ? nlohmann::json(nlohmann::json::value_t::discarded) : nlohmann::json::parse(text, nullptr, false);
}

}  // namespace halyard
