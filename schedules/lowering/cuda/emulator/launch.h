#ifndef HALYARD_EMULATOR_LAUNCH_H
#define HALYARD_EMULATOR_LAUNCH_H

/** \file
 * How the emulated driver calls a kernel. What includes this alone needs nothing else of the emulator.
 */

#include <stdint.h>

#pragma GCC visibility push(hidden)
namespace halyard {
namespace emulator {

/** A live allocation of device memory: its addresses on the device, and where its bytes are. */
struct Region {
    uint64_t begin, end;
    char *bytes;
};

/** What the driver passes to the entry of a kernel, halyard_entry_NAME(Launch *). The entry returns 0, or
 * 1 and writes what is wrong to `error`. */
struct Launch {
    int grid[3], block[3], shared_bytes;
    void **parameters;
    int (*find)(uint64_t address, Region *region);  // whether the address is in an allocation
    /** Where the elements of the buffer begin and end that a parameter is of, in bytes from its address, and whether there is
     * anything between them that is no element. 0 where nothing is known of it. */
    int (*span)(int parameter, int64_t *begin, int64_t *end, int *gaps);
    /** Whether so many bytes from an offset on are all elements of it; else `place` becomes the coordinates of the first
     * that are not. */
    int (*holds)(int parameter, int64_t offset, int bytes, char *place, uint64_t place_bytes);
    char *stacks;  // of a block's threads, one after the other
    uint64_t stack_bytes;
    int order;  // 0: forward; -1: reverse; else the seed of a shuffle
    char *error;
    uint64_t error_bytes;
};

}  // namespace emulator
}  // namespace halyard
#pragma GCC visibility pop

#endif
