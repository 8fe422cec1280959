#ifndef HALYARD_EMULATOR_H
#define HALYARD_EMULATOR_H

/** \file
 * The device of tests: what printed kernels stand on when the system's C++ compiler compiles them for the
 * host (see device.h). The shared object that comes of it is the image of a pipeline, and the driver of
 * tests/emulator loads it and runs its kernels.
 *
 * The blocks of a launch run one after the other, the threads of a block as coroutines on stacks of their
 * own: each runs until it waits for others. What a device does without a word is an error here, with the
 * kernel, the block, the thread, the array and the index: an access outside of an array or not aligned, a
 * read of shared memory that nobody wrote, a race in shared memory (an access to what another thread
 * wrote, or a write to what it read, with no barrier between the two), asynchronous copies that nobody
 * waited for, barriers that some threads never reach, or at which some wait while others wait at another one.
 *
 * Threads run in the order of HALYARD_EMULATOR_ORDER: forward, reverse, or shuffled by a number.
 */

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Nothing may leave a kernel's shared object: many of them are in one process.
#pragma GCC visibility push(hidden)

#include "arithmetic.h"
#include "atomics.h"
#include "copies.h"
#include "entry.h"
#include "vectors.h"
#include "warp.h"

#pragma GCC visibility pop

using namespace halyard;

#endif
