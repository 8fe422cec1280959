#include "lowering/cuda/devices_of_library.h"

#include <algorithm>

#include "lowering/cuda/launch_call.h"
#include "lowering/cuda/print/compile.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const char *const kIsHopper = "halyard_device_of_hopper";

Expr is_device_of_hopper() {
    return Call::make(Int(32), "halyard_cuda_capability", {user_context()}, Call::Extern) == 90;
}

}  // namespace

DevicesOfLibrary::DevicesOfLibrary(const std::vector<std::string> &architectures)
    : hopper_(std::any_of(architectures.begin(), architectures.end(), is_hopper)),
      others_(!std::all_of(architectures.begin(), architectures.end(), is_hopper)) {}

std::string DevicesOfLibrary::macro(Devices devices) const {
    if (devices == Devices::kAll || !hopper_ || !others_) {
        return "";
    }
    return devices == Devices::kHopper ? "HALYARD_HOPPER" : "HALYARD_AMPERE";
}

Stmt DevicesOfLibrary::choose(const Stmt &hopper, const Stmt &others) const {
    return !hopper_ ? others : others_ ? IfThenElse::make(is_device_of_hopper(), hopper, others) : hopper;
}

Expr DevicesOfLibrary::choose(const Expr &hopper, const Expr &others) const {
    return !hopper_ ? others : others_ && !equal(hopper, others) ? select(Variable::make(Bool(), kIsHopper), hopper, others) : hopper;
}

Stmt DevicesOfLibrary::ask_once(const Stmt &s) const {
    return hopper_ && others_ ? LetStmt::make(kIsHopper, is_device_of_hopper(), s) : s;
}

}  // namespace halyard
