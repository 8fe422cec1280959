// y[i] = 2 x[i] as a library that Halide might have written, in variants that do what a candidate should not.

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <HalideRuntime.h>

static const int64_t zero = 0, size = 1000;
static int64_t const *const estimates[] = {&zero, &size};
static const struct halide_filter_argument_t arguments[] = {
    {"x", halide_argument_kind_input_buffer, 1, {halide_type_float, 32, 1}, 0, 0, 0, 0, estimates},
    {"y", halide_argument_kind_output_buffer, 1, {halide_type_float, 32, 1}, 0, 0, 0, 0, estimates},
};
static const struct halide_filter_metadata_t metadata = {1, 2, arguments, "x86-64-linux", "fake"};

const struct halide_filter_metadata_t *fake_metadata(void) {
    return &metadata;
}

// Seconds of processor time, which is what one thread is timed by.
static void work(double seconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

#if defined(HALYARD_ESCAPE)
// Whether it gets out of its folder: to a file, to the network, to a process of its own.
static int escapes(void) {
    FILE *secret = fopen(getenv("HALYARD_SECRET"), "r"), *victim = fopen(getenv("HALYARD_VICTIM"), "w");
    const int network = socket(AF_INET, SOCK_STREAM, 0);
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    return secret || victim || network >= 0 || child > 0;
}
#endif

int fake_argv(void **args) {
    static int calls = 0;
    struct halide_buffer_t *x = args[0], *y = args[1];
    float factor = 2;
    if (!x->host && x->device == 0) {  // asks which elements are read
        x->dim[0] = y->dim[0];
        return 0;
    }
    if (!y->host && y->device == 0) {
        return 0;
    }
    calls++;
    work(2e-4);
#if defined(HALYARD_CRASH)
    *(volatile int *)0 = 1;
#elif defined(HALYARD_HANG)
    work(1e9);
#elif defined(HALYARD_WRONG)
    factor = 3;
#elif defined(HALYARD_RACE)
    factor = calls > 3 ? 3 : 2;
#elif defined(HALYARD_ESCAPE)
    factor = calls == 1 && escapes() ? 3 : 2;
#elif defined(HALYARD_SLOW)
    work(2e-2);
#elif defined(HALYARD_MEMORY)
    while (malloc((size_t)1 << 28)) {
    }
    return halide_error_code_out_of_memory;
#endif
#if defined(HALYARD_OUTSIDE)
    ((float *)y->host)[y->dim[0].extent] = 0;
#elif defined(HALYARD_UNSTORED)
    float *const memory = halide_malloc(NULL, 4);
    factor += *memory;  // 0, as the system gives it
    halide_free(NULL, memory);
#endif
    for (int i = 0; i < y->dim[0].extent; i++) {
        ((float *)y->host)[i] = factor * ((const float *)x->host)[i];
    }
    return 0;
}

int fake(struct halide_buffer_t *x, struct halide_buffer_t *y) {
    void *args[] = {x, y};
    return fake_argv(args);
}
