#ifndef HALYARD_COMMAND_KERNEL_PRINTS_H
#define HALYARD_COMMAND_KERNEL_PRINTS_H

/** \file
 * What a kernel prints while this process calls it, as a schedule with trace words does.
 */

namespace halyard {

/** A halide_print_t: writes to standard error, where it is text (terminal_guard.h) and no part of what the command answers. Of
 * all kernels together 1 MiB, then a note that more is left out. */
void print_of_kernel(void *user_context, const char *text);

}  // namespace halyard

#endif
