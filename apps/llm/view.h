#ifndef HALYARD_LLM_VIEW_H
#define HALYARD_LLM_VIEW_H

/** \file
 * Views of the decoder's arrays.
 */

#include "common/buffer_view.h"

namespace halyard_llm {

using halyard_apps::BufferView;
using halyard_apps::dim;

constexpr halide_type_t kFloatType{halide_type_float, 32}, kByteType{halide_type_uint, 8}, kIntType{halide_type_int, 32};

/** Dense rows of f32. */
class Rows : public BufferView<2> {
public:
    Rows(const void *host, int64_t columns, int64_t rows) : BufferView<2>(kFloatType, host, dim(columns, 1), dim(rows, columns)) {}
};

}  // namespace halyard_llm

#endif
