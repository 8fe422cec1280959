#ifndef HALYARD_MATH_NUMBER_H
#define HALYARD_MATH_NUMBER_H

/** \file
 * A generator parameter that is an integer of a range.
 */

#include <string>

#include <Halide.h>

namespace halyard {

/** Schedules choose parameters, and a number that makes no sense would make another algorithm. Halide 21 asks for the range of a
 * GeneratorParam only where its default is set. */
class Number : public Halide::GeneratorParam<int> {
public:
    Number(const std::string &name, int value, int lowest, int highest)
        : GeneratorParam(name, value, lowest, highest), lowest_(lowest), highest_(highest) {}

    void set_from_string(const std::string &text) override {
        GeneratorParam::set_from_string(text);
        if (value_ < lowest_ || value_ > highest_) {
            throw Halide::CompileError("Out of range: " + name() + "=" + text + ", " + std::to_string(lowest_) + " to " +
                                       std::to_string(highest_) + "\n");
        }
    }

private:
    const int lowest_, highest_;
};

}  // namespace halyard

#endif
