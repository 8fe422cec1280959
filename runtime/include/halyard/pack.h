#ifndef HALYARD_PACK_H
#define HALYARD_PACK_H

/** \file
 * Weights in the layout of a library's `_packed` arguments.
 *
 * A packed matrix has panels of some columns, one after the other, each of which a kernel reads from front to back. How many columns a
 * panel has is up to the library's schedule and target; its metadata, the function NAME_metadata() of its header, says it.
 *
 *     struct halyard_array weights, packed;
 *     halyard_array_init(&weights, w, "float32", 2, (int64_t[]){k, n}, NULL);       // as torch.nn.Linear: w[n][k]
 *     int64_t bytes = halyard_packed_bytes(gemm_metadata(), "b_packed", &weights.buffer);
 *     void *memory = malloc(bytes);                                                  // if bytes > 0
 *     if (halyard_pack(gemm_metadata(), "b_packed", &weights.buffer, memory, &packed) != 0) puts(halyard_last_error());
 *     gemm(&a.buffer, &packed.buffer, &y.buffer);
 *
 * The dimensions of `weights` are those of the argument in its plain layout: of a product [k, n], of a convolution
 * [channels, kernel x, kernel y, output channels, groups]. They may have any strides: a matrix that is written as w[k][n] is
 * {k, n} with strides {n, 1}. float32, float16 and bfloat16 are converted into what the library wants, to nearest, ties to even;
 * other types have to be the library's.
 *
 * Element (i, column) of a matrix lies at packed[i % group, column % panel, i / group, column / panel], innermost first; group is how many
 * rows one instruction multiplies (2 in bfloat16, 4 in 8 bits, else 1). Of a convolution i is the channel, column the output
 * channel, and the window and the groups stand between and behind them:
 * packed[i % group, column % panel, i / group, x, y, column / panel, g].
 */

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How many bytes the packed array of an argument has. `argument` may be NULL where the library has one `_packed` argument. Where
 * `weights` begins at a column (its dim[1].min, of a convolution dim[3].min) beyond 0, the columns before it count too. -1 with a text
 * in halyard_last_error() if the library has no such argument or the weights do not suit it. */
int64_t halyard_packed_bytes(const struct halide_filter_metadata_t *library, const char *argument, const struct halide_buffer_t *weights);

/** Packs weights into `memory` of halyard_packed_bytes() bytes, on the runtime's threads, and makes `packed` the array to call the
 * library with. Returns 0, or a code with a text in halyard_last_error().
 *
 * Matrices side by side are packed one after the other into the same memory, each with the number of its first column as the minimum
 * of its columns; the last call's `packed` has them all. The memory shares none with weights. What fills up the last panel is not written, and does not matter. */
int halyard_pack(const struct halide_filter_metadata_t *library, const char *argument, const struct halide_buffer_t *weights, void *memory,
                 struct halyard_array *packed);

/** Sums of 8-bit weights, for arguments such as `b_sum` that a library with zero points wants: of weights [k, n] into
 * sums [n]; of [channels, x, y, output channels, groups] into [output channels, groups], or per element of the window into
 * [output channels, x, y, groups]. Sums are int32. Returns 0, or a code with a text in halyard_last_error(). */
int halyard_sum_weights(const struct halide_buffer_t *weights, struct halide_buffer_t *sums);

#ifdef __cplusplus
}
#endif

#endif
