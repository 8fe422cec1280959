#ifndef HALYARD_CUDA_H
#define HALYARD_CUDA_H

/** \file
 * Where CUDA libraries run: device, context and stream of the calling thread, and the caller's own
 * device memory as halide_buffer_t. Worker threads of a parallel loop use what its caller has chosen.
 *
 * A library queues its kernels on the calling thread's stream and returns; halide_copy_to_host() and
 * halyard_cuda_synchronize() wait, and nothing else does. Temporary device memory comes from a pool in
 * the order of the stream. A call whose buffers are on the device already (halyard_cuda_wrap(), or
 * after halide_copy_to_device()) can be captured into a CUDA graph: the first one too, though it
 * loads the library's module then.
 *
 * Nothing here needs NVIDIA's headers: the types are those of the driver API, and a cudaStream_t or
 * torch.cuda.current_stream().cuda_stream is a CUstream. Functions that return int return 0 or an
 * error code, with the text in halyard_last_error(). Where there is no NVIDIA driver, every call that
 * needs one returns an error that says so.
 */

#include <stddef.h>

#include "HalideRuntime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;    /* *CUcontext */
struct CUstream_st; /* *CUstream, *cudaStream_t */

/** The stream that calls of this thread use from now on. NULL, as at the start, is the default stream.
 *
 * Device memory that a library or halide_device_malloc() allocates belongs to the stream of that
 * moment, as with cudaMallocAsync(): a use on another stream has to be ordered after it by an event,
 * and a halide_device_free() frees in the order of the stream of the thread that calls it. */
void halyard_cuda_set_stream(struct CUstream_st *stream);
struct CUstream_st *halyard_cuda_stream(void);

/** The context that calls of this thread use from now on. NULL, as at the start, is the primary
 * context of the thread's device, which the CUDA runtime API and torch use too. Before a context of
 * your own is destroyed, halyard_cuda_release_context() has to be called. */
void halyard_cuda_set_context(struct CUctx_st *context);

/** The device that calls of this thread use from now on, where no context is set. -1, as at the
 * start: the one of halide_set_gpu_device() or of the environment variable HL_GPU_DEVICE; without
 * those, the context that is current on the thread (cudaSetDevice(), torch.cuda.device), or device 0. */
void halyard_cuda_set_device(int device);

/** How many devices there are; 0 where there is no driver. */
int halyard_cuda_device_count(void);

/** Whether calls of this thread are captured into a CUDA graph now, in place of being run. */
int halyard_cuda_is_captured(void);

/** Multiprocessors of the device that a call of this thread goes to, where `user_context` is NULL, by which a program picks
 * between libraries for small and for large arguments. At least 1; an error shows at the call. */
int halyard_cuda_multiprocessors(void *user_context);

/** Makes device memory of the caller the buffer's: `buffer` has no device memory yet, its extents and
 * strides say what is behind `pointer`, the address of the element at the minima. Nothing is copied or
 * taken over. Host memory in its place is an error; of a buffer without elements the pointer may be anything, null too. */
int halyard_cuda_wrap(struct halide_buffer_t *buffer, const void *pointer);

/** Device memory of the caller from which calls of this thread take their temporary arrays from now on, in place of the pool. What does
 * not fit is allocated from the pool as before; NULL ends it. It belongs to one stream at a time, as the arrays of a call do, and stays the
 * caller's: arrays of the caller are never put there, and threads that help with a parallel loop do not use it. It has to be memory of the
 * context that the calls use. */
void halyard_cuda_set_scratch(void *memory, size_t bytes);

/** Has the context of the thread's calls be current until halyard_cuda_leave(), so that many calls need not make it so one by one.
 * `*pushed` says whether that was to be done, and is handed back. */
int halyard_cuda_enter(int *pushed);
void halyard_cuda_leave(int pushed);

/** Takes the caller's memory out of the buffer again. Call this, not halide_device_free(). */
int halyard_cuda_unwrap(struct halide_buffer_t *buffer);

/** Waits for everything on the calling thread's stream, and returns the first error of a kernel there.
 * An error inside a kernel is final for the context: every later call returns it too. */
int halyard_cuda_synchronize(void);

/** Unloads what libraries have loaded into a context; they load it again when they need it. No call
 * may be running in that context. */
void halyard_cuda_release_context(struct CUctx_st *context);

/** Gives back all that the runtime holds on every device: modules, memory pools, the primary contexts.
 * No call may be running. The same as halide_device_release() with the CUDA interface, and done by
 * itself when the program ends or the shared object with the runtime in it is closed; to be called
 * before one with a CUDA library in it is closed, while another one holds the runtime. */
void halyard_cuda_release(void);

#ifdef __cplusplus
}
#endif

#endif
