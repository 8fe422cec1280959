#include "kernel/capture.h"

#include <algorithm>

#include <fmt/format.h>

namespace halyard {

void Capture::add(const char *text, size_t size) {
    const size_t first = std::min(size, half_ - head_.size());
    head_.append(text, first);
    tail_.append(text + first, size - first);
    // Not at every piece, since what is kept moves.
    if (tail_.size() > 2 * half_) {
        dropped_ += tail_.size() - half_;
        tail_.erase(0, tail_.size() - half_);
    }
}

std::string Capture::text() const {
    const size_t more = tail_.size() > half_ ? tail_.size() - half_ : 0;
    if (dropped_ + more == 0) {
        return head_ + tail_;
    }
    return fmt::format("{}\n... {} bytes are left out here ...\n{}", head_, dropped_ + more, tail_.substr(more));
}

}  // namespace halyard
