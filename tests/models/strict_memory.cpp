// The memory of strict_allocation.h, for calls from Python.

#include "kernel/strict_allocation.h"

extern "C" {

void *models_allocate(void *user_context, size_t bytes) {
    return halyard::strict_allocate(user_context, bytes);
}

void models_release(void *user_context, void *data) {
    halyard::strict_release(user_context, data);
}
}
