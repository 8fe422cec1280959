#ifndef HALYARD_COMMAND_CUBIN_H
#define HALYARD_COMMAND_CUBIN_H

/** \file
 * What NVIDIA's assembler says of the kernels in a fatbin: the ELF sections of its machine code.
 */

#include <map>
#include <string>

namespace halyard {

/** What a kernel takes of a multiprocessor. */
struct KernelResources {
    int registers = 0;     // a thread
    int shared_bytes = 0;  // a block, of fixed size; a launch may ask for more
    int stack_bytes = 0;   // a thread's local memory: arrays with computed indices, and spilled registers
    int code_bytes = 0;
};

/** Of each kernel in the machine code for an architecture (90 for sm_90a); empty where the fatbin has none for it, or is
 * none. `image` as a library has it. Throws Failure where it is damaged. */
std::map<std::string, KernelResources> resources_of(const void *image, int architecture);

}  // namespace halyard

#endif
