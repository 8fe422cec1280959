#ifndef HALYARD_APPS_UTF8_H
#define HALYARD_APPS_UTF8_H

/** \file
 * UTF-8 in and out. What is not UTF-8 reads as U+FFFD.
 */

#include <cstddef>
#include <string>
#include <string_view>

namespace halyard_apps {

constexpr char32_t replacement_character = 0xFFFD;

/** The code point at text[*position], which moves behind it. A broken sequence
 * gives one U+FFFD for its longest valid beginning, as Unicode recommends and
 * as Python's decode(errors="replace") does. */
char32_t decode_utf8(std::string_view text, size_t *position);

void append_utf8(char32_t c, std::string *text);

/** Whether a terminal would obey the code point instead of showing it: control characters of ASCII and of
 * Latin-1, line ends, and those that turn the order of reading (Unicode Bidirectional Algorithm, UAX #9). */
bool controls_terminal(char32_t c);

/** The beginning of a text with \u001b and the like in place of what controls a terminal; `kept` stays. */
std::string visible(const std::string &text, std::string_view kept, size_t most = std::string::npos);

}  // namespace halyard_apps

#endif
