#ifndef HALYARD_COMMAND_TERMINAL_H
#define HALYARD_COMMAND_TERMINAL_H

/** \file
 * What is shown where: colours and width of standard output, progress on standard error.
 */

#include <string>
#include <vector>

namespace halyard {

enum class Colour { kNone, kRed, kGreen, kYellow, kDim, kBold };

/** The text in a colour where standard output is a terminal and NO_COLOR is not set. */
std::string paint(Colour colour, const std::string &text);

/** Columns of standard output's terminal; 0 (no limit) where it is none. */
size_t output_width();

/** Columns as wide as their widest cell, the first `left` of them to the left and the others to the right; the first row is
 * the head. */
void print_rows(const std::vector<std::vector<std::string>> &rows, size_t left = 1);

/** "error: " in red where standard error is a terminal, then the message. */
void print_error(const std::string &message);

/** A line on standard error that the next one overwrites; nothing where that is no terminal. */
class Progress {
public:
    ~Progress();
    void say(const std::string &text);

private:
    bool shown_ = false;
};

}  // namespace halyard

#endif
