#ifndef HALYARD_LOWERING_CUDA_COMPILE_H
#define HALYARD_LOWERING_CUDA_COMPILE_H

/** \file
 * From the text of kernels to what the launcher loads.
 */

#include <string>
#include <vector>

namespace halyard {

/** Machine code for each architecture, such as "sm_90a", and PTX of the last for those to come, as a fatbin.
 * `hopper`: with hopper.h. Throws std::runtime_error with the compiler's messages. */
std::string compile_to_fatbin(bool hopper, const std::string &source, const std::vector<std::string> &architectures);

/** The architectures that kernels are compiled for unless told otherwise. */
const std::vector<std::string> &default_architectures();

/** A shared object that runs the kernels on the host, over emulator.h. Throws std::runtime_error. */
std::string compile_for_emulator(bool hopper, const std::string &source);

}  // namespace halyard

#endif
