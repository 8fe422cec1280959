#ifndef HALYARD_LLM_LONGEST_NAMES_H
#define HALYARD_LLM_LONGEST_NAMES_H

/** \file
 * Names of tokens that may stand anywhere in a text.
 */

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace halyard_llm {

class LongestNames {
public:
    /** Names that are not empty, with their tokens, of which the smallest has a name that several have. The names have to outlive it. */
    explicit LongestNames(std::vector<std::pair<std::string_view, int32_t>> names = {}) : names_(std::move(names)) {
        std::sort(names_.begin(), names_.end());
        names_.erase(std::unique(names_.begin(), names_.end(), [](const auto &a, const auto &b) { return a.first == b.first; }),
                     names_.end());
        for (size_t i = 0; i < names_.size(); i++) {
            auto &range = of_byte_[uint8_t(names_[i].first[0])];
            range = {range.second == 0 ? i : range.first, i + 1};
        }
    }

    /** The token of the longest name that the text begins with, and how long that is; {-1, 0} for none. It looks at no more bytes of the text
     * than one name has in common with it. */
    std::pair<int32_t, size_t> at_begin_of(std::string_view text) const {
        std::pair<int32_t, size_t> found{-1, 0};
        auto [low, high] = text.empty() ? std::pair<size_t, size_t>() : of_byte_[uint8_t(text[0])];
        for (size_t same = 1; low < high; same++) {
            if (names_[low].first.size() == same) {
                found = {names_[low].second, same};
                low++;  // names are sorted, so that one comes before those that it begins
            }
            if (same == text.size()) {
                break;
            }
            const auto next = uint8_t(text[same]);
            const auto byte_of = [&](const auto &name) { return uint8_t(name.first[same]); };
            const auto begin = names_.begin() + long(low), end = names_.begin() + long(high);
            const auto first = std::partition_point(begin, end, [&](const auto &name) { return byte_of(name) < next; });
            const auto last = std::partition_point(first, end, [&](const auto &name) { return byte_of(name) == next; });
            low = size_t(first - names_.begin());
            high = size_t(last - names_.begin());
        }
        return found;
    }

private:
    std::vector<std::pair<std::string_view, int32_t>> names_;
    std::array<std::pair<size_t, size_t>, 256> of_byte_{};  // those that begin with it
};

}  // namespace halyard_llm

#endif
