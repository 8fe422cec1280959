#ifndef HALYARD_LOWERING_CUDA_DEVICES_OF_LIBRARY_H
#define HALYARD_LOWERING_CUDA_DEVICES_OF_LIBRARY_H

/** \file
 * Which devices a library is for: kernels of sm_90a have instructions that no other has, so that the host chooses between two kinds.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** What printed kernels are for. */
enum class Devices { kHopper, kOthers, kAll };

class DevicesOfLibrary {
public:
    /** Of architectures as "sm_90a". */
    explicit DevicesOfLibrary(const std::vector<std::string> &architectures);

    bool hopper() const {
        return hopper_;
    }
    bool others() const {
        return others_;
    }

    /** The macro that is defined where kernels for these devices are compiled, "" for all. */
    std::string macro(Devices devices) const;

    /** What runs on this device. Of a kind that the library is not for, it may be undefined. */
    Halide::Internal::Stmt choose(const Halide::Internal::Stmt &hopper, const Halide::Internal::Stmt &others) const;

    /** What holds on this device, inside of ask_once(). */
    Halide::Expr choose(const Halide::Expr &hopper, const Halide::Expr &others) const;

    /** The statement, before which the device is asked which kind it is, if there are two. */
    Halide::Internal::Stmt ask_once(const Halide::Internal::Stmt &s) const;

private:
    bool hopper_, others_;
};

}  // namespace halyard

#endif
