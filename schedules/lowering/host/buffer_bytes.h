#ifndef HALYARD_LOWERING_BUFFER_BYTES_H
#define HALYARD_LOWERING_BUFFER_BYTES_H

/** \file
 * The size of a buffer of the caller's, as an expression of a lowered pipeline.
 */

#include <string>

#include <Halide.h>

namespace halyard {

/** An extent of the buffer `name`. */
inline Halide::Expr buffer_extent(const std::string &name, int dimension) {
    using namespace Halide;
    using namespace Halide::Internal;
    return Call::make(Int(32), Call::buffer_get_extent, {Variable::make(type_of<halide_buffer_t *>(), name + ".buffer"), dimension},
                      Call::Extern);
}

/** Its elements in bytes, as an int64. */
inline Halide::Expr buffer_bytes(const std::string &name, int element_bytes, int dimensions) {
    using namespace Halide;
    Expr bytes = Internal::make_const(Int(64), element_bytes);
    for (int d = 0; d < dimensions; d++) {
        bytes *= cast<int64_t>(buffer_extent(name, d));
    }
    return bytes;
}

}  // namespace halyard

#endif
