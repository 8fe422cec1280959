#ifndef HALYARD_TESTS_EMULATOR_DRIVER_H
#define HALYARD_TESTS_EMULATOR_DRIVER_H

/** \file
 * What the emulated driver (build/tests/emulator/libcuda.so.1) has beside the driver API. The runtime
 * loads it in place of libcuda where HALYARD_CUDA_DRIVER names it. */

struct halide_buffer_t;

#ifdef __cplusplus
extern "C" {
#endif

/** What was wrong with the last kernel of this thread, "" if nothing was. */
const char *halyard_emulator_last_error(void);

/** The buffers that the next launch of this thread has as its parameters, in their order; null for one that is no buffer. What
 * the kernel stores are their elements, and what it accesses lies between the first and the last of them, or it fails. Without
 * this, the ends of an allocation are all that is known. */
void halyard_emulator_arguments(int count, const struct halide_buffer_t *const *buffers);

/** Sets a number. Each has an environment variable too, HALYARD_EMULATOR_DEVICES and so on.
 *
 *   devices          how many there are (default 2)
 *   capability       such as 86 (default 90)
 *   memory           bytes of a device, in MiB (default 4096)
 *   pools            whether devices have memory pools (default 1)
 *   virtual_memory   whether addresses can be reserved without memory (default 1)
 *   fail_allocation  the allocation from now on that finds no memory: 1 is the next; 0 none
 *   fail_launch      the launch from now on that fails on the device; 0 none
 *   fail_load        the next module load returns this CUresult; 0 none */
void halyard_emulator_set(const char *name, int value);

/** How many there are now: "allocations" "modules" "contexts" "pools" "pushed" (contexts on this thread's
 * stack) "pool_bytes". Or were so far: "launches" "synchronisations" "allocated" "captured", and
 * launches "beside" the last one. */
int halyard_emulator_count(const char *name);

#ifdef __cplusplus
}
#endif

#endif
