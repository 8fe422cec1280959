#ifndef MINILM_PACK_H
#define MINILM_PACK_H

/** \file
 * GEMM weights in panels: the micro-kernel reads one panel from end to end.
 */

#include <cstddef>

#include "precision.h"

namespace minilm {

/** Columns of a panel, where kernels do not say otherwise. Their schedules fix it: three vectors of AVX-512. */
#ifdef MINILM_PANEL
constexpr int default_panel = MINILM_PANEL;
#else
constexpr int default_panel = 48;
#endif

/** In place of a panel's columns: the matrix as it is written, k rows of n columns. */
constexpr int whole_matrix = 0;

/** Columns of a panel, and rows that lie together in it. */
struct Packing {
    int panel, group;
};

/** A whole matrix is one panel of all columns, in groups of one row. */
inline Packing packing_of(Precision precision, int n, int panel) {
    return panel == whole_matrix ? Packing{n, 1} : Packing{panel, group_of(precision)};
}

inline int panel_count(int n, int panel) {
    return (n + panel - 1) / panel;
}

/** Elements of packed panels: k is rounded up to whole groups. */
inline size_t packed_size(int n, int k, Packing packing) {
    const auto [panel, group] = packing;
    return size_t(panel_count(n, panel)) * size_t((k + group - 1) / group * group) * size_t(panel);
}

/** Put a torch Linear weight of `rows` rows [rows][k] at column `first` of packed
 * panels: element (column, k) goes to
 * packed[column / panel][k / group][column % panel][k % group], rounded to the precision.
 * Several calls with rising `first` concatenate weights horizontally. */
void pack_rows(Precision precision, const float *weight, int rows, int k, int first, Packing packing, void *packed);

}  // namespace minilm

#endif
