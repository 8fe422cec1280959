#ifndef MINILM_BUFFER_VIEW_H
#define MINILM_BUFFER_VIEW_H

/** \file
 * Views of the encoder's arrays, by their precision.
 */

#include "common/buffer_view.h"
#include "precision.h"

namespace minilm {

template<int Dimensions>
class BufferView : public halyard_apps::BufferView<Dimensions> {
public:
    template<typename... Dims>
    BufferView(Precision precision, const void *host, Dims... dims)
        : halyard_apps::BufferView<Dimensions>(type_of(precision), host, dims...) {}
};

inline halide_dimension_t dense(int extent, int stride) {
    return halide_dimension_t(0, extent, stride);
}

/** Dense rows of `columns` elements. */
class MatrixView : public BufferView<2> {
public:
    MatrixView(Precision precision, const void *host, int columns, int rows)
        : BufferView<2>(precision, host, dense(columns, 1), dense(rows, columns)) {}
};

class VectorView : public BufferView<1> {
public:
    VectorView(Precision precision, const void *host, int count) : BufferView<1>(precision, host, dense(count, 1)) {}
};

/** Panels of a packed weight: row in its group, column in the panel, group, panel. */
class PanelView : public BufferView<4> {
public:
    PanelView(Precision precision, const void *host, int panel, int k, int panels)
        : PanelView(precision, host, group_of(precision), panel, groups(k, group_of(precision)), panels) {}

private:
    PanelView(Precision precision, const void *host, int group, int panel, int groups, int panels)
        : BufferView<4>(precision, host, dense(group, 1), dense(panel, group), dense(groups, group * panel),
                        dense(panels, group * panel * groups)) {}

    static int groups(int k, int group) {
        return (k + group - 1) / group;
    }
};

}  // namespace minilm

#endif
