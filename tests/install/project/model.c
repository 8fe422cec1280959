#include <stdio.h>
#include <stdlib.h>

#include <halyard/runtime.h>

#include "my_model.h"

/* model WEIGHTS */
int main(int argc, char **argv) {
    my_model_model *model;
    my_model_sizes sizes = {.rows = 2};
    my_model_bytes bytes;
    if (argc != 2 || my_model_load(argv[1], &model) != 0 || my_model_measure(&sizes, &bytes) != 0) {
        printf("%s\n", halyard_last_error());
        return 1;
    }
    float x[6] = {1, -2, 3, -4, 5, -6}, y[6];
    void *workspace = aligned_alloc(64, bytes.workspace + 64);
    my_model_arrays arrays = {.x = x, .y = y};
    if (bytes.y != sizeof y || my_model_run(model, &sizes, &arrays, workspace) != 0 || y[1] != 0 || y[4] != 10) {
        printf("wrong: %f %f: %s\n", y[1], y[4], halyard_last_error());
        return 1;
    }
    free(workspace);
    my_model_unload(model);
    return 0;
}
