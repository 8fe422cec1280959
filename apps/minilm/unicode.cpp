#include "unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace minilm {

namespace {

struct CodePointRange {
    char32_t first, last;
};

struct CodePointPair {
    char32_t from, to;
};

#include "unicode_differences.inc"

template<size_t N>
bool is_in(const CodePointRange (&ranges)[N], char32_t c) {
    const auto *it =
        std::lower_bound(std::begin(ranges), std::end(ranges), c, [](const CodePointRange &r, char32_t c) { return r.last < c; });
    return it != std::end(ranges) && it->first <= c;
}

}  // namespace

bool is_white_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_dropped(char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') {
        return false;
    }
    if (c == 0 || c == 0xFFFD) {
        return true;
    }
    switch (utf8proc_category(utf8proc_int32_t(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO: return !is_in(kept_controls, c);
    default: return false;
    }
}

bool is_ideograph(char32_t c) {
    // `tokenizers` has 2B920 where BERT's Python code has 2B820; it decides.
    static constexpr CodePointRange blocks[] = {
        {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
        {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
    };
    return is_in(blocks, c);
}

bool is_accent(char32_t c) {
    if (utf8proc_category(utf8proc_int32_t(c)) == UTF8PROC_CATEGORY_MN) {
        return !is_in(kept_marks, c);
    }
    return is_in(stripped_others, c);
}

bool is_punctuation(char32_t c) {
    if (c < 0x80) {
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    }
    switch (utf8proc_category(utf8proc_int32_t(c))) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return !is_in(not_punctuation, c);
    default: return is_in(also_punctuation, c);
    }
}

int combining_class(char32_t c) {
    const int result = utf8proc_get_property(utf8proc_int32_t(c))->combining_class;
    return result != 0 && is_in(kept_in_place, c) ? 0 : result;
}

char32_t to_lower(char32_t c) {
    const auto *it = std::lower_bound(std::begin(lowercase_differences), std::end(lowercase_differences), c,
                                      [](const CodePointPair &p, char32_t c) { return p.from < c; });
    if (it != std::end(lowercase_differences) && it->from == c) {
        return it->to;
    }
    return char32_t(utf8proc_tolower(utf8proc_int32_t(c)));
}

void decompose(char32_t c, std::vector<char32_t> *result) {
    if (c < 0x80 || is_in(kept_composed, c)) {
        result->push_back(c);
        return;
    }
    // The longest canonical decomposition has 4 code points.
    utf8proc_int32_t parts[16];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(utf8proc_int32_t(c), parts, std::size(parts), UTF8PROC_DECOMPOSE, &boundary);
    for (int i = 0; i < count; i++) {
        result->push_back(char32_t(parts[i]));
    }
}

}  // namespace minilm
