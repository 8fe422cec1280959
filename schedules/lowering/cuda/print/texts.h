#ifndef HALYARD_LOWERING_CUDA_TEXTS_H
#define HALYARD_LOWERING_CUDA_TEXTS_H

/** \file
 * device.h with its parts, ampere.h with ampere_fused.h, skinny.h, hopper.h, tiles.h and the headers of the emulator, as text: a plugin
 * that is installed needs no folder of headers.
 */

#include <string>
#include <string_view>
#include <vector>

namespace halyard {

extern const std::string kDeviceHeader, kAmpereHeader, kSkinnyHeader, kHopperHeader, kTilesHeader;

struct Header {
    std::string name, text;
};
/** emulator.h, and what it, ampere.h and hopper.h include, in the folder emulator. */
extern const std::vector<Header> kEmulatorHeaders;

/** What printed kernels link (device/emulator_object.cpp). */
std::string_view emulator_object();

}  // namespace halyard

#endif
