#include "lowering/cuda/tensor_cores/joined_kernels.h"

#include <algorithm>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool same(const Expr &a, const Expr &b) {
    return a.defined() == b.defined() && (!a.defined() || equal(a, b));
}

}  // namespace

bool add_arguments(Kernel &into, const Kernel &more) {
    if (into.arguments.empty()) {
        into = more;
        return true;
    }
    for (size_t d = 0; d < into.threads.size(); d++) {
        if (!same(into.threads[d], more.threads[d])) {
            return false;
        }
    }
    into.shared_bytes = simplify(max(into.shared_bytes, more.shared_bytes));
    for (const LaunchArgument &a : more.arguments) {
        const auto known = std::find_if(into.arguments.begin(), into.arguments.end(), [&](const auto &k) { return k.name == a.name; });
        if (known == into.arguments.end()) {
            into.arguments.push_back(a);
            continue;
        }
        if (known->is_buffer != a.is_buffer || known->type != a.type || !same(known->tensor, a.tensor) || !same(known->value, a.value)) {
            return false;
        }
        known->is_written = known->is_written || a.is_written;
        known->strided_reads = std::min(known->strided_reads, a.strided_reads);
    }
    return true;
}

}  // namespace halyard
