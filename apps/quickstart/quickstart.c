/* RMSNorm and a product with packed weights, on arrays of a C program: y = rms_norm(x) * weights^T, as in front of any linear layer. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <halyard/array.h>
#include <halyard/pack.h>
#include <halyard/runtime.h>

#include "norm.h"
#include "product.h"

enum { ROWS = 50, COLUMNS = 768, OUTPUTS = 1000 };

static float x[ROWS][COLUMNS], scale[COLUMNS], weights[OUTPUTS][COLUMNS], normed[ROWS][COLUMNS], y[ROWS][OUTPUTS];

static int fail(void) {
    fprintf(stderr, "%s\n", halyard_last_error());
    return 1;
}

static double expected(int row, int output) {
    double squares = 0, sum = 0;
    for (int c = 0; c < COLUMNS; c++) {
        squares += (double)x[row][c] * x[row][c];
    }
    for (int c = 0; c < COLUMNS; c++) {
        sum += x[row][c] / sqrt(squares / COLUMNS + 1e-6) * scale[c] * weights[output][c];
    }
    return sum;
}

int main(void) {
    for (int c = 0; c < COLUMNS; c++) {
        scale[c] = 1.0f + 0.1f * (float)(c % 3);
        for (int row = 0; row < ROWS; row++) {
            x[row][c] = (float)((row * 7 + c * 5) % 13) - 6.0f;
        }
        for (int output = 0; output < OUTPUTS; output++) {
            weights[output][c] = (float)((output * 3 + c * 11) % 17) / 8.0f - 1.0f;
        }
    }

    /* Extents stand innermost dimension first: float x[ROWS][COLUMNS] is {COLUMNS, ROWS}. */
    struct halyard_array ax, ascale, anormed, aweights, apacked, ay;
    const int64_t matrix[] = {COLUMNS, ROWS}, result[] = {OUTPUTS, ROWS}, linear[] = {COLUMNS, OUTPUTS};
    halyard_array_init(&ax, x, "float32", 2, matrix, NULL);
    halyard_array_init(&ascale, scale, "float32", 1, matrix, NULL);
    halyard_array_init(&anormed, normed, "float32", 2, matrix, NULL);
    halyard_array_init(&aweights, weights, "float32", 2, linear, NULL);
    halyard_array_init(&ay, y, "float32", 2, result, NULL);

    /* Once, when the program starts: in the layout that this library reads from front to back. */
    const int64_t bytes = halyard_packed_bytes(product_metadata(), "b_packed", &aweights.buffer);
    void *memory = bytes < 0 ? NULL : malloc((size_t)bytes);
    if (!memory || halyard_pack(product_metadata(), "b_packed", &aweights.buffer, memory, &apacked) != 0) {
        return fail();
    }

    if (norm(&ax.buffer, &ascale.buffer, 1e-6f, &anormed.buffer) != 0 || product(&anormed.buffer, &apacked.buffer, &ay.buffer) != 0) {
        return fail();
    }
    free(memory);

    double largest = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int output = 0; output < OUTPUTS; output++) {
            largest = fmax(largest, fabs(y[row][output] - expected(row, output)));
        }
    }
    printf("y[%d][%d] = %.4f, largest difference from double %.1e\n", ROWS - 1, OUTPUTS - 1, y[ROWS - 1][OUTPUTS - 1], largest);
    return largest < 1e-3 ? 0 : 1;
}
