#ifndef HALYARD_COMMAND_BUFFER_H
#define HALYARD_COMMAND_BUFFER_H

/** \file
 * A buffer for a kernel, placed in memory as a test or a benchmark wants it.
 */

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <HalideRuntime.h>

namespace halyard {

/** How a buffer lies in memory; innermost dimension first. What is left empty is the plain case. */
struct Layout {
    std::vector<int> extents;
    std::vector<int> mins = {};     // coordinates of the first element; empty: zeros
    std::vector<int> strides = {};  // in elements, may be negative or 0; empty: dense
    int offset = 0;                 // elements between a cache line's start and the lowest element

    Layout() = default;
    Layout(std::vector<int> e) : extents(std::move(e)) {}
};

/** Owns its memory. All of it, also what lies between and around the elements, starts as poison:
 * kUnstored (strict_allocation.h), which is NaN in most float types, and as an index leads nowhere. */
class HostBuffer {
public:
    HostBuffer(const halide_type_t &type, const Layout &layout);
    HostBuffer(HostBuffer &&) = default;
    HostBuffer &operator=(HostBuffer &&) = default;

    /** What the kernel gets. */
    halide_buffer_t *raw() {
        return &buffer_;
    }
    const halide_type_t &type() const {
        return buffer_.type;
    }
    const std::vector<int> &extents() const {
        return layout_.extents;
    }
    size_t size() const;   // elements
    size_t bytes() const;  // of the elements

    /** By index from 0 in each dimension, whatever the mins are. */
    double get(const std::vector<int> &index) const;
    void set(const std::vector<int> &index, double value);

    /** All elements in order, innermost dimension first. */
    std::vector<double> values() const;
    void assign(const std::vector<double> &values);

    /** Reproducible values, uniform in [low, high): the n-th element of a seed is always the same. */
    void fill_random(uint64_t seed, double low = -1, double high = 1);
    void fill(double value);

    /** Poison in every element again. */
    void poison();

    /** True while every element is poison: nothing was written. */
    bool poisoned() const;

    /** Which elements are, in order. */
    std::vector<bool> poisoned_elements() const;

    /** True while every byte that belongs to no element is poison: the kernel wrote only where it may. */
    bool surroundings_intact() const;

    /** All of its memory, a multiple of 8 bytes, and where in it the first element is. */
    uint8_t *memory() {
        return memory_.get();
    }
    size_t memory_bytes() const {
        return memory_bytes_;
    }
    size_t offset_in_memory() const {
        return size_t(first_ - memory_.get());
    }

private:
    template<typename F>
    void each(F f) const;
    int64_t position(const std::vector<int> &index) const;
    bool dense() const;

    Layout layout_;
    std::vector<halide_dimension_t> dims_;
    std::unique_ptr<uint8_t[], void (*)(void *)> memory_;
    size_t memory_bytes_ = 0;
    uint8_t *first_ = nullptr;  // the element at index 0 in each dimension
    halide_buffer_t buffer_ = {};
};

}  // namespace halyard

#endif
