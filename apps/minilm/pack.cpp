#include "pack.h"

namespace minilm {

void pack_rows(const float *weight, int rows, int k, int first, int panel, float *packed) {
    for (int row = 0; row < rows; row++) {
        const int column = first + row;
        float *to = packed + (size_t(column / panel) * size_t(k) * size_t(panel)) + column % panel;
        const float *from = weight + size_t(row) * size_t(k);
        for (int i = 0; i < k; i++) {
            to[size_t(i) * size_t(panel)] = from[i];
        }
    }
}

}  // namespace minilm
