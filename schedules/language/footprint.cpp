#include "language/footprint.h"

#include <algorithm>
#include <cmath>

namespace halyard {

namespace {

constexpr size_t kMostIntervals = 2048, kMostParts = 64, kSamples = 64;

int64_t floor_line(int64_t a) {
    return a >= 0 ? a / kLine : -((-a + kLine - 1) / kLine);
}

}  // namespace

int64_t Region::span_begin() const {
    return intervals_.empty() ? 0 : intervals_.front().begin;
}

int64_t Region::span_end() const {
    return intervals_.empty() ? 0 : intervals_.back().end;
}

// In lines, so that neighbours within a line count once.
void Region::merge() {
    std::sort(intervals_.begin(), intervals_.end(), [](const Interval &a, const Interval &b) { return a.begin < b.begin; });
    std::vector<Interval> merged;
    for (const Interval &i : intervals_) {
        if (!merged.empty() && i.begin <= merged.back().end) {
            merged.back().end = std::max(merged.back().end, i.end);
        } else {
            merged.push_back(i);
        }
    }
    intervals_.swap(merged);
}

bool Region::has(int64_t address) const {
    int64_t at = address;
    for (auto s = steps_.rbegin(); s != steps_.rend() && !intervals_.empty(); ++s) {
        at -= s->stride * std::clamp<int64_t>((at - span_begin()) / s->stride, 0, s->count - 1);
    }
    const auto after = std::upper_bound(intervals_.begin(), intervals_.end(), at, [](int64_t a, const Interval &i) { return a < i.begin; });
    return (after != intervals_.begin() && at < std::prev(after)->end) ||
           std::any_of(more_.begin(), more_.end(), [&](const Region &r) { return r.has(address); });
}

double Region::part_in(const Region &other) const {
    int64_t last = 0;  // where the last copy is
    for (const Copies &s : steps_) {
        last += s.stride * (s.count - 1);
    }
    size_t in = 0, all = 0;
    for (size_t i = 0; i < intervals_.size(); i += intervals_.size() / kSamples + 1) {
        const int64_t begin = intervals_[i].begin, middle = (begin + intervals_[i].end) / 2;
        for (const int64_t at : {begin, middle, last + begin, last + middle}) {
            in += other.has(at);
            all++;
        }
    }
    return all > 0 ? double(in) / double(all) : 0;
}

Region Region::of(const Access &access, int first_loop, int last_loop) {
    int64_t base = access.base;
    struct Step {
        int64_t stride, count;
    };
    std::vector<Step> steps;
    for (const auto &s : access.steps) {
        const bool inside = s.loop < 0 || (s.loop >= first_loop && s.loop < last_loop);
        if (!inside) {
            for (const auto &anchor : access.anchors) {
                base += anchor.first == s.loop ? s.stride * std::min(int64_t(anchor.second), s.count - 1) : 0;
            }
        } else if (s.stride != 0 && s.count > 1) {
            base += s.stride < 0 ? s.stride * (s.count - 1) : 0;
            steps.push_back({std::abs(s.stride), s.count});
        }
    }
    int64_t element = access.bytes;
    for (const auto &s : access.steps) {
        element = s.loop < 0 ? element / s.count : element;
    }
    std::sort(steps.begin(), steps.end(), [](const Step &a, const Step &b) { return a.stride < b.stride; });
    Region r;
    r.intervals_ = {{base, base + std::max<int64_t>(element, 1)}};
    for (const Step &s : steps) {
        const int64_t begin = r.span_begin(), end = r.span_end();
        if (r.copies_ == 1 && r.intervals_.size() == 1 && s.stride <= std::max(end - begin, kLine)) {
            r.intervals_[0].end += s.stride * (s.count - 1);
        } else if (r.copies_ == 1 && r.intervals_.size() * size_t(s.count) <= kMostIntervals) {
            const std::vector<Interval> one = r.intervals_;
            for (int64_t k = 1; k < s.count; k++) {
                for (const Interval &i : one) {
                    r.intervals_.push_back({i.begin + k * s.stride, i.end + k * s.stride});
                }
            }
            r.merge();
        } else if (r.copies_ == 1 && s.stride < end - begin) {
            // Many interleaved pieces: they fill what they span, at most.
            const double each = r.bytes();
            r.intervals_ = {{begin, end + s.stride * (s.count - 1)}};
            const double whole = r.bytes();
            r.copies_ = std::min(1.0, each * double(s.count) / whole);
        } else {
            r.copies_ *= double(s.count);
            r.steps_.push_back({s.stride, s.count});
        }
    }
    return r;
}

void Region::add(Region other) {
    if (intervals_.empty()) {
        *this = std::move(other);
        return;
    }
    if (copies_ == 1 && other.copies_ == 1 && intervals_.size() + other.intervals_.size() <= 2 * kMostIntervals) {
        intervals_.insert(intervals_.end(), other.intervals_.begin(), other.intervals_.end());
        merge();
    } else {
        const double mine = bytes(), its = other.bytes();
        // Copies of one pattern side by side: offsets of an unrolled loop. Apart where the patterns are.
        bool apart = copies_ == other.copies_ && copies_ > 1 && more_.empty() && other.more_.empty();
        if (apart) {
            Region both = *this;
            both.copies_ = other.copies_ = 1;
            both.add(other);
            both.copies_ = copies_;
            *this = std::move(both);
            return;
        }
        if (its > mine) {
            std::swap(*this, other);
        }
        const double in_it = other.part_in(*this);
        copies_ *= (mine + its - in_it * std::min(mine, its)) / std::max(std::max(mine, its), 1.0);
        if (in_it < 1 && more_.size() < kMostParts) {
            more_.push_back(std::move(other));
        }
    }
}

double Region::bytes() const {
    double lines = 0;
    int64_t last = INT64_MIN;
    for (const Interval &i : intervals_) {
        const int64_t first = std::max(floor_line(i.begin), last + (last == INT64_MIN ? 0 : 1));
        const int64_t end = floor_line(i.end - 1);
        lines += end >= first ? double(end - first + 1) : 0;
        last = std::max(last, end);
    }
    return lines * double(kLine) * copies_;
}

}  // namespace halyard
