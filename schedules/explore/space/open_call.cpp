#include "explore/space/open_call.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "kernel/text.h"

namespace halyard::explore {

namespace {

// By hand, as a regular expression of the C++ library takes a piece of the stack for each character of a stranger's text.
const char *const kBlanks = " \t\r\n\v\f";

bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Where `FUNCS : open` begins and ends, and what FUNCS is.
struct Found {
    size_t begin, end;
    std::string funcs;
};

std::optional<Found> find_open(const std::string &lua, size_t from) {
    const std::string word = "open";
    for (size_t colon = lua.find(':', from); colon != std::string::npos; colon = lua.find(':', colon + 1)) {
        const size_t at = lua.find_first_not_of(kBlanks, colon + 1);
        if (at == std::string::npos || lua.compare(at, word.size(), word) != 0 ||
            (at + word.size() < lua.size() && in_word(lua[at + word.size()]))) {
            continue;
        }
        const size_t last = colon > from ? lua.find_last_not_of(kBlanks, colon - 1) : std::string::npos;
        size_t begin = last == std::string::npos ? from : last + 1;
        const size_t end = begin;
        while (begin > from && (in_word(lua[begin - 1]) || lua[begin - 1] == '.')) {
            begin--;
        }
        while (begin < end && (std::isdigit(static_cast<unsigned char>(lua[begin])) || lua[begin] == '.')) {
            begin++;
        }
        if (begin < end) {
            return Found{begin, at + word.size(), lua.substr(begin, end - begin)};
        }
    }
    return std::nullopt;
}

// A statement begins a line, or stands behind a word after which one begins.
bool begins_statement(const std::string &before) {
    const size_t last = before.find_last_not_of(kBlanks);
    if (last == std::string::npos) {
        return true;
    }
    if (before.find('\n') < last) {
        return false;  // another line's
    }
    if (before[last] == ';' || before[last] == ')') {
        return true;
    }
    for (const char *word : {"then", "else", "do"}) {
        const std::string text = before.substr(0, last + 1);
        const size_t size = std::strlen(word);
        if (last + 1 < before.size() && ends_with(text, word) && (text.size() == size || !in_word(text[text.size() - size - 1]))) {
            return true;
        }
    }
    return false;
}

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
    return find_open(lua, 0).has_value();
}

std::optional<OpenCall> find_open_call(const std::string &lua, int line) {
    size_t start = 0;
    for (int l = 1; l < line; l++) {
        start = lua.find('\n', start) + 1;
    }
    const auto found = find_open(lua, start);
    if (!found) {
        return std::nullopt;
    }
    OpenCall call;
    call.begin = found->begin;
    call.end = after_arguments(lua, found->end);
    call.funcs = found->funcs;
    call.indent = lua.substr(start, std::min(lua.find_first_not_of(" \t", start), call.begin) - start);
    return begins_statement(lua.substr(start, call.begin - start)) ? std::optional<OpenCall>(call) : std::nullopt;
}

}  // namespace halyard::explore
