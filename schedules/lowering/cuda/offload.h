#ifndef HALYARD_LOWERING_CUDA_OFFLOAD_H
#define HALYARD_LOWERING_CUDA_OFFLOAD_H

/** \file
 * The CUDA backend: takes the kernels out of Halide's lowered IR before Halide makes PTX of them.
 */

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

#include "lowering/cuda/pipeline.h"
#include "lowering/cuda/simt/fetch.h"
#include "lowering/cuda/simt/launch_wait.h"
#include "lowering/cuda/tensor_cores/tile_kernel.h"

namespace halyard {

/** What is said of kernels beside what Halide's IR has. */
struct CudaSchedule {
    std::set<std::string> streamed;       // buffers stored past the caches
    std::map<std::string, int> resident;  // of Funcs with blocks: how many are to fit a multiprocessor
    Fetched fetched;                      // Funcs copied into shared memory so many turns ahead
    BeforeWait before_wait;               // inputs
    ThreadPlaces places;                  // of Funcs
    std::vector<TensorCores> products;    // updates done by tensor cores
    std::function<std::string(const std::string &func)> note;
};

/** A version of the pipeline, lowered up to this pass, for calls whose sizes fulfil a condition. */
struct CudaVersion {
    Halide::Expr condition;
    std::string text;  // what a call that takes it tells (verbose_calls.h); "" for nothing
    std::function<Halide::Internal::Stmt()> lowered;
    CudaSchedule schedule;
};

struct CudaOptions {
    std::string name;                        // kernels are called NAME_FUNC
    std::vector<std::string> architectures;  // "sm_80", "sm_90a" ...
    std::set<std::string> outputs;           // buffers that the caller gets
    bool wide_indices = false;               // are of 64 bits
    bool emulated = false;                   // the host runs what they would, in place of machine code for them
    std::string source_file;                 // where the printed kernels go too; "" for nowhere
    CudaSchedule schedule;
    std::vector<CudaVersion> versions;  // a call takes the first whose condition holds, else what the pass is given
    std::string text;                   // of that
    std::function<void(const std::string &func, const std::string &message)> fail;
    std::function<void(const PassRun &)> observe;  // may be empty
};

/** A pass for Pipeline::add_custom_lowering_pass. In place of each nest of GPU blocks it leaves a call of
 * halyard_cuda_launch (runtime/include/halyard/cuda.h), with the code as a buffer of the module. */
std::unique_ptr<Halide::Internal::IRMutator> offload_to_cuda(CudaOptions options);

}  // namespace halyard

#endif
