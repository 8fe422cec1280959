#include "lowering/cuda/tensor_cores/tensor_argument.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kAlignment = 16;  // bytes

Expr handle(const std::string &buffer) {
    return Variable::make(type_of<halide_buffer_t *>(), buffer + ".buffer");
}

// As runtime/cuda_tensor.h numbers them.
int tensor_type(const Type &type) {
    return type.bits() == 8 ? 2 : type.bits() == 32 ? (type.is_float() ? 3 : 4) : type.is_bfloat() ? 1 : 0;
}

}  // namespace

Expr field_on_host(const std::string &buffer, const char *getter, int dimension) {
    return Call::make(Int(32), getter, {handle(buffer), dimension}, Call::Extern);
}

Expr address_on_host(const std::string &buffer) {
    return Call::make(UInt(64), Call::buffer_get_device, {handle(buffer)}, Call::Extern);
}

Expr tensor_argument(const std::string &buffer, const Type &type, const std::vector<int> &box, const std::vector<int> &step, int ends,
                     const Expr &end, bool swizzled) {
    const int rank = int(box.size());
    std::vector<Expr> fields = {handle(buffer), tensor_type(type), rank};
    for (int d = 0; d < kMaxRank; d++) {
        fields.push_back(d == ends && end.defined() ? end : d < rank ? field_on_host(buffer, Call::buffer_get_extent, d) : Expr(1));
    }
    for (int d = 1; d < kMaxRank; d++) {
        fields.push_back(d < rank ? field_on_host(buffer, Call::buffer_get_stride, d) : Expr(0));
    }
    for (int d = 0; d < kMaxRank; d++) {
        fields.emplace_back(d < rank ? box[size_t(d)] : 1);
    }
    for (int d = 0; d < kMaxRank; d++) {
        fields.emplace_back(d < int(step.size()) ? step[size_t(d)] : 1);
    }
    fields.emplace_back(swizzled ? 1 : 0);
    return Call::make(Handle(), Call::make_struct, fields, Call::Intrinsic);
}

Expr is_tensor(const std::string &buffer, const Type &type, int rank) {
    const Expr across = field_on_host(buffer, Call::buffer_get_extent, 0);
    Expr yes = address_on_host(buffer) % make_const(UInt(64), kAlignment) == make_zero(UInt(64)) && across > 0;
    for (int d = 1; d < rank; d++) {
        const Expr stride = field_on_host(buffer, Call::buffer_get_stride, d), extent = field_on_host(buffer, Call::buffer_get_extent, d);
        // A dimension of one has no stride that matters.
        yes = yes && (extent == 1 || (stride % (kAlignment / type.bytes()) == 0 && (d == 1 ? stride >= across : stride > 0))) && extent > 0;
    }
    return yes;
}

Expr is_stored_tensor(const std::string &buffer, const Type &type, int rank) {
    const Expr across = field_on_host(buffer, Call::buffer_get_extent, 0);
    return is_tensor(buffer, type, rank) && across % (kAlignment / type.bytes()) == 0;
}

}  // namespace halyard
