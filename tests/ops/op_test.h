#ifndef HALYARD_TESTS_OPS_OP_TEST_H
#define HALYARD_TESTS_OPS_OP_TEST_H

/** \file
 * What an op gives to be tested: its variants, its inputs, and its float64 reference.
 * Every line of generators/ops.inc needs a function NAME_test() in tests/ops/NAME.cpp.
 */

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/registry.h"

namespace ops_test {

using halyard::Assignments;
using halyard::Dims;
using halyard::HostBuffer;
using halyard::KernelArguments;

/** Unit roundoff of f32: half an epsilon. Statistics and accumulators are f32 for every storage type. */
constexpr double kRoundoff = 0x1p-24;

/** Numbers in order, innermost dimension first. */
struct Tensor {
    std::vector<int> extents;
    std::vector<double> values;

    /** The elements of a row: of a matrix, one of its columns or rows, as it lies. */
    const double *row(int64_t number) const {
        return values.data() + number * extents[0];
    }

    /** By index from 0 in each dimension. */
    template<typename... Index>
    double operator()(Index... index) const {
        const int64_t indices[] = {index...};
        int64_t position = 0, step = 1;
        for (size_t d = 0; d < sizeof...(index); d++) {
            position += indices[d] * step;
            step *= extents[d];
        }
        return values[size_t(position)];
    }
};

/** The inputs of one call, as the kernel reads them: rounded to the storage type. */
struct Problem {
    Dims dims;
    Assignments params;  // of the generator
    std::map<std::string, Tensor, std::less<>> inputs;
    std::map<std::string, double, std::less<>> scalars;
    /** What a reference makes of an input once, to read it for every element. */
    mutable std::map<std::string, Tensor, std::less<>> made;
    bool on_gpu = false;

    int dim(const std::string &name) const {
        return static_cast<int>(dims.at(name));
    }
    bool has(std::string_view input) const {
        return inputs.find(input) != inputs.end();
    }
    /** To be looked up outside of a reference's innermost loop, where it takes most of the time of a test. */
    const Tensor &operator[](std::string_view input) const {
        const auto found = inputs.find(input);
        return found == inputs.end() ? throw std::out_of_range(std::string(input)) : found->second;
    }
    double scalar(std::string_view name, double otherwise) const {
        const auto s = scalars.find(name);
        return s == scalars.end() ? otherwise : s->second;
    }
    /** References ask for every element: nothing is made of the names. */
    bool is(std::string_view param, std::string_view value) const {
        for (const auto &[name, given] : params) {
            if (name == param) {
                return given == value;
            }
        }
        return false;
    }
};

/** One element of an output before it is rounded to its type (an integer: half to even, saturated),
 * and how far from it f32 arithmetic may end. The rounding itself has to be right. */
struct Expected {
    double value, error;
    /** Or less: of a logarithm whose argument may be 0 where it is rounded. */
    bool or_less = false;
    /** Of a byte that is a number of floating point, its exponent's bits. */
    int float8_exponent = 0;
    /** Nothing is stored there: what was there before still is, to the bit. */
    bool kept = false;

    static Expected untouched() {
        return {std::numeric_limits<double>::quiet_NaN(), 0, false, 0, true};
    }
};

/** One call. */
struct Case {
    std::string what;
    Dims dims;
    /** Changes inputs after they were filled with random values. */
    std::function<void(KernelArguments &, const Dims &)> alter = nullptr;
    /** Not a window of an output: tiles begin with it. */
    bool whole = false;
};

/** A choice of a build. `schedule`, `target` and `devices` (those that are emulated) are names of their own, `set.NAME` is a
 * parameter of the schedule, the rest are parameters of the generator. */
struct Choice {
    std::string name;
    std::vector<std::string> values;
};

/** Whether a build has what a choice of "true" and "false" is about. */
inline bool is_on(const Assignments &build, const std::string &name) {
    const auto found = build.find(name);
    return found != build.end() && found->second == "true";
}

class OpTest {
public:
    virtual ~OpTest() = default;

    /** Builds are made until every pair of values of two choices is in one. */
    virtual std::vector<Choice> choices() const = 0;

    /** Whether a choice is of builds for the host alone. */
    virtual bool is_of_host(const std::string & /*choice*/) const {
        return false;
    }

    /** Of what the main CUDA schedule tunes: what makes other kernels of it. */
    virtual std::vector<Choice> cuda_choices() const {
        return {};
    }

    /** Drops what a build does not have, as the panel of weights that are not packed. */
    virtual void settle(Assignments &) const {}

    /** Odd sizes and special values, for a build. */
    virtual std::vector<Case> cases(const Assignments &build) const = 0;

    /** What the error of expected() is, in words and in epsilons of f32; docs/reference/accuracy.md has it. */
    virtual std::string held_to() const = 0;

    /** How far all results together may be from the reference in bf16, relative to its norm, before they are stored. Sums are f32. */
    virtual double most_in_bf16(const Problem &) const {
        return 1e-3;
    }

    /** What the output must be, all of its elements in order. */
    virtual std::vector<Expected> expected(const Problem &problem) const = 0;

    /** The same for an op with several outputs, by name. */
    virtual std::vector<Expected> expected_of(const std::string & /*output*/, const Problem &problem) const {
        return expected(problem);
    }

    /** The dimensions in which an output may start anywhere and be computed in part. */
    virtual std::vector<std::string> open_dims() const = 0;

    /** The dimensions along which a result is the same bits whatever else a call has (docs/reference/same_bits.md). */
    virtual std::vector<std::string> batch_dims() const {
        return open_dims();
    }

    /** Makes what does not lie along a dimension fit a part of it, elements from `first` on, that was cut out of a call of all. */
    virtual void fit(KernelArguments & /*part*/, KernelArguments & /*all*/, const Dims & /*of_part*/, int /*first*/) const {}

    /** Whether part of a batch of such a build is a call by itself: not where results say where in the batch a row is, as by a causal
     * mask. */
    virtual bool has_batches(const Assignments & /*choices*/) const {
        return true;
    }

    /** Dimensions that a schedule, by its name, fixes as it ships. */
    virtual Dims fixed_dims(const std::string & /*schedule*/) const {
        return {};
    }

    /** Dimensions of which a build has to get an element, as groups that others are divided by. */
    virtual bool needs_some(const std::string & /*dim*/, const Assignments & /*choices*/) const {
        return false;
    }

    /** Whether there are builds in which an input may have another extent than the others say, as one that is read by indices. Inputs
     * that are too small are then tried as the generator is by itself. */
    virtual bool has_loose_extents() const {
        return false;
    }

    /** Buffers that the kernel wants dense. */
    virtual bool needs_dense(const std::string & /*argument*/) const {
        return false;
    }

    /** Inputs and scalars; by default floats uniform in [-1, 1), 8-bit integers over all their values,
     * other integers in [0, 100), and scalars as the registry has them. */
    virtual void fill(KernelArguments &, const Dims &, uint64_t /*seed*/) const {}
};

#define HALYARD_OP(name, ...) const OpTest &name##_test();
#include "ops.inc"
#undef HALYARD_OP

}  // namespace ops_test

#endif
