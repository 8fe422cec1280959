#ifndef HALYARD_TESTS_OPS_HARNESS_H
#define HALYARD_TESTS_OPS_HARNESS_H

/** \file
 * Builds, calls and compares; the same for every op.
 */

#include <string>
#include <vector>

#include "accuracy.h"

namespace ops_test {

/** What is asked of the generator for these choices. */
halyard::GenerateRequest request_of(const std::string &op, const Assignments &choices);

/** The kernel of a build, from the cache where it is there. Throws what CompiledKernel::build does. */
halyard::CompiledKernel build(const std::string &op, const Assignments &choices);

/** What CUDA schedules are built for: the kernels run on the host, over the emulated driver of tests/emulator. */
constexpr const char *kCudaTarget = "cuda";

/** "" or why a target of the tests cannot run: this processor lacks instructions of its last part. */
std::string why_skipped(const std::string &target);

/** The extents of an argument of a call. */
std::vector<int> extents_of(const halyard::OpArgument &argument, const Dims &dims);

/** Equal to the bit, but that all NaN are one. */
bool same(double a, double b);

/** Where `a` and `b` are not that, or "". `extents`: of the array, by which the first place is told; else it is its number. */
std::string difference(const std::vector<double> &a, const std::vector<double> &b, const std::vector<int> &extents = {});

/** What an input is filled with where OpTest::fill() says nothing. */
void fill_random(HostBuffer &buffer, uint64_t seed);

/** How the buffers of a call lie in memory. */
enum class Placement {
    kDense,
    kPadded,    // rows longer than they say, from an odd address
    kReversed,  // the rows from the last to the first
    kPermuted,  // the outer dimensions in another order, as tokens before heads
    kShifted,   // coordinates that do not start at 0
    kWindow,    // an output that is a part of what the inputs would give
    // Slices of larger arrays, whose other elements lie between the rows. They begin at multiples of 16 elements or not, as
    // rows do, for which there are other kernels and other vectors.
    kView,
    kViewOfOddAddress,
    kViewOfOddRows,
    kViewOfOddRowsAndAddress,
};
constexpr int kPlacements = 6;  // that cases go through
constexpr int kViews = 4;       // behind them

/** Calls the kernel with one and with two threads, and again: the result has to be right, the same
 * each time to the bit, and nothing else may be written. "" or what is wrong. */
std::string check_case(const OpTest &test, const halyard::Op &op, const halyard::CompiledKernel &kernel, const Case &c, Placement placement,
                       uint64_t seed, Accuracies *seen = nullptr);

/** Whether the kernel answered with an error and a message, and wrote nothing. */
bool is_refusal(const std::string &wrong);

/** Calls without an element in a dimension, for each dimension of the op: the right result of sums over nothing. "" or what is
 * wrong. An error only where test.needs_some() says so, or where the schedule takes but one extent. */
std::string check_empty(const OpTest &test, const halyard::Op &op, const halyard::CompiledKernel &kernel, const Assignments &choices);

/** Every case of a build, each in another placement, a case in views, and those of check_empty(). "" or what is wrong with the
 * first that fails. To `seen` it adds how far results are off. */
std::string check_build(const OpTest &test, const std::string &op, const Assignments &choices, int rotation, Accuracies *seen = nullptr);

/** The same of a build that takes some sizes only: what it refuses goes to `refused`, a line a call, and is not wrong. */
std::string check_taken(const OpTest &test, const std::string &op, const Assignments &choices, int rotation, std::string *refused);

/** The same of these cases. */
std::string check_cases(const OpTest &test, const std::string &op, const Assignments &choices, const std::vector<Case> &cases, int rotation,
                        Accuracies *seen = nullptr, std::string *refused = nullptr);

}  // namespace ops_test

#endif
