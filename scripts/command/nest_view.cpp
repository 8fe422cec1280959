#include "command/nest_view.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

std::vector<std::string> beside_source(const nlohmann::json &nest, const std::string &script, size_t width) {
    size_t left = 0;
    for (const auto &l : nest) {
        left = std::max(left, columns(l.value("text", "")));
    }
    // The nest is what cannot be guessed from a part of it, so it gets up to three fifths.
    if (width > 0) {
        left = std::min(left, width * 3 / 5);
    }
    std::vector<std::string> lines;
    std::string last;
    for (const auto &l : nest) {
        const std::string text = l.value("text", ""), file = l.value("file", "");
        const std::string place =
            (file == script ? "" : std::filesystem::path(file).filename().string() + ":") + std::to_string(l.value("line", 0));
        std::string note;
        if (!file.empty()) {
            note = place == last ? fmt::format("{:>4}  \"", "") : fmt::format("{:>4}  {}", place, l.value("source", ""));
        }
        last = file.empty() ? "" : place;
        const std::string line = note.empty() ? text : fit(text, left) + "  | " + note;
        lines.push_back(trim(line).empty() ? "" : width > 0 && columns(line) > width ? fit(line, width) : line);
    }
    return lines;
}

// By the longest common subsequence; nests have tens of lines.
std::vector<DiffLine> diff(const std::vector<std::string> &before, const std::vector<std::string> &after) {
    const size_t n = before.size(), m = after.size();
    std::vector<std::vector<size_t>> common(n + 1, std::vector<size_t>(m + 1));
    for (size_t i = n; i-- > 0;) {
        for (size_t j = m; j-- > 0;) {
            common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
        }
    }
    std::vector<DiffLine> lines;
    for (size_t i = 0, j = 0; i < n || j < m;) {
        if (i < n && j < m && before[i] == after[j]) {
            lines.push_back({' ', after[j]});
            i++, j++;
        } else if (j == m || (i < n && common[i + 1][j] >= common[i][j + 1])) {
            lines.push_back({'-', before[i++]});
        } else {
            lines.push_back({'+', after[j++]});
        }
    }
    return lines;
}

}  // namespace halyard
