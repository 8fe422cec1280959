#ifndef HALYARD_COMMAND_WRAPPED_TEXT_H
#define HALYARD_COMMAND_WRAPPED_TEXT_H

/** \file
 * Text in lines of a width.
 */

#include <string>
#include <vector>

namespace halyard {

/** Lines of at most `width` columns, cut at blanks; a longer word stands alone. */
std::vector<std::string> wrapped(const std::string &text, size_t width);

/** `head`, and `text` beside it from column `left` on, or below it where the head is too long. Every line ends with a newline. */
std::string beside(const std::string &head, const std::string &text, size_t left, size_t width);

/** How wide prose is: the terminal, but neither less than 40 columns nor more than 100; 80 where there is none. */
size_t prose_width();

}  // namespace halyard

#endif
