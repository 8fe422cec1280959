#ifndef HALYARD_TESTS_EMULATOR_ARGUMENTS_H
#define HALYARD_TESTS_EMULATOR_ARGUMENTS_H

#include <cstdint>
#include <string>
#include <vector>

#include <HalideRuntime.h>

namespace halyard::emulator::driver {

/** Which bytes of device memory are elements of a buffer, by their offset from its address. An allocation does not say: the
 * rows of a matrix that is part of a larger one have somebody else's elements between them. */
class ElementsOfBuffer {
public:
    explicit ElementsOfBuffer(const halide_buffer_t &buffer);

    int64_t begin() const {
        return begin_;
    }
    int64_t end() const {
        return end_;
    }
    bool has_gaps() const {
        return gaps_;
    }

    bool holds(int64_t offset, int bytes) const;

    /** "at (250, 3) of (250, 130)": the coordinates that the byte would have, innermost dimension first. */
    std::string place(int64_t offset) const;

private:
    struct Dimension {
        int64_t extent, stride;  // elements; the stride is positive, as places are counted from the lowest element
        int number;
        bool reversed;
        int64_t reach;  // what this and all dimensions inside of it span, in elements but the first
    };

    bool is_element(int64_t place, size_t from = 0) const;
    int64_t from_lowest(int64_t offset) const;

    std::vector<Dimension> dimensions_;  // those of more than one element, by falling strides
    std::vector<int> extents_;
    int bytes_ = 1;
    int64_t begin_ = 0, end_ = 0;
    bool gaps_ = false;
};

}  // namespace halyard::emulator::driver

#endif
