#ifndef HALYARD_LOWERING_CUDA_PRINT_EXPR_H
#define HALYARD_LOWERING_CUDA_PRINT_EXPR_H

/** \file
 * Expressions of Halide's IR as CUDA C++ in the words of device.h.
 */

#include <functional>
#include <string>

#include <Halide.h>

#include "lowering/cuda/print/expr_text.h"
#include "lowering/cuda/print/names.h"

namespace halyard {

/** An intrinsic: the larger of two floats, or a NaN if one is. */
extern const char *const kMaxOrNan;

/** Where an array lies, which says how its elements are reached. kScalar: one element, in a register. */
enum class Memory { kDevice, kShared, kRegisters, kScalar };

class ExprPrinter {
public:
    /** `memory_of` says where an array is, `line` takes a line of code that has to stand before the expression. */
    ExprPrinter(Names &names, std::function<Memory(const std::string &)> memory_of, std::function<void(const std::string &)> line)
        : names_(names), memory_of_(std::move(memory_of)), line_(std::move(line)) {}

    std::string print(const Halide::Expr &e);

    /** A statement that stores: `y[i] = v;` or a call of store. `streaming`: past the caches. */
    std::string print_store(const Halide::Internal::Store *op, bool streaming);

    /** Throws what the compiler reports for IR that it has no words for. */
    [[noreturn]] static void unsupported(const std::string &what);

private:
    class Visitor;
    Names &names_;
    std::function<Memory(const std::string &)> memory_of_;
    std::function<void(const std::string &)> line_;
};

}  // namespace halyard

#endif
