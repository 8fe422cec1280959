#include "language/diagnostics.h"

#include <algorithm>

namespace halyard {

namespace {

// Optimal string alignment distance: like Levenshtein's, with a swap of neighbours as one edit,
// since that is the most frequent typo.
size_t edit_distance(const std::string &a, const std::string &b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); i++) {
        for (size_t j = 0; j <= b.size(); j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            const size_t swap = a[i - 1] == b[j - 1] ? 0 : 1;
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + swap});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[a.size()][b.size()];
}

}  // namespace

std::string without_control_characters(std::string text) {
    for (char &c : text) {
        const auto u = static_cast<unsigned char>(c);
        if ((u < ' ' && c != '\n' && c != '\t') || u == 127) {
            c = '?';
        }
    }
    return text;
}

std::string printable(std::string text) {
    constexpr size_t kMost = 4000;
    if (text.size() > kMost) {
        text.resize(kMost);
        text += " ...";
    }
    return without_control_characters(std::move(text));
}

std::string Diagnostic::text() const {
    std::string s = file;
    if (line > 0) {
        s += ":" + std::to_string(line);
    }
    s += s.empty() ? "error: " : ": error: ";
    if (!word.empty()) {
        s += word + ": ";
    }
    s += message;
    if (!inside.empty()) {
        s += "\n  in " + inside;
    }
    if (!hint.empty()) {
        s += "\n  " + hint;
    }
    return s;
}

std::string nearest(const std::string &name, const std::vector<std::string> &candidates) {
    constexpr size_t kLongest = 200;  // the distance takes time and memory of the square
    std::string best;
    if (name.size() > kLongest) {
        return best;
    }
    size_t best_distance = std::max<size_t>(1, (name.size() + 1) / 3) + 1;
    for (const auto &c : candidates) {
        // Lengths that differ by more cannot win; a hostile name may be megabytes long.
        if (std::max(name.size(), c.size()) - std::min(name.size(), c.size()) >= best_distance) {
            continue;
        }
        const size_t d = edit_distance(name, c);
        if (d < best_distance) {
            best_distance = d;
            best = c;
        }
    }
    return best;
}

std::string did_you_mean(const std::string &name, const std::vector<std::string> &candidates) {
    const std::string n = nearest(name, candidates);
    return n.empty() ? "" : "did you mean \"" + n + "\"?";
}

std::string quoted_list(const std::vector<std::string> &names) {
    std::string s;
    for (const auto &n : names) {
        s += (s.empty() ? "\"" : ", \"") + n + "\"";
    }
    return s.empty() ? "(none)" : s;
}

}  // namespace halyard
