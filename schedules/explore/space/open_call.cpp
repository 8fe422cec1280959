#include "explore/space/open_call.h"

#include <regex>

namespace halyard::explore {

namespace {

const std::regex kOpen("([A-Za-z_][A-Za-z0-9_.]*)\\s*:\\s*open\\b");

// Behind a string that begins at a quotation mark.
size_t after_string(const std::string &lua, size_t at) {
    const char quote = lua[at];
    for (at++; at < lua.size() && lua[at] != quote; at++) {
        at += lua[at] == '\\';
    }
    return std::min(at + 1, lua.size());
}

size_t skip_blanks(const std::string &lua, size_t at) {
    const size_t next = lua.find_first_not_of(" \t\r\n", at);
    return next == std::string::npos ? lua.size() : next;
}

bool is_quote(char c) {
    return c == '"' || c == '\'';
}

// Behind the arguments of a call: a string, or what stands in parentheses.
size_t after_arguments(const std::string &lua, size_t at) {
    at = skip_blanks(lua, at);
    if (at < lua.size() && is_quote(lua[at])) {
        return after_string(lua, at);
    }
    int depth = 0;
    while (at < lua.size()) {
        if (is_quote(lua[at])) {
            at = after_string(lua, at);
            continue;
        }
        if (lua.compare(at, 2, "--") == 0) {
            at = std::min(lua.find('\n', at), lua.size());
            continue;
        }
        depth += lua[at] == '(' ? 1 : lua[at] == ')' ? -1 : 0;
        at++;
        if (depth <= 0) {
            break;
        }
    }
    return at;
}

}  // namespace

bool has_open_call(const std::string &lua) {
    return std::regex_search(lua, kOpen);
}

std::optional<OpenCall> find_open_call(const std::string &lua, int line) {
    size_t start = 0;
    for (int l = 1; l < line; l++) {
        start = lua.find('\n', start) + 1;
    }
    std::smatch m;
    if (!std::regex_search(lua.begin() + std::ptrdiff_t(start), lua.end(), m, kOpen)) {
        return std::nullopt;
    }
    OpenCall call;
    call.begin = start + size_t(m.position(0));
    call.end = after_arguments(lua, call.begin + size_t(m.length(0)));
    call.funcs = m[1];
    call.indent = lua.substr(start, std::min(lua.find_first_not_of(" \t", start), call.begin) - start);
    // A statement begins a line, or stands behind a word after which one begins.
    static const std::regex kBegins("\\s*|.*(\\b(then|else|do)\\s+|[;)]\\s*)");
    const std::string before = lua.substr(start, call.begin - start);
    return std::regex_match(before, kBegins) ? std::optional<OpenCall>(call) : std::nullopt;
}

}  // namespace halyard::explore
