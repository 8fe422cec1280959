#include "kernel/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel/terminal_guard.h"
#include "kernel/text.h"

namespace halyard {

namespace {

bool colour_on(int fd) {
    const char *no_color = std::getenv("NO_COLOR");
    const char *term = std::getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && term && std::strcmp(term, "dumb") != 0;
}

size_t terminal_width(int fd) {
    winsize size = {};
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0) {
        return 0;
    }
    return size.ws_col == 0 ? 80 : size.ws_col;
}

std::string wrap(Colour colour, const std::string &text) {
    static const char *const kCodes[] = {"0", "31", "32", "33", "2", "1"};
    return own_control(fmt::format("\x1b[{}m", kCodes[static_cast<int>(colour)])) + text + own_control("\x1b[0m");
}

}  // namespace

std::string paint(Colour colour, const std::string &text) {
    static const bool on = colour_on(STDOUT_FILENO);
    return on && colour != Colour::kNone ? wrap(colour, text) : text;
}

size_t output_width() {
    const char *forced = std::getenv("COLUMNS");
    if (forced && std::atoi(forced) > 0) {
        return static_cast<size_t>(std::atoi(forced));
    }
    return terminal_width(STDOUT_FILENO);
}

void print_rows(const std::vector<std::vector<std::string>> &rows, size_t left) {
    std::vector<size_t> widths;
    for (const auto &row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); i++) {
            widths[i] = std::max(widths[i], columns(row[i]));
        }
    }
    for (size_t r = 0; r < rows.size(); r++) {
        std::string line;
        for (size_t i = 0; i < rows[r].size(); i++) {
            const std::string blanks(widths[i] - columns(rows[r][i]), ' ');
            line += (i ? "  " : "") + (i < left ? rows[r][i] + blanks : blanks + rows[r][i]);
        }
        fmt::print("{}\n", paint(r == 0 ? Colour::kBold : Colour::kNone, trim(line)));
    }
}

void print_error(const std::string &message) {
    // A message about a file has its own "file:line: error:", as editors want it.
    const bool has_place = message.find(": error: ") != std::string::npos || starts_with(message, "error: ");
    const std::string label = colour_on(STDERR_FILENO) ? wrap(Colour::kRed, "error:") : "error:";
    // Not fmt::print(), which throws where standard error is full.
    std::fputs(((has_place ? "" : label + " ") + message + "\n").c_str(), stderr);
}

Progress::~Progress() {
    if (shown_) {
        fmt::print(stderr, "{}", own_control("\r\x1b[K"));
        std::fflush(stderr);
    }
}

void Progress::say(const std::string &text) {
    static const size_t width = terminal_width(STDERR_FILENO);
    if (width > 1) {
        fmt::print(stderr, "{}{}", own_control("\r\x1b[K"), trim(fit(text, width - 1)));
        std::fflush(stderr);
        shown_ = true;
    }
}

}  // namespace halyard
