#ifndef HALYARD_LOWERING_EXTERN_CALL_H
#define HALYARD_LOWERING_EXTERN_CALL_H

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** The statement that calls a function of the runtime, or one that the finishing step writes (finish_ir.h). */
inline Halide::Internal::Stmt call_of(const std::string &name, const std::vector<Halide::Expr> &args) {
    using namespace Halide::Internal;
    return Evaluate::make(Call::make(Halide::Int(32), name, args, Call::Extern));
}

}  // namespace halyard

#endif
