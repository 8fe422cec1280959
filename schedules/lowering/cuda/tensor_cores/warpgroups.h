#ifndef HALYARD_LOWERING_CUDA_WARPGROUPS_H
#define HALYARD_LOWERING_CUDA_WARPGROUPS_H

/** \file
 * What kernels of warpgroups for sm_90a have in common: their shared memory, and how a result leaves it.
 */

#include <string>
#include <vector>

#include "lowering/cuda/print/print.h"
#include "lowering/multiprocessor.h"

namespace halyard {

/** Threads of a warpgroup, and rows of its sums. */
constexpr int kWarpgroup = 128, kRowsOfWarpgroup = 64;
/** A line of a block of shared memory with the 128-byte swizzle: bytes, and elements of 16 bits. */
constexpr int kSwizzledBytes = 128, kAcross = 64;
inline int elements_of_line(const Halide::Type &t) {
    return kSwizzledBytes / t.bytes();
}
/** Lines that so many elements take, of 16 bits if nothing else is said. */
inline int panels(int elements, const Halide::Type &t = Halide::Float(16)) {
    return (elements + elements_of_line(t) - 1) / elements_of_line(t);
}
/** Of the depth of an operand, what an instruction multiplies. */
inline int depth_of_instruction(const Halide::Type &operand) {
    return 32 / operand.bytes();
}
/** Of a block, on sm_90. */
constexpr int kSharedBytesOfHopper = multiprocessor(90).shared_of_block();

/** Opens the branch of the producer, which gives registers to the warpgroups that compute; `otherwise()` of the printer is
 * theirs, to be begun by take_registers(). `less`, `more`: of a thread, where two warpgroups compute; 0 leaves each what it has. */
void open_producer(KernelPrinter &out, int warpgroups, int less);
void take_registers(KernelPrinter &out, int warpgroups, int more);

/** Declares `result` in shared memory, for a warpgroup's rows of a tile of so many columns. */
void declare_result(KernelPrinter &out, const std::string &type, const std::string &result, int offset, int rows, int columns);
/** Waits until all that a warpgroup has sent before has left shared memory. */
void wait_for_result(KernelPrinter &out);

/** In a loop over first = 0, 8, ..: stores 16 columns, whose 8 values a thread has in the array `values`, by stmatrix into
 * the order in which TMA takes them. */
void store_columns(KernelPrinter &out, const std::string &values, const std::string &result);

/** Has TMA store `result`: `across` are the first coordinates of its blocks of `columns`, `rest` the others, with
 * a comma before each. */
void send_result(KernelPrinter &out, const std::string &map, const std::string &result, const std::vector<std::string> &across,
                 const std::string &rest, int columns = kAcross);

}  // namespace halyard

#endif
