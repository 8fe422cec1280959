#include "kernel/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernel/cpu.h"
#include "kernel/element.h"
#include "kernel/failure.h"
#include "kernel/strict_allocation.h"

namespace halyard {

namespace {

constexpr size_t kGuardBytes = 256;  // on each side; a multiple of the widest vector
constexpr size_t kAlignment = 128;   // what Halide's own allocations have

uint64_t mix(uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// f(begin, end) of all that are to be done, on all processors where they are many.
template<typename F>
void in_parts(size_t count, const F &f) {
    const size_t parts = count < (size_t(1) << 20) ? 1 : size_t(std::max(cpu().processors, 1));
    std::vector<std::thread> threads;
    for (size_t p = 1; p < parts; p++) {
        threads.emplace_back(f, count * p / parts, count * (p + 1) / parts);
    }
    f(0, count / parts);
    for (auto &t : threads) {
        t.join();
    }
}

// The byte of kUnstored that belongs at an address, whose parity is that of its place in a buffer.
uint8_t poison_at(const uint8_t *p) {
    return uint8_t(kUnstored >> (reinterpret_cast<uintptr_t>(p) % 2 * 8));
}

bool is_poison(const uint8_t *begin, const uint8_t *end) {
    for (const uint8_t *p = begin; p < end; p++) {
        if (*p != poison_at(p)) {
            return false;
        }
    }
    return true;
}

}  // namespace

HostBuffer::HostBuffer(const halide_type_t &type, const Layout &layout) : layout_(layout), memory_(nullptr, std::free) {
    const size_t rank = layout_.extents.size();
    if (layout_.mins.empty()) {
        layout_.mins.assign(rank, 0);
    }
    if (layout_.strides.empty()) {
        int64_t stride = 1;
        for (int extent : layout_.extents) {
            if (stride > INT32_MAX) {
                throw Failure("a buffer of more than 2^31 elements needs strides that Halide does not have");
            }
            layout_.strides.push_back(static_cast<int>(stride));
            stride *= extent;
        }
    }
    if (layout_.mins.size() != rank || layout_.strides.size() != rank) {
        throw Failure("a buffer needs a min and a stride for each extent");
    }
    int64_t lowest = 0, highest = 0;  // elements from index 0
    for (size_t d = 0; d < rank; d++) {
        const int64_t reach = int64_t(layout_.strides[d]) * (std::max(layout_.extents[d], 1) - 1);
        (reach < 0 ? lowest : highest) += reach;
    }
    const size_t element = (type.bits + 7) / 8;
    const size_t before = kGuardBytes + layout_.offset * element;
    memory_bytes_ = before + (highest - lowest + 1) * element + kGuardBytes;
    memory_bytes_ = (memory_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(static_cast<uint8_t *>(std::aligned_alloc(kAlignment, memory_bytes_)));
    if (!memory_) {
        throw Failure("out of memory for a buffer");
    }
    std::fill_n(reinterpret_cast<uint16_t *>(memory_.get()), memory_bytes_ / sizeof(kUnstored), kUnstored);
    first_ = memory_.get() + before - lowest * int64_t(element);
    for (size_t d = 0; d < rank; d++) {
        dims_.emplace_back(layout_.mins[d], layout_.extents[d], layout_.strides[d]);
    }
    buffer_.host = first_;
    buffer_.type = type;
    buffer_.dimensions = static_cast<int>(rank);
    buffer_.dim = dims_.data();
}

size_t HostBuffer::size() const {
    size_t n = 1;
    for (int extent : layout_.extents) {
        n *= size_t(extent);
    }
    return n;
}

size_t HostBuffer::bytes() const {
    return size() * ((buffer_.type.bits + 7) / 8);
}

int64_t HostBuffer::position(const std::vector<int> &index) const {
    if (index.size() != dims_.size()) {
        throw Failure("an index needs a coordinate for each dimension");
    }
    int64_t p = 0;
    for (size_t d = 0; d < index.size(); d++) {
        if (index[d] < 0 || index[d] >= layout_.extents[d]) {
            throw Failure("an index lies outside of the buffer");
        }
        p += int64_t(index[d]) * layout_.strides[d];
    }
    return p;
}

double HostBuffer::get(const std::vector<int> &index) const {
    return load_element(type(), first_ + position(index) * type().bytes());
}

void HostBuffer::set(const std::vector<int> &index, double value) {
    store_element(type(), first_ + position(index) * type().bytes(), value);
}

// Calls f(number, address) for every element.
template<typename F>
void HostBuffer::each(F f) const {
    std::vector<int> index(dims_.size(), 0);
    const size_t n = size();
    const int64_t bytes = type().bytes();
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        f(i, first_ + at * bytes);
        for (size_t d = 0; d < index.size(); d++) {
            at += layout_.strides[d];
            if (++index[d] < layout_.extents[d]) {
                break;
            }
            at -= int64_t(index[d]) * layout_.strides[d];
            index[d] = 0;
        }
    }
}

std::vector<double> HostBuffer::values() const {
    std::vector<double> v(size());
    each([&](size_t i, const uint8_t *p) { v[i] = load_element(type(), p); });
    return v;
}

void HostBuffer::assign(const std::vector<double> &values) {
    if (values.size() != size()) {
        throw Failure("the values do not fill the buffer");
    }
    each([&](size_t i, uint8_t *p) { store_element(type(), p, values[i]); });
}

bool HostBuffer::dense() const {
    int64_t stride = 1;
    for (size_t d = 0; d < dims_.size(); d++) {
        if (layout_.strides[d] != stride && layout_.extents[d] > 1) {
            return false;
        }
        stride *= layout_.extents[d];
    }
    return true;
}

void HostBuffer::fill_random(uint64_t seed, double low, double high) {
    const uint64_t start = mix(seed);
    const auto value = [&](size_t i) { return low + double(mix(start + i) >> 11) * 0x1p-53 * (high - low); };
    if (type() == halide_type_t(halide_type_float, 32) && dense()) {
        // Weights are many millions of these, and this loop needs not ask for the type and place of each.
        auto *elements = reinterpret_cast<float *>(first_);
        const size_t n = size();
        for (size_t i = 0; i < n; i++) {
            elements[i] = float(value(i));
        }
        return;
    }
    if (dense()) {
        // Inputs of a GPU are many millions of 16-bit floats, which several threads fill.
        const size_t bytes = size_t(type().bytes());
        in_parts(size(), [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; i++) {
                store_element(type(), first_ + i * bytes, value(i));
            }
        });
        return;
    }
    each([&](size_t i, uint8_t *p) { store_element(type(), p, value(i)); });
}

void HostBuffer::fill(double value) {
    each([&](size_t, uint8_t *p) { store_element(type(), p, value); });
}

void HostBuffer::poison() {
    each([&](size_t, uint8_t *p) {
        for (int b = 0; b < type().bytes(); b++) {
            p[b] = poison_at(p + b);
        }
    });
}

std::vector<bool> HostBuffer::poisoned_elements() const {
    std::vector<bool> elements(size());
    each([&](size_t number, const uint8_t *p) { elements[number] = is_poison(p, p + type().bytes()); });
    return elements;
}

bool HostBuffer::poisoned() const {
    const std::vector<bool> elements = poisoned_elements();
    return std::find(elements.begin(), elements.end(), false) == elements.end();
}

bool HostBuffer::surroundings_intact() const {
    const uint8_t *const end = memory_.get() + memory_bytes_;
    if (dense()) {  // nothing is between the elements
        return is_poison(memory_.get(), first_) && is_poison(first_ + bytes(), end);
    }
    std::vector<bool> covered(memory_bytes_, false);
    each([&](size_t, const uint8_t *p) {
        for (int b = 0; b < type().bytes(); b++) {
            covered[size_t(p - memory_.get()) + b] = true;
        }
    });
    for (const uint8_t *p = memory_.get(); p < end; p++) {
        if (!covered[size_t(p - memory_.get())] && *p != poison_at(p)) {
            return false;
        }
    }
    return true;
}

}  // namespace halyard
