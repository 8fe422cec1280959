#ifndef HALYARD_RUNTIME_H
#define HALYARD_RUNTIME_H

/** \file
 * What a program that links Halyard libraries may ask of their shared runtime.
 *
 * Every library is a C function `int NAME(buffers and scalars...)` over halide_buffer_t
 * (HalideRuntime.h), innermost dimension first, strides in elements. It returns 0, or the code of
 * an error whose text halyard_last_error() gives. Any number of libraries share one runtime.
 * The number of threads is set with halide_set_num_threads() (default: processors online, or the
 * environment variable HL_NUM_THREADS).
 */

#include "HalideRuntime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The message of the last error on the calling thread, "" if there was none: the name of the function that was
 * called, a colon, and what is wrong. Valid until the next
 * error on this thread. Installing a handler with halide_set_error_handler() replaces this. */
const char *halyard_last_error(void);

/** For how many microseconds an idle worker thread waits for more work before it sleeps (default
 * 50; 0 sleeps at once). Waking a sleeping thread may take longer than a short call, so a chain of
 * these wants a wait longer than the gaps between them. Set it while no call is running. */
void halyard_set_spin_microseconds(int microseconds);

/** How many bytes of the memory that calls need for themselves a thread keeps for its next call (default 32 MiB; 0:
 * none). The calling thread gives back what is more at once, another when it next frees some, and all when it
 * ends. Memory that is new in each call costs time, as the system clears it. halide_set_custom_malloc() replaces all of this. */
void halyard_set_kept_bytes(size_t bytes);

/** Whether each call of a library writes one line to standard error, with its function and target, the types and extents of its
 * buffers (innermost dimension first), the version of its schedule that these sizes took, and its time in microseconds:
 *
 *   halyard: softmax[cuda] logits=bfloat16[4096,8] y=bfloat16[4096,8] version{threads=256} 12.3 us
 *
 * At the start the environment variable HALYARD_VERBOSE says so (1: each call; 0 or none: nothing). A call on a device is waited for, but
 * for one whose stream is being captured. */
void halyard_set_verbose(int on);

#ifdef __cplusplus
}
#endif

#endif
