#ifndef HALYARD_LOWERING_CUDA_PRINT_H
#define HALYARD_LOWERING_CUDA_PRINT_H

/** \file
 * A kernel as the text of a CUDA C++ function.
 */

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

struct PrintOptions {
    /** Buffers that are stored past the caches. */
    std::set<std::string> streamed;
    /** What is to be said where a Func is computed, such as a line of its schedule; "" for nothing. */
    std::function<std::string(const std::string &func)> note;
};

/** When a kernel does its work, as it may begin before the last one of its stream has ended: after that; beside it, and then it waits
 * for it in the end by itself; or as its statements say (simt/launch_wait.h). */
enum class Works { kAfterLast, kBesideLast, kWhereItSays };

/** The text of a kernel as it grows, for kernels that are more than their statements one after the other. */
class KernelPrinter {
public:
    /** Begins with the head of the function. What Funcs and loops are called is kept apart from what such a kernel calls its own. */
    KernelPrinter(const Kernel &kernel, const PrintOptions &options, Works works = Works::kAfterLast);
    ~KernelPrinter();

    void line(const std::string &text);
    /** A line, and those up to the matching close stand further in. */
    void open(const std::string &text);
    void close(const std::string &text = "}");
    /** The other branch of what an open line began. */
    void otherwise();
    void print(const Halide::Internal::Stmt &s);
    std::string expr(const Halide::Expr &e);
    std::string name(const std::string &halide_name);
    void declare_registers(const std::string &halide_name, const std::string &type, int elements);
    /** Of the tensor cores of sm_90a; `type` is float or int32_t. */
    void declare_sums(const std::string &halide_name, const std::string &type, int elements);
    std::string finish();

private:
    friend std::string print_kernel(const Kernel &, const PrintOptions &);
    class Statements;
    KernelPrinter(const Kernel &kernel, const PrintOptions &options, Works works, bool own_words);
    std::unique_ptr<Statements> statements_;
};

std::string print_kernel(const Kernel &kernel, const PrintOptions &options);

}  // namespace halyard

#endif
