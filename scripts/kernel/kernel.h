#ifndef HALYARD_COMMAND_KERNEL_H
#define HALYARD_COMMAND_KERNEL_H

/** \file
 * A kernel as an application gets it: built by its schedule, linked with the runtime, loaded, called.
 *
 * An error of the kernel comes back with its message instead of ending the program. Each kernel is
 * a shared object with a runtime and a thread pool of its own, so that several can be compared.
 *
 *     auto kernel = CompiledKernel::build({"rms_norm"});
 *     KernelArguments arguments(kernel);
 *     arguments.buffer("x", {{4096, 64}}).fill_random(1);
 *     ...
 *     arguments.scalar("eps", 1e-6);
 *     arguments.buffer("y", {{4096, 64}});
 *     CallResult r = kernel.call(arguments);
 */

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <HalideRuntime.h>

#include "kernel/buffer.h"
#include "kernel/generate.h"

namespace halyard {

/** One argument of a kernel, as its metadata has it. */
struct KernelArgument {
    std::string name;
    halide_type_t type;
    int dimensions = 0;  // 0 for a scalar
    bool is_buffer = false, is_output = false;
    std::vector<std::pair<int, int>> estimate = {};  // min and extent of each dimension, where the generator says them
    double scalar_estimate = 1;                      // else the generator's default
};

struct CallResult {
    int code = 0;         // halide_error_code_t
    std::string message;  // of the runtime, where code is not 0

    bool ok() const {
        return code == 0;
    }
};

class KernelArguments;

class CompiledKernel {
public:
    /** Builds the kernel into the cache, unless it is there already, and loads it. `target` "" means
     * host. Throws Failure, UsageError or ScriptError. */
    static CompiledKernel build(GenerateRequest request);

    /** Loads a shared object that holds the function, its metadata and the runtime. Throws Failure. */
    static CompiledKernel load(const std::string &path, const std::string &function);

    /** The same, of a build elsewhere: with the generator parameters and the script that it had. */
    static CompiledKernel load(const std::string &path, const std::string &function, const Assignments &params, const std::string &script);

    const std::vector<KernelArgument> &arguments() const {
        return arguments_;
    }
    const KernelArgument *argument(const std::string &name) const;

    /** The Halide target that it was compiled for. */
    const std::string &target() const {
        return target_;
    }
    /** The generator parameters of the build, those that the schedule declares among them. */
    const Assignments &params() const {
        return params_;
    }
    /** The script; "" for none. */
    const std::string &script() const {
        return script_;
    }

    /** What the build said about what is slow, where the request asked for it (GenerateRequest::lint): lines, or "". */
    const std::string &slow() const {
        return slow_;
    }

    /** A kernel for CUDA finds the arguments on the device, as they lie on the host, and all of their memory comes back from
     * there. */
    CallResult call(KernelArguments &arguments) const;

    /** With the addresses of buffers and scalars in the order of arguments(). Throws UsageError where this processor lacks
     * instructions of the target. */
    CallResult call(void **argv) const;

    /** A function of its library, as one of halyard/cuda.h. Throws Failure where there is none. */
    void *library_function(const std::string &name) const;

    /** An error code with what its runtime said. */
    CallResult error(int code) const;

    /** Threads of its runtime; 0 takes the runtime's default. */
    void set_threads(int threads) const;

private:
    CompiledKernel() = default;

    std::shared_ptr<void> library_;
    int (*function_)(void **) = nullptr;
    int (*set_num_threads_)(int) = nullptr;
    std::vector<KernelArgument> arguments_;
    std::string target_, script_, slow_;
    std::string cannot_run_;  // why, or ""
    Assignments params_;
};

/** Values for every argument of one kernel. */
class KernelArguments {
public:
    explicit KernelArguments(const CompiledKernel &kernel);

    /** Makes the buffer of that name anew, poisoned. Throws Failure for an unknown name or rank. */
    HostBuffer &buffer(const std::string &name, const Layout &layout);

    /** The buffer made before. */
    HostBuffer &buffer(const std::string &name);

    /** Whether that buffer was made. */
    bool has_buffer(const std::string &name) const;

    void scalar(const std::string &name, double value);
    /** As it is stored. */
    double scalar(const std::string &name);

    /** Addresses in the kernel's order. Throws Failure where one has no value. */
    std::vector<void *> addresses();

    struct BufferArgument {
        halide_buffer_t *buffer;
        bool is_output;
    };
    std::vector<BufferArgument> buffers();
    std::vector<HostBuffer *> host_buffers();

    /** Bytes of all buffers. */
    size_t bytes() const;

private:
    struct Value {
        KernelArgument argument;
        std::unique_ptr<HostBuffer> buffer;
        halide_scalar_value_t scalar = {};
        bool given = false;
    };
    Value &find(const std::string &name);

    std::vector<Value> values_;
};

/** Builds a plan, whose outputs must be library and header, past the cache: a shared object at `path`. The bytes of the
 * library without the runtime. Throws Failure. */
int64_t build_shared_object(const Plan &plan, const std::string &path);

/** The shared object of such a plan in the cache, built where it is not there. Throws Failure. */
std::string cached_shared_object(const Plan &plan);

/** Whether shared objects are made with the system's compiler: in a build tree. What is installed has all that it takes. */
bool needs_linker();

/** Where a shared object at `path` has its runtime, unless a linker has put it inside. */
std::string runtime_beside(const std::string &path);

/** CXX, or c++. */
std::string system_compiler();

}  // namespace halyard

#endif
