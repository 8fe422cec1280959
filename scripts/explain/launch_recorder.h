#ifndef HALYARD_COMMAND_LAUNCH_RECORDER_H
#define HALYARD_COMMAND_LAUNCH_RECORDER_H

/** \file
 * A CUDA driver without a device: it launches nothing, and writes down what it was asked to launch. A library of ours that
 * runs over it (HALYARD_CUDA_DRIVER) so says with which grids it would call its kernels, on any machine.
 *
 * Its device has the capability and the multiprocessors of HALYARD_RECORDER_CAPABILITY and
 * HALYARD_RECORDER_MULTIPROCESSORS.
 */

#include <cstddef>

extern "C" {

struct HalyardLaunch {
    const char *kernel;
    const void *image;  // of its module
    unsigned grid[3], block[3], shared_bytes;
};

/** The launches since the process began, and how many there are. */
const HalyardLaunch *halyard_recorded_launches(size_t *count);

/** The bytes that are allocated, and at most were at once. */
size_t halyard_recorded_memory();
}

#endif
