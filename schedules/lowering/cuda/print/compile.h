#ifndef HALYARD_LOWERING_CUDA_COMPILE_H
#define HALYARD_LOWERING_CUDA_COMPILE_H

/** \file
 * From the text of kernels to what the launcher loads.
 */

#include <string>
#include <vector>

namespace halyard {

/** Whether an architecture is that of hopper.h. Others, from sm_80 on, are that of ampere.h. */
bool is_hopper(const std::string &architecture);

/** The text of some kernels. */
struct DeviceProgram {
    std::string source;         // "" for none
    bool tensor_cores = false;  // with what an architecture has for them
};

/** Of each program a fatbin: machine code for each architecture, such as "sm_90a", and PTX of the last for those to come; "" where there is
 * no source. They are compiled beside one another. Throws std::runtime_error with the compiler's messages. */
std::vector<std::string> compile_to_fatbins(const std::vector<DeviceProgram> &programs, const std::vector<std::string> &architectures);

/** The architectures that kernels are compiled for unless told otherwise. */
const std::vector<std::string> &default_architectures();

/** A shared object that runs the kernels on the host, over emulator.h. Throws std::runtime_error. */
std::string compile_for_emulator(const DeviceProgram &program);

}  // namespace halyard

#endif
