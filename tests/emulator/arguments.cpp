#include "arguments.h"

#include <algorithm>
#include <cstdlib>

namespace halyard::emulator::driver {

ElementsOfBuffer::ElementsOfBuffer(const halide_buffer_t &buffer) : bytes_(buffer.type.bytes()) {
    int64_t elements = 1, below = 0;
    for (int d = 0; d < buffer.dimensions; d++) {
        const halide_dimension_t &dim = buffer.dim[d];
        extents_.push_back(dim.extent);
        elements *= std::max(dim.extent, 0);
        if (dim.extent > 1 && dim.stride != 0) {
            dimensions_.push_back({dim.extent, std::abs(int64_t(dim.stride)), d, dim.stride < 0, 0});
            below += dim.stride < 0 ? int64_t(dim.stride) * (dim.extent - 1) : 0;
        }
    }
    std::stable_sort(dimensions_.begin(), dimensions_.end(), [](const Dimension &a, const Dimension &b) { return a.stride > b.stride; });
    int64_t reach = 0;
    for (auto d = dimensions_.rbegin(); d != dimensions_.rend(); ++d) {
        gaps_ = gaps_ || d->stride > reach + 1;
        reach += d->stride * (d->extent - 1);
        d->reach = reach;
    }
    if (elements > 0) {
        begin_ = below * bytes_;
        end_ = begin_ + (reach + 1) * bytes_;
    }
}

bool ElementsOfBuffer::holds(int64_t offset, int bytes) const {
    if (offset < begin_ || offset + bytes > end_) {
        return false;
    }
    const int64_t first = from_lowest(offset), last = from_lowest(offset + bytes - 1);
    for (int64_t i = first; i <= last; i++) {
        if (!is_element(i)) {
            return false;
        }
    }
    return true;
}

std::string ElementsOfBuffer::place(int64_t offset) const {
    std::vector<int64_t> at(extents_.size(), 0);
    int64_t left = from_lowest(offset);
    for (const Dimension &d : dimensions_) {
        const bool inner = &d == &dimensions_.back();
        const int64_t c = inner ? left / d.stride : std::min(left / d.stride, d.extent - 1);
        left -= c * d.stride;
        at[size_t(d.number)] = d.reversed ? d.extent - 1 - c : c;
    }
    std::string coordinates, extents;
    for (size_t d = 0; d < extents_.size(); d++) {
        coordinates += (d ? ", " : "") + std::to_string(at[d]);
        extents += (d ? ", " : "") + std::to_string(extents_[d]);
    }
    return "at (" + coordinates + ") of (" + extents + ")";
}

int64_t ElementsOfBuffer::from_lowest(int64_t offset) const {
    return (offset - begin_) / bytes_;
}

// Mostly one coordinate fits in each dimension; several where dimensions interleave.
bool ElementsOfBuffer::is_element(int64_t place, size_t from) const {
    if (from == dimensions_.size()) {
        return place == 0;
    }
    const Dimension &d = dimensions_[from];
    const int64_t inside = from + 1 < dimensions_.size() ? dimensions_[from + 1].reach : 0;
    for (int64_t c = std::min(place / d.stride, d.extent - 1); c >= 0 && place - c * d.stride <= inside; c--) {
        if (is_element(place - c * d.stride, from + 1)) {
            return true;
        }
    }
    return false;
}

}  // namespace halyard::emulator::driver
