#include "command/wrapped_text.h"

#include <algorithm>

#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

std::vector<std::string> wrapped(const std::string &text, size_t width) {
    std::vector<std::string> lines;
    std::string line;
    for (const auto &word : split(text, ' ')) {
        if (!line.empty() && columns(line) + 1 + columns(word) > width) {
            lines.push_back(line);
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    if (!line.empty() || lines.empty()) {
        lines.push_back(line);
    }
    return lines;
}

std::string beside(const std::string &head, const std::string &text, size_t left, size_t width) {
    const auto lines = wrapped(text, width > left + 20 ? width - left : 20);
    const std::string indent(left, ' ');
    std::string result = head;
    size_t first = 0;
    if (columns(head) + 2 <= left) {
        result += std::string(left - columns(head), ' ') + lines[0];
        first = 1;
    }
    result += "\n";
    for (size_t i = first; i < lines.size(); i++) {
        result += lines[i].empty() ? "" : indent + lines[i] + "\n";
    }
    return result;
}

size_t prose_width() {
    const size_t width = output_width();
    return width == 0 ? 80 : std::clamp<size_t>(width, 40, 100);
}

}  // namespace halyard
