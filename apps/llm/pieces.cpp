#include "pieces.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "common/utf8.h"

namespace halyard_llm {

namespace {

bool is_letter(char32_t c) {
    const auto category = utf8proc_category(utf8proc_int32_t(c));
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_digit(char32_t c) {
    const auto category = utf8proc_category(utf8proc_int32_t(c));
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
    return c == '\r' || c == '\n';
}

char32_t lower(char32_t c) {
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/** Finds the end of the piece that begins at a code point. */
class Cutter {
public:
    Cutter(PieceRules rules, const std::vector<char32_t> &text, size_t end) : text_(text), rules_(rules), end_(end) {}

    size_t end_of_piece(size_t i) const {
        const bool later = rules_ == PieceRules::kLlama3 || rules_ == PieceRules::kQwen2;
        if (const size_t n = contraction(i, later)) {
            return i + n;
        }
        return later ? end_in_llama3(i) : end_in_gpt2(i);
    }

private:
    bool is(size_t i, bool (*of)(char32_t)) const {
        return i < end_ && of(text_[i]);
    }

    bool is_sign(size_t i) const {
        return i < end_ && !is_space(text_[i]) && !is_letter(text_[i]) && !is_digit(text_[i]);
    }

    size_t run(size_t i, bool (*of)(char32_t)) const {
        while (is(i, of)) {
            i++;
        }
        return i;
    }

    size_t signs(size_t i) const {
        while (is_sign(i)) {
            i++;
        }
        return i;
    }

    // 's, 't, 're, 've, 'm, 'll, 'd: how many code points.
    size_t contraction(size_t i, bool any_case) const {
        if (text_[i] != '\'' || i + 1 >= end_) {
            return 0;
        }
        const auto at = [&](size_t k) { return i + k >= end_ ? U'\0' : any_case ? lower(text_[i + k]) : text_[i + k]; };
        const char32_t a = at(1), b = at(2);
        if (a == 's' || a == 't' || a == 'm' || a == 'd') {
            return 2;
        }
        return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
    }

    // Spaces, of which the last one goes with what follows.
    size_t spaces(size_t i) const {
        const size_t end = run(i, is_space);
        return end < end_ && end - i > 1 ? end - 1 : end;
    }

    size_t end_in_gpt2(size_t i) const {
        const size_t first = text_[i] == ' ' ? i + 1 : i;
        if (is(first, is_letter)) {
            return run(first, is_letter);
        }
        if (is(first, is_digit)) {
            return run(first, is_digit);
        }
        return is_sign(first) ? signs(first) : spaces(i);
    }

    size_t end_in_llama3(size_t i) const {
        if (is(i, is_letter)) {
            return run(i, is_letter);
        }
        if (!is_line_end(text_[i]) && !is_digit(text_[i]) && is(i + 1, is_letter)) {
            return run(i + 1, is_letter);
        }
        if (is(i, is_digit)) {
            return std::min(run(i, is_digit), i + (rules_ == PieceRules::kQwen2 ? 1 : 3));
        }
        const size_t first = text_[i] == ' ' ? i + 1 : i;
        if (is_sign(first)) {
            return run(signs(first), is_line_end);
        }
        // Spaces up to the last line end among them, if there is one.
        const size_t end = run(i, is_space);
        for (size_t j = end; j > i; j--) {
            if (is_line_end(text_[j - 1])) {
                return j;
            }
        }
        return spaces(i);
    }

    const std::vector<char32_t> &text_;
    PieceRules rules_;
    size_t end_;
};

}  // namespace

bool find_piece_rules(const std::string &name, PieceRules *rules) {
    static const std::pair<const char *, PieceRules> known[] = {
        {"gpt-2", PieceRules::kGpt2},       {"smollm", PieceRules::kSmollm}, {"starcoder", PieceRules::kSmollm},
        {"llama-bpe", PieceRules::kLlama3}, {"llama3", PieceRules::kLlama3}, {"llama-v3", PieceRules::kLlama3},
        {"qwen2", PieceRules::kQwen2},      {"default", PieceRules::kGpt2},
    };
    const auto *found = std::find_if(std::begin(known), std::end(known), [&](const auto &k) { return name == k.first; });
    if (found != std::end(known)) {
        *rules = found->second;
    }
    return found != std::end(known);
}

void cut_into_pieces(PieceRules rules, std::string_view text, const std::function<void(std::string_view)> &piece) {
    std::vector<char32_t> points;
    std::vector<size_t> begins;
    for (size_t at = 0; at < text.size();) {
        begins.push_back(at);
        points.push_back(halyard_apps::decode_utf8(text, &at));
    }
    begins.push_back(text.size());
    const auto give = [&](size_t i, size_t end) { piece(text.substr(begins[i], begins[end] - begins[i])); };

    for (size_t i = 0; i < points.size();) {
        // Where digits stand alone, the text between them is a text of its own: spaces before a digit are spaces at the end of one.
        size_t end = points.size();
        if (rules == PieceRules::kSmollm) {
            if (is_digit(points[i])) {
                give(i, i + 1);
                i++;
                continue;
            }
            end = size_t(std::find_if(points.begin() + long(i), points.end(), is_digit) - points.begin());
        }
        const Cutter cutter(rules, points, end);
        while (i < end) {
            const size_t next = cutter.end_of_piece(i);
            give(i, next);
            i = next;
        }
    }
}

}  // namespace halyard_llm
