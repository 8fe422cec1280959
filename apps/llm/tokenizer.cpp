#include "tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>

#include "common/utf8.h"

namespace halyard_llm {

namespace {

constexpr size_t kMostTokens = 1 << 22, kMostBytesOfToken = 1 << 16;
const char *const kSpace = "\xE2\x96\x81";  // U+2581, which scored vocabularies have for a space

/** The code points by which GPT-2's vocabularies write bytes: those that can be seen stand for themselves. */
std::array<char32_t, 256> points_of_bytes() {
    std::array<char32_t, 256> points{};
    char32_t next = 256;
    for (int b = 0; b < 256; b++) {
        const bool seen = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        points[size_t(b)] = seen ? char32_t(b) : next++;
    }
    return points;
}

std::string utf8_of(char32_t c) {
    std::string text;
    halyard_apps::append_utf8(c, &text);
    return text;
}

/** What chat.cpp puts around messages. */
bool is_mark(std::string_view name) {
    constexpr std::string_view kMarks[] = {"<|im_start|>",
                                           "<|im_end|>",
                                           "<|start_header_id|>",
                                           "<|end_header_id|>",
                                           "<|eot_id|>",
                                           "<|eom_id|>",
                                           "<start_of_turn>",
                                           "<end_of_turn>",
                                           "[INST]",
                                           "[/INST]",
                                           "<|endoftext|>",
                                           "<|end_of_text|>",
                                           "</s>",
                                           "<|begin_of_text|>",
                                           "<s>"};
    return std::find(std::begin(kMarks), std::end(kMarks), name) != std::end(kMarks);
}

uint64_t pair_of(int32_t left, int32_t right) {
    return (uint64_t(uint32_t(left)) << 32) | uint32_t(right);
}

/** A part of a text that is, or may become, a token. Neighbours are a list, as two become one. */
struct Symbol {
    size_t begin, bytes;
    int32_t token;  // -1: none
    int previous, next;
};

/** Two neighbours that may be joined; the lowest rank first, then the leftmost. */
struct Join {
    double rank;
    int left, right;
    size_t bytes;  // of both, by which is known whether they are what they were
    int32_t token;

    bool operator<(const Join &other) const {
        return rank != other.rank ? rank > other.rank : left > other.left;
    }
};

/** Joins neighbours until no two can be. `rank_of(left, right, &token)` is infinite where they cannot. */
template<typename Rank>
void join_all(std::vector<Symbol> *symbols, const Rank &rank_of) {
    std::priority_queue<Join> queue;
    const auto offer = [&](int left, int right) {
        if (left < 0 || right < 0) {
            return;
        }
        const Symbol &l = (*symbols)[size_t(left)], &r = (*symbols)[size_t(right)];
        int32_t token = -1;
        const double rank = rank_of(l, r, &token);
        if (rank < std::numeric_limits<double>::infinity()) {
            queue.push({rank, left, right, l.bytes + r.bytes, token});
        }
    };
    for (int i = 0; i + 1 < int(symbols->size()); i++) {
        offer(i, i + 1);
    }
    while (!queue.empty()) {
        const Join join = queue.top();
        queue.pop();
        Symbol &l = (*symbols)[size_t(join.left)], &r = (*symbols)[size_t(join.right)];
        if (l.bytes == 0 || r.bytes == 0 || l.bytes + r.bytes != join.bytes) {
            continue;  // one of them has been joined with another since
        }
        l.bytes += r.bytes;
        l.token = join.token;
        r.bytes = 0;
        l.next = r.next;
        if (r.next >= 0) {
            (*symbols)[size_t(r.next)].previous = join.left;
        }
        offer(l.previous, join.left);
        offer(join.left, l.next);
    }
}

void link(std::vector<Symbol> *symbols) {
    const int count = int(symbols->size());
    for (int i = 0; i < count; i++) {
        (*symbols)[size_t(i)].previous = i - 1;
        (*symbols)[size_t(i)].next = i + 1 < count ? i + 1 : -1;
    }
}

}  // namespace

Tokenizer::Tokenizer(const Gguf &file) {
    const std::string model = file.text("tokenizer.ggml.model");
    scored_ = model == "llama";
    if (!scored_ && model != "gpt2") {
        throw std::runtime_error(fmt::format("{}: its tokenizer is '{}', and this program has gpt2 (byte-level BPE) and llama (pieces with "
                                             "scores): take a model with one of them",
                                             shown(file.name()), shown(model)));
    }
    tokens_ = file.texts("tokenizer.ggml.tokens");
    if (tokens_.empty() || tokens_.size() > kMostTokens) {
        file.fail(fmt::format("its vocabulary has {} tokens", tokens_.size()));
    }
    ids_.reserve(tokens_.size());
    for (size_t i = 0; i < tokens_.size(); i++) {
        if (tokens_[i].size() > kMostBytesOfToken) {
            file.fail(fmt::format("token {} has {} bytes, and {} are the most", i, tokens_[i].size(), kMostBytesOfToken));
        }
        ids_.emplace(tokens_[i], int32_t(i));
        longest_ = std::max(longest_, tokens_[i].size());
    }
    read_kinds(file);
    bytes_.assign(256, -1);
    if (scored_) {
        scores_ = file.numbers("tokenizer.ggml.scores");
        if (scores_.size() != tokens_.size()) {
            file.fail(fmt::format("{} tokens have {} scores", tokens_.size(), scores_.size()));
        }
        for (int b = 0; b < 256; b++) {
            bytes_[size_t(b)] = find(fmt::format("<0x{:02X}>", b));
        }
        space_first_ = file.boolean_or("tokenizer.ggml.add_space_prefix", true);
    } else {
        const std::string rules = file.text_or("tokenizer.ggml.pre", "gpt-2");
        if (!find_piece_rules(rules, &rules_)) {
            throw std::runtime_error(fmt::format("{}: its texts are cut into pieces as by '{}', and this program knows gpt-2, smollm, "
                                                 "starcoder, llama-bpe and qwen2: take a model with one of them",
                                                 shown(file.name()), shown(rules)));
        }
        const auto points = points_of_bytes();
        for (size_t b = 0; b < 256; b++) {
            bytes_[b] = find(utf8_of(points[b]));
        }
        read_merges(file);
    }
    read_specials(file);
}

void Tokenizer::read_kinds(const Gguf &file) {
    kinds_.assign(tokens_.size(), kNormal);
    if (!file.has("tokenizer.ggml.token_type")) {
        return;
    }
    const std::vector<int64_t> kinds = file.integers("tokenizer.ggml.token_type");
    if (kinds.size() != tokens_.size()) {
        file.fail(fmt::format("{} tokens have {} types", tokens_.size(), kinds.size()));
    }
    for (size_t i = 0; i < kinds.size(); i++) {
        kinds_[i] = kinds[i] >= kNormal && kinds[i] <= kByte ? uint8_t(kinds[i]) : uint8_t(kNormal);
    }
}

void Tokenizer::read_merges(const Gguf &file) {
    const std::vector<std::string_view> &merges = file.texts("tokenizer.ggml.merges");
    if (merges.size() > kMostTokens) {
        file.fail(fmt::format("its vocabulary has {} merges", merges.size()));
    }
    merges_.reserve(merges.size());
    std::string joined;
    for (size_t i = 0; i < merges.size(); i++) {
        // A part may begin with what looks like the space between both: it is not the first byte.
        const size_t space = merges[i].find(' ', 1);
        if (space == std::string_view::npos) {
            file.fail(fmt::format("merge {}, '{}', has not two parts", i, shown(merges[i])));
        }
        const std::string_view left = merges[i].substr(0, space), right = merges[i].substr(space + 1);
        joined.assign(left).append(right);
        const auto l = ids_.find(left), r = ids_.find(right), both = ids_.find(joined);
        if (l != ids_.end() && r != ids_.end() && both != ids_.end()) {
            merges_.emplace(pair_of(l->second, r->second), std::pair(int32_t(i), both->second));
        }
    }
}

void Tokenizer::read_specials(const Gguf &file) {
    const auto id = [&](const char *key, int32_t otherwise) {
        return int32_t(file.integer_or(key, otherwise, -1, int64_t(tokens_.size()) - 1));
    };
    begin_ = id("tokenizer.ggml.bos_token_id", -1);
    unknown_ = id("tokenizer.ggml.unknown_token_id", -1);
    add_begin_ = file.boolean_or("tokenizer.ggml.add_bos_token", scored_ || rules_ == PieceRules::kLlama3);
    for (const char *key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
        ends_.push_back(id(key, -1));
    }
    // Some files have the marks of conversations as words of their own, which a text may hold: a question could end its message.
    for (size_t i = 0; i < tokens_.size(); i++) {
        const bool mark = is_mark(tokens_[i]) || int32_t(i) == begin_ || is_end(int32_t(i));
        kinds_[i] = mark && kinds_[i] == kOwn ? uint8_t(kControl) : kinds_[i];
    }
    // Files name one end; conversations have another.
    for (const char *name : {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "</s>"}) {
        const int32_t token = find(name);
        if (token >= 0 && kinds_[size_t(token)] == kControl) {
            ends_.push_back(token);
        }
    }
    std::vector<std::pair<std::string_view, int32_t>> specials, own;
    for (size_t i = 0; i < tokens_.size(); i++) {
        if ((kinds_[i] == kControl || kinds_[i] == kOwn) && !tokens_[i].empty()) {
            specials.emplace_back(tokens_[i], int32_t(i));
        }
        if (kinds_[i] == kOwn && !tokens_[i].empty()) {
            own.emplace_back(tokens_[i], int32_t(i));
        }
    }
    specials_ = LongestNames(std::move(specials));
    own_ = LongestNames(std::move(own));
}

int32_t Tokenizer::find(const std::string &name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? -1 : found->second;
}

bool Tokenizer::is_end(int32_t token) const {
    return token >= 0 && std::find(ends_.begin(), ends_.end(), token) != ends_.end();
}

void Tokenizer::begin(std::vector<int32_t> *tokens) const {
    if (add_begin_ && begin_ >= 0) {
        tokens->push_back(begin_);
    }
}

void Tokenizer::encode(std::string_view text, bool special, std::vector<int32_t> *tokens) const {
    const LongestNames &names = special ? specials_ : own_;
    size_t begin = 0;
    bool first = true;
    const auto flush = [&](size_t end) {
        if (end > begin) {
            encode_text(text.substr(begin, end - begin), first, tokens);
            first = false;
        }
    };
    for (size_t at = 0; at < text.size();) {
        const auto [found, bytes] = names.at_begin_of(text.substr(at));
        if (found < 0) {
            at++;
            continue;
        }
        flush(at);
        tokens->push_back(found);
        at += bytes;
        begin = at;
    }
    flush(text.size());
}

void Tokenizer::encode_text(std::string_view text, bool first, std::vector<int32_t> *tokens) const {
    if (!scored_) {
        cut_into_pieces(rules_, text, [&](std::string_view piece) { encode_bpe(piece, tokens); });
        return;
    }
    std::string spaced = first && space_first_ ? kSpace : "";
    for (const char c : text) {
        if (c == ' ') {
            spaced += kSpace;
        } else {
            spaced += c;
        }
    }
    encode_scored(spaced, tokens);
}

void Tokenizer::add_unknown(std::string_view symbol, std::vector<int32_t> *tokens) const {
    for (const char c : symbol) {
        const int32_t token = bytes_[uint8_t(c)] >= 0 ? bytes_[uint8_t(c)] : unknown_;
        if (token >= 0) {
            tokens->push_back(token);
        }
    }
}

void Tokenizer::encode_bpe(std::string_view piece, std::vector<int32_t> *tokens) const {
    if (rules_ == PieceRules::kLlama3) {  // a piece that is a token is that one, whatever merges say
        static const auto points = points_of_bytes();
        std::string name;
        for (const char c : piece) {
            halyard_apps::append_utf8(points[uint8_t(c)], &name);
        }
        const int32_t whole = find(name);
        if (whole >= 0) {
            tokens->push_back(whole);
            return;
        }
    }
    std::vector<Symbol> symbols;
    for (size_t i = 0; i < piece.size(); i++) {
        symbols.push_back({i, 1, bytes_[uint8_t(piece[i])], -1, -1});
    }
    link(&symbols);
    join_all(&symbols, [&](const Symbol &l, const Symbol &r, int32_t *token) {
        const auto found = merges_.find(pair_of(l.token, r.token));
        if (found == merges_.end()) {
            return std::numeric_limits<double>::infinity();
        }
        *token = found->second.second;
        return double(found->second.first);
    });
    for (const Symbol &s : symbols) {
        if (s.bytes > 0 && s.token >= 0) {
            tokens->push_back(s.token);
        } else if (s.bytes > 0) {
            add_unknown(piece.substr(s.begin, s.bytes), tokens);
        }
    }
}

void Tokenizer::encode_scored(std::string_view text, std::vector<int32_t> *tokens) const {
    std::vector<Symbol> symbols;
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        halyard_apps::decode_utf8(text, &at);
        const auto found = ids_.find(text.substr(begin, at - begin));
        symbols.push_back({begin, at - begin, found == ids_.end() ? -1 : found->second, -1, -1});
    }
    link(&symbols);
    join_all(&symbols, [&](const Symbol &l, const Symbol &r, int32_t *token) {
        const bool may_be = l.bytes + r.bytes <= longest_;
        const auto found = may_be ? ids_.find(text.substr(l.begin, l.bytes + r.bytes)) : ids_.end();
        if (found == ids_.end()) {
            return std::numeric_limits<double>::infinity();
        }
        *token = found->second;
        return -double(scores_[size_t(found->second)]);
    });
    for (const Symbol &s : symbols) {
        if (s.bytes > 0 && s.token >= 0) {
            tokens->push_back(s.token);
        } else if (s.bytes > 0) {
            add_unknown(text.substr(s.begin, s.bytes), tokens);
        }
    }
}

std::string Tokenizer::text_of(int32_t token, bool special) const {
    if (token < 0 || token >= size()) {
        return "";
    }
    const std::string_view name = tokens_[size_t(token)];
    const int kind = kinds_[size_t(token)];
    if (kind == kControl || kind == kUnknown || kind == kUnused) {
        return special ? std::string(name) : "";
    }
    if (kind == kOwn) {
        return std::string(name);
    }
    std::string text;
    if (scored_) {
        if (kind == kByte && name.size() == 6) {
            for (int b = 0; b < 256; b++) {
                if (bytes_[size_t(b)] == token) {
                    return std::string(1, char(b));
                }
            }
        }
        for (size_t at = 0; at < name.size();) {
            if (name.compare(at, 3, kSpace) == 0) {
                text += ' ';
                at += 3;
            } else {
                text += name[at++];
            }
        }
        return text;
    }
    static const auto byte_of = [] {
        std::map<char32_t, char> bytes;
        const auto points = points_of_bytes();
        for (size_t b = 0; b < 256; b++) {
            bytes[points[b]] = char(b);
        }
        return bytes;
    }();
    for (size_t at = 0; at < name.size();) {
        const char32_t c = halyard_apps::decode_utf8(name, &at);
        const auto found = byte_of.find(c);
        if (found != byte_of.end()) {
            text += found->second;
        } else {
            halyard_apps::append_utf8(c, &text);
        }
    }
    return text;
}

}  // namespace halyard_llm
