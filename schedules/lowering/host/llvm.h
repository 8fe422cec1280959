#ifndef HALYARD_LLVM_H
#define HALYARD_LLVM_H

/** \file
 * LLVM, as llvmlite's shared library has it: it is loaded where a schedule needs it, and no process
 * that holds Halide's own LLVM is to load it.
 */

#include <memory>
#include <string>

namespace halyard {

class Llvm {
public:
    /** Throws std::runtime_error where the library is not one, or not of the version that reads
     * what Halide's LLVM writes. */
    static const Llvm &load(const std::string &library);

    /** Textual IR of a module. Throws std::runtime_error, as do the others. */
    std::string disassemble(const std::string &bitcode) const;

    struct Code {
        std::string object, assembly, bitcode, ir;  // those asked for
    };
    struct Outputs {
        bool object = true, assembly = false, bitcode = false, ir = false;
    };

    /** Verifies a module, inlines what the edit calls, and makes machine code by the settings that
     * Halide left in the module. */
    Code compile(const std::string &ir, const Outputs &outputs) const;

private:
    explicit Llvm(const std::string &library);

    struct Functions;
    std::shared_ptr<const Functions> f_;
};

}  // namespace halyard

#endif
