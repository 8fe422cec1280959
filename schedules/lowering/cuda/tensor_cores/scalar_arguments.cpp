#include "lowering/cuda/tensor_cores/scalar_arguments.h"

#include "lowering/cuda/tensor_cores/tensor_argument.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Undefined: that of the variable of its name.
Expr value_on_host(const std::string &name, const std::vector<const Operand *> &operands) {
    for (const auto *o : operands) {
        if (o->end.defined() && name == o->buffer + ".end") {
            return o->end;
        }
        for (int d = 0; d < o->rank(); d++) {
            if (name == o->buffer + ".extent." + std::to_string(d)) {
                return field_on_host(o->buffer, Call::buffer_get_extent, d);
            }
            if (name == o->buffer + ".stride." + std::to_string(d)) {
                return field_on_host(o->buffer, Call::buffer_get_stride, d);
            }
        }
    }
    return Expr();
}

}  // namespace

void add_scalars(Kernel &kernel, const std::vector<Expr> &used, const std::set<std::string> &local,
                 const std::vector<const Operand *> &operands) {
    FreeVariables free;
    for (const Expr &e : used) {
        e.accept(&free);
    }
    for (const auto &[name, type] : free.types) {
        if (!local.count(name) && name.find(".buffer") == std::string::npos) {
            kernel.arguments.push_back({name, false, false, type, Expr(), value_on_host(name, operands)});
        }
    }
}

void add_buffers(Kernel &kernel, const Kernel &base, const std::set<std::string> &needed) {
    for (const auto &a : base.arguments) {
        if (a.is_buffer && needed.count(a.name)) {
            kernel.arguments.push_back(a);
        }
    }
}

}  // namespace halyard
