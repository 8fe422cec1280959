#include "mutate.h"

#include <algorithm>
#include <cctype>

#include "support.h"

namespace {

// std::mt19937's distributions differ between libraries; this does not.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

    size_t below(size_t n) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return size_t((state_ >> 11) % n);
    }

private:
    uint64_t state_;
};

std::vector<std::string> tokens_of(const std::string &text) {
    std::vector<std::string> tokens;
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (size_t i = 0; i < text.size();) {
        size_t end = i + 1;
        if (text.compare(i, 2, "--") == 0) {
            end = std::min(text.find('\n', i), text.size());
        } else if (text[i] == '"') {
            end = std::min(text.find('"', i + 1), text.size() - 1) + 1;
        } else if (is_word(text[i]) || std::isspace(static_cast<unsigned char>(text[i]))) {
            const bool word = is_word(text[i]);
            while (end < text.size() && (word ? is_word(text[end]) : std::isspace(static_cast<unsigned char>(text[end])))) {
                end++;
            }
        }
        tokens.push_back(text.substr(i, end - i));
        i = end;
    }
    return tokens;
}

std::string joined(const std::vector<std::string> &tokens) {
    std::string s;
    for (const auto &t : tokens) {
        s += t;
    }
    return s;
}

// What a token is to Lua: one of a kind can stand for another and the text still parses.
char kind_of(const std::string &token) {
    const char c = token[0];
    return std::isdigit(static_cast<unsigned char>(c)) ? '0' : std::isalpha(static_cast<unsigned char>(c)) ? 'a' : c;
}

// A statement of `apply` taken out, said twice, or moved.
std::string with_lines_changed(const std::string &text, Random &random) {
    std::vector<std::string> lines;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
        lines.push_back(text.substr(begin, end - begin));
        begin = end;
    }
    const size_t at = random.below(lines.size()), other = random.below(lines.size());
    const std::string line = lines[at];
    switch (random.below(3)) {
    case 0: lines.erase(lines.begin() + long(at)); break;
    case 1: lines.insert(lines.begin() + long(other), line); break;
    default: lines.erase(lines.begin() + long(at)); lines.insert(lines.begin() + long(std::min(other, lines.size())), line);
    }
    return joined(lines);
}

const char *const kNasty[] = {"nil",
                              "-1",
                              "0",
                              "1e308",
                              "0/0",
                              "2^31",
                              "-2147483648",
                              "math.huge",
                              "{}",
                              "\"\"",
                              "function() end",
                              "k",
                              "p",
                              "target",
                              "...",
                              "k.y",
                              "k.x",
                              "k.y:update(0)",
                              "::l::",
                              "\"\\0\"",
                              "(\"x\"):rep(1000)",
                              "1 << 40",
                              "k.y:dim(0):extent()",
                              "#",
                              "==",
                              "//",
                              "}",
                              "{",
                              ")",
                              "(",
                              "end",
                              ",",
                              ":",
                              "."};

}  // namespace

Mutator::Mutator(std::vector<std::string> sources, std::vector<std::string> words)
    : sources_(std::move(sources)), tokens_(std::move(words)) {
    for (const auto &s : sources_) {
        for (const auto &t : tokens_of(s)) {
            if (t.compare(0, 2, "--") != 0) {
                tokens_.push_back(t);
            }
        }
    }
    tokens_.insert(tokens_.end(), std::begin(kNasty), std::end(kNasty));
}

std::string Mutator::like(const std::string &token, size_t random) const {
    for (size_t i = 0; i < tokens_.size(); i++) {
        const std::string &t = tokens_[(random + i) % tokens_.size()];
        if (kind_of(t) == kind_of(token) && t != token) {
            return t;
        }
    }
    return token;
}

std::string Mutator::variant(uint64_t seed) const {
    Random random(seed);
    if (random.below(10) == 0) {
        std::string soup = "return schedule \"op\" { apply = function(k, p, target) ";
        for (size_t n = random.below(60); n > 0; n--) {
            soup += tokens_[random.below(tokens_.size())] + " ";
        }
        return soup + " end }";
    }
    std::string text = sources_[random.below(sources_.size())];
    if (random.below(8) == 0) {  // bytes
        for (size_t n = 1 + random.below(4); n > 0; n--) {
            text[random.below(text.size())] = char(random.below(256));
        }
        return text;
    }
    if (random.below(2) == 0) {
        for (size_t n = random.below(3); n > 0; n--) {
            text = with_lines_changed(text, random);
        }
        std::vector<std::string> tokens = tokens_of(text);
        for (size_t n = random.below(3); n > 0; n--) {
            std::string &token = tokens[random.below(tokens.size())];
            if (kind_of(token) == '0' || kind_of(token) == 'a' || kind_of(token) == '"') {
                token = like(token, random.below(tokens_.size()));
            }
        }
        return joined(tokens);
    }
    std::vector<std::string> tokens = tokens_of(text);
    for (size_t n = 1 + random.below(4); n > 0; n--) {
        const size_t at = random.below(tokens.size()), other = random.below(tokens.size());
        switch (random.below(6)) {
        case 0: tokens[at] = tokens_[random.below(tokens_.size())]; break;
        case 1: tokens.erase(tokens.begin() + long(at)); break;
        case 2: tokens.insert(tokens.begin() + long(at), tokens[other]); break;
        case 3: std::swap(tokens[at], tokens[other]); break;
        case 4: tokens[at] = kNasty[random.below(std::size(kNasty))]; break;
        default: {
            // A statement once more, or in another place.
            const size_t end = std::min(tokens.size(), other + 1 + random.below(12));
            const std::vector<std::string> piece(tokens.begin() + long(other), tokens.begin() + long(end));
            tokens.insert(tokens.begin() + long(at), piece.begin(), piece.end());
        }
        }
        if (tokens.empty()) {
            break;
        }
    }
    return joined(tokens);
}

std::vector<std::string> scripts_in(const std::string &dir) {
    std::vector<std::string> scripts;
    for (const auto &name : files_in(dir)) {
        if (name.size() > 4 && name.compare(name.size() - 4, 4, ".lua") == 0) {
            scripts.push_back(read_file(dir + "/" + name));
        }
    }
    return scripts;
}
