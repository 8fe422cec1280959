#include <stdio.h>

#include <halyard/runtime.h>

#include "norm.h"

int main(void) {
    float x[4] = {1, 2, 3, 4}, weight[4] = {1, 1, 1, 1}, y[4];
    struct halide_type_t f32 = {halide_type_float, 32, 1};
    halide_dimension_t matrix[2] = {{0, 4, 1, 0}, {0, 1, 4, 0}};
    halide_buffer_t bx = {0}, bw = {0}, by = {0};
    bx.host = (uint8_t *)x, bx.type = f32, bx.dimensions = 2, bx.dim = matrix;
    bw.host = (uint8_t *)weight, bw.type = f32, bw.dimensions = 1, bw.dim = matrix;
    by.host = (uint8_t *)y, by.type = f32, by.dimensions = 2, by.dim = matrix;
    if (norm(&bx, &bw, 0, &by) != 0 || y[3] < 1.46f || y[3] > 1.461f) {
        printf("wrong: %f\n", y[3]);
        return 1;
    }
    return 0;
}
