#include "common/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace halyard_apps {

char32_t decode_utf8(std::string_view text, size_t *position) {
    const uint8_t lead = uint8_t(text[(*position)++]);
    if (lead < 0x80) {
        return lead;
    }
    // The second byte's range is narrower after some lead bytes: that keeps out
    // overlong forms, surrogates and what lies above U+10FFFF.
    int following = 0;
    uint8_t low = 0x80, high = 0xBF;
    char32_t c = 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
        following = 1;
        c = lead & 0x1F;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        following = 2;
        c = lead & 0x0F;
        low = lead == 0xE0 ? 0xA0 : 0x80;
        high = lead == 0xED ? 0x9F : 0xBF;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        following = 3;
        c = lead & 0x07;
        low = lead == 0xF0 ? 0x90 : 0x80;
        high = lead == 0xF4 ? 0x8F : 0xBF;
    } else {
        return replacement_character;
    }
    for (int i = 0; i < following; i++) {
        if (*position >= text.size()) {
            return replacement_character;
        }
        const uint8_t next = uint8_t(text[*position]);
        if (next < low || next > high) {
            return replacement_character;
        }
        c = (c << 6) | (next & 0x3F);
        low = 0x80;
        high = 0xBF;
        ++*position;
    }
    return c;
}

void append_utf8(char32_t c, std::string *text) {
    const auto tail = [&](int shift) { return char(0x80 | ((c >> shift) & 0x3F)); };
    if (c < 0x80) {
        *text += char(c);
    } else if (c < 0x800) {
        *text += char(0xC0 | (c >> 6));
        *text += tail(0);
    } else if (c < 0x10000) {
        *text += char(0xE0 | (c >> 12));
        *text += tail(6);
        *text += tail(0);
    } else {
        *text += char(0xF0 | (c >> 18));
        *text += tail(12);
        *text += tail(6);
        *text += tail(0);
    }
}

bool controls_terminal(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

std::string visible(const std::string &text, std::string_view kept, size_t most) {
    std::string result;
    for (size_t position = 0; position < std::min(text.size(), most);) {
        const char32_t c = decode_utf8(text, &position);
        if (controls_terminal(c) && (c >= 0x80 || kept.find(char(c)) == std::string_view::npos)) {
            result += fmt::format("\\u{:04x}", unsigned(c));
        } else {
            append_utf8(c, &result);
        }
    }
    return result;
}

}  // namespace halyard_apps
