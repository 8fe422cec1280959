#ifndef HALYARD_LOWERING_CUDA_TEXTS_H
#define HALYARD_LOWERING_CUDA_TEXTS_H

/** \file
 * device.h, hopper.h and emulator.h, as text: a plugin that is installed needs no folder of headers.
 */

#include <string>

namespace halyard {

extern const std::string kDeviceHeader, kHopperHeader, kEmulatorHeader;

}  // namespace halyard

#endif
