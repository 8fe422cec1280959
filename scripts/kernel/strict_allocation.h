#ifndef HALYARD_COMMAND_STRICT_ALLOCATION_H
#define HALYARD_COMMAND_STRICT_ALLOCATION_H

/** \file
 * What a library may be told to take its memory from (halide_set_custom_malloc) where nothing that is wrong is to go by unseen.
 */

#include <cstddef>
#include <cstdint>

namespace halyard {

/** What memory is full of until somebody stores there: NaN as a float of 16 and 32 bits, huge as one of 64, and as an index it leads nowhere. */
constexpr uint16_t kUnstored = 0x7fd5;

/** Memory between pages that nobody may touch, full of kUnstored; null where there is none. What is read or stored behind its end by more
 * than alignment fills up ends the process. */
void *strict_allocate(void *user_context, size_t bytes);
void strict_release(void *user_context, void *data);

}  // namespace halyard

#endif
