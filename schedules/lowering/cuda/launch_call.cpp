#include "lowering/cuda/launch_call.h"

#include <vector>

#include "lowering/cuda/launch_numbers.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A letter for each parameter of a kernel: how wide it is, or whether it is a buffer, a tensor for TMA or a
// counter (runtime's cuda_launch.cpp).
char kind_of(const LaunchArgument &a) {
    if (a.is_buffer || a.tensor.defined()) {
        return a.is_buffer ? 'b' : 't';
    }
    if (a.type.is_handle()) {
        return 'n';
    }
    switch (a.type.bytes()) {
    case 1: return 'c';
    case 2: return 's';
    case 4: return 'i';
    default: return 'l';
    }
}

Expr handle_of(const std::string &name) {
    return Variable::make(type_of<halide_buffer_t *>(), name);
}

}  // namespace

Expr user_context() {
    return Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic);
}

Stmt launch_call(const Kernel &kernel, const std::string &image, const Lets &lets, bool beside,
                 const std::function<void(const std::string &, const std::string &)> &fail) {
    std::string kinds;
    std::vector<Expr> values;
    for (const auto &a : kernel.arguments) {
        if (!a.is_buffer && !a.tensor.defined() && a.type.lanes() > 1) {
            fail(kernel.name, "takes a vector that the host computes; do not vectorize a loop around its blocks");
        }
        kinds += kind_of(a);
        values.push_back(a.is_buffer          ? handle_of(a.name + ".buffer")
                         : a.tensor.defined() ? a.tensor
                         : a.value.defined()  ? a.value
                                              : Expr(Variable::make(a.type, a.name)));
    }
    const Expr nowhere = reinterpret(Handle(), make_zero(UInt(64)));
    const Expr arguments = values.empty() ? nowhere : Call::make(Handle(), Call::make_struct, values, Call::Intrinsic);
    std::vector<Expr> args = {user_context(), handle_of(image), StringImm::make(kernel.name)};
    for (const auto &extents : {kernel.blocks, kernel.threads}) {
        for (const Expr &e : extents) {
            args.push_back(number_of_launch(e, lets));
        }
    }
    args.insert(args.end(), {number_of_launch(kernel.shared_bytes, lets), StringImm::make(kinds), arguments});
    const std::string result = unique_name("halyard_cuda_launch_result");
    const Expr code = Variable::make(Int(32), result);
    return LetStmt::make(result,
                         Call::make(Int(32), beside ? "halyard_cuda_launch_beside" : "halyard_cuda_launch_after", args, Call::Extern),
                         AssertStmt::make(code == 0, code));
}

}  // namespace halyard
