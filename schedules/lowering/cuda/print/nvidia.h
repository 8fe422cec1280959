#ifndef HALYARD_LOWERING_CUDA_NVIDIA_H
#define HALYARD_LOWERING_CUDA_NVIDIA_H

/** \file
 * NVIDIA's compiler (NVRTC) and packer (nvFatbin), which are loaded when a kernel is compiled: a build for the host
 * needs neither.
 */

#include <string>
#include <vector>

namespace halyard {

struct MachineCode {
    std::string cubin, ptx;
    std::string log;  // registers, spills and warnings, as the compiler tells them
};

/** `architecture` as "sm_90a". Throws std::runtime_error with the compiler's messages. */
MachineCode compile_with_nvrtc(const std::string &source, const std::string &architecture);

struct Piece {
    std::string architecture;  // "sm_90a"
    std::string cubin, ptx;    // ptx may be empty
};

/** A fatbin, of which the driver takes the piece that fits the device. */
std::string pack_fatbin(const std::vector<Piece> &pieces);

}  // namespace halyard

#endif
