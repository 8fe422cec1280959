#include "explain/explain_sentences.h"

#include <fmt/format.h>

#include "kernel/terminal.h"

namespace halyard {

void print_about(const Explained &e, const std::vector<std::string> &sentences) {
    for (const auto &line : sentences) {
        fmt::print("  {}\n", line);
    }
    for (const auto &note : e.notes) {
        fmt::print("{}\n", paint(Colour::kDim, "  note: " + note));
    }
    fmt::print("\n");
}

void print_comparisons(const std::vector<Explained> &all, const std::function<std::vector<std::string>(const Explained &other)> &compared) {
    for (size_t i = 1; i < all.size(); i++) {
        fmt::print("{}\n", paint(Colour::kBold, all.front().schedule + " against " + all[i].schedule));
        for (const auto &line : compared(all[i])) {
            fmt::print("  {}\n", line);
        }
        fmt::print("\n");
    }
}

}  // namespace halyard
