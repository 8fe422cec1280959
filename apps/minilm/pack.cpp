#include "pack.h"

namespace minilm {

void pack_rows(Precision precision, const float *weight, int rows, int k, int first, Packing packing, void *packed) {
    const auto [panel, group] = packing;
    const size_t panel_size = packed_size(panel, k, packing);
    for (int row = 0; row < rows; row++) {
        const int column = first + row;
        const size_t start = size_t(column / panel) * panel_size + size_t(column % panel * group);
        const float *from = weight + size_t(row) * size_t(k);
        for (int i = 0; i < k; i++) {
            const size_t at = start + size_t(i / group) * size_t(panel * group) + size_t(i % group);
            store(precision, from + i, 1, element(precision, packed, at));
        }
    }
}

}  // namespace minilm
