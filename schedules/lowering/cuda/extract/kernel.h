#ifndef HALYARD_LOWERING_CUDA_KERNEL_H
#define HALYARD_LOWERING_CUDA_KERNEL_H

/** \file
 * A kernel: what was a nest of GPU block loops in Halide's lowered IR.
 */

#include <array>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** The thread coordinates in the body of a kernel, as variables of Int(32). */
extern const std::array<const char *, 3> kThreadNames;

struct LaunchArgument {
    std::string name;
    bool is_buffer = false;
    bool is_written = false;
    Halide::Type type;         // of an element, or the scalar; a handle that is no tensor: a counter of the launch, from 0 (offload.cpp)
    Halide::Expr tensor;       // of a descriptor for TMA: what the launcher makes it of (halyard_tensor)
    Halide::Expr value;        // a scalar's, on the host; undefined where that is the variable of its name
    int strided_reads = 1;     // of a buffer: nobody reads more of it than elements at multiples of that (strided_reads.h)
    bool is_in_order = false;  // what is read of it stays behind the wait for the last kernel (launch_wait.h)
};

struct Kernel {
    std::string name;
    std::vector<LaunchArgument> arguments;
    std::array<Halide::Expr, 3> blocks, threads;  // extents, in terms of the host's variables
    Halide::Expr shared_bytes;                    // the same
    std::string blocks_per_multiprocessor;        // the second argument of __launch_bounds__, with its comma, or nothing
    int resident = 0;                             // so many blocks of a multiprocessor are to have registers, if not 0
    int cluster = 1;                              // blocks with neighbouring numbers that run together (sm_90a)
    Halide::Internal::Stmt body;                  // the block coordinates are defined in it

    /** The threads of a block along a dimension; 0 where that is not a constant. */
    int constant_threads(int dimension) const;
};

/** Whether an expression has nothing in it but these arguments of a kernel, so that the host can compute it. */
bool has_only(const Halide::Expr &e, const std::set<std::string> &arguments);

/** Of a loop whose place is a coordinate of the launch: 0 to 2 for x to z. */
int gpu_dimension(const std::string &loop);

/** Takes the kernel out of its block loops. `padded` are arrays of the host with elements behind their end for loads of Halide
 * that take more than they use, which the device's memory has not: such loads become those of what is used. In its body, an Allocate of shared memory with a new_expr is a second name of the
 * array that this names, with elements of another type. The name is left to the caller. */
Kernel extract_kernel(const Halide::Internal::For *outermost_block_loop, const std::set<std::string> &padded);

/** Numbers the blocks in one dimension, the first coordinate fastest: a launch has 2^31 - 1 of them along it, and 65535
 * along the others. */
void number_blocks(Kernel &kernel);

}  // namespace halyard

#endif
