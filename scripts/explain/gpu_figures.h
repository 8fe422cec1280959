#ifndef HALYARD_COMMAND_GPU_FIGURES_H
#define HALYARD_COMMAND_GPU_FIGURES_H

/** \file
 * What a GPU can do, as its maker documents it: for predictions on machines that have none.
 */

#include <string>

#include "explain/cubin.h"
#include "lowering/multiprocessor.h"

namespace halyard {

/** From one launch to the next in a graph, and what the first blocks wait for. */
constexpr double kLaunchSeconds = 2.5e-6;
/** Threads of a multiprocessor that keep its part of the memory busy. */
constexpr double kBusyThreads = 512;

struct GpuFigures {
    std::string name;  // "NVIDIA H200"
    int capability = 90;
    int multiprocessors = 132;
    double memory = 0;  // bytes a second of its memory
    double copy = 0;    // of these what a copy reaches, read and written together
    bool copy_measured = false;
    double l2_bytes = 0;
    double l2 = 0;            // bytes a second out of it, about
    double flops = 0;         // f32, multiply-adds as two
    double tensor_flops = 0;  // 16-bit operands, f32 sums, dense
    double tensor_ops = 0;    // 8-bit operands

    /** What kernels reach of these rates: on an H200 cuBLAS of the tensor cores', unfused attention of multiply-adds. */
    double reached_tensor_flops() const {
        return 0.72 * tensor_flops;
    }
    double reached_tensor_ops() const {
        return 0.72 * tensor_ops;
    }
    double reached_flops() const {
        return 0.5 * flops;
    }

    /** "sm_90a" */
    std::string architecture() const;
    /** Nothing says that it is this device: it is one of the architecture. */
    bool assumed = false;
};

/** The documented device whose name has `name` in it ("H200", "NVIDIA H200, 132 multiprocessors"); throws UsageError that
 * lists those there are. */
GpuFigures gpu_figures(const std::string &name);

/** One of the architecture, as "sm_90a"; the one that kernels are usually tuned for where that is "". */
GpuFigures gpu_figures_for(const std::string &architecture);

/** The device of this process, whose figures come from its driver where it is not documented. Throws Failure where there is
 * none. */
GpuFigures gpu_figures_here();

/** Blocks of a kernel that a multiprocessor holds at once, and what keeps it from holding more. */
struct Occupancy {
    int blocks = 0;
    std::string limit;  // "registers", "shared memory", "threads", "blocks"
    int threads = 0;    // that a multiprocessor may hold
};

Occupancy occupancy(int capability, const KernelResources &resources, int threads, int dynamic_shared_bytes);

}  // namespace halyard

#endif
