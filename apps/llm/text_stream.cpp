#include "text_stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/utf8.h"

namespace halyard_llm {

namespace {

// How many bytes at the end may be the begin of a character: up to three, of which the first says how many follow.
size_t unfinished(std::string_view text) {
    for (size_t n = 1; n <= std::min<size_t>(3, text.size()); n++) {
        const auto c = uint8_t(text[text.size() - n]);
        if (c >= 0xC0) {
            const size_t wanted = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
            return wanted > n ? n : 0;
        }
        if (c < 0x80) {
            return 0;
        }
    }
    return 0;
}

std::string valid(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
        halyard_apps::append_utf8(halyard_apps::decode_utf8(text, &at), &result);
    }
    return result;
}

}  // namespace

TextStream::TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {
    stops_.erase(std::remove(stops_.begin(), stops_.end(), ""), stops_.end());
}

std::string TextStream::push(const std::string &bytes) {
    if (stopped_) {
        return "";
    }
    held_ += bytes;
    size_t first = std::string::npos;
    for (const std::string &stop : stops_) {
        first = std::min(first, held_.find(stop));
    }
    if (first != std::string::npos) {
        const std::string shown = valid(std::string_view(held_).substr(0, first));
        held_.clear();
        stopped_ = true;
        return shown;
    }
    size_t kept = unfinished(held_);
    for (const std::string &stop : stops_) {
        for (size_t n = std::min(stop.size() - 1, held_.size()); n > kept; n--) {
            if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) {
                kept = n;
            }
        }
    }
    // What is held for a stop string may begin after the begin of a character.
    size_t end = held_.size() - kept;
    end -= unfinished(std::string_view(held_).substr(0, end));
    const std::string shown = valid(std::string_view(held_).substr(0, end));
    held_.erase(0, end);
    return shown;
}

std::string TextStream::finish() {
    return valid(std::exchange(held_, ""));
}

}  // namespace halyard_llm
