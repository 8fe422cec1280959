#ifndef HALYARD_BLOCKS_H
#define HALYARD_BLOCKS_H

/** \file
 * Weights from the layouts of files in those that gemm_q takes, and back to the bit.
 *
 * Blocks of GGUF files (Q4_0 to Q6_K) need no packing: gemm_q reads them as they lie. It is faster, in 8 bits by several times, where
 * blocks of some columns are interleaved once (interleaved=16):
 *
 *     blocks        [bytes, k / 32, n]: 18 bytes of Q4_0, 20 of Q4_1, 34 of Q8_0
 *     interleaved   [bytes * columns, k / 32, ceil(n / columns)], with 8, 16 or 32 columns: the scales of all columns, of Q4_1 their
 *                   minima, then bytes 0 to 3 of the weights of the first column, of the second and so on, then bytes 4 to 7 of each
 *
 * What fills up the last columns is 0. Files of GPTQ and AWQ have words of 32 bits
 * with eight weights each:
 *
 *     layout                      words, innermost first    the weight in bits 4 j to 4 j + 3
 *     HALYARD_WORDS_ALONG_K       [n, k / 8]                 k = 8 word + j                               (GPTQ, qweight)
 *     HALYARD_WORDS_ALONG_N       [n / 8, k]                 n = 8 word + j                               (GPTQ, qzeros)
 *     HALYARD_WORDS_AWQ           [n / 8, k]                 n = 8 word + (0, 2, 4, 6, 1, 3, 5, 7)[j]     (AWQ, qweight and qzeros)
 *
 * What words become is `int4` [k / 2, n] of bytes, any strides: of each block of 32 weights of a column, 16 bytes, byte i has weight i in its
 * low bits and weight i + 16 in its high ones. Zero points become bytes [k / group_size, n], as `b_zero` has them.
 */

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

enum halyard_words { HALYARD_WORDS_ALONG_K, HALYARD_WORDS_ALONG_N, HALYARD_WORDS_AWQ };

/** Words of 32 bits, int32 or uint32, into `int4`, on the runtime's threads. Returns 0, or a code with a text in halyard_last_error(). */
int halyard_pack_int4(enum halyard_words layout, const struct halide_buffer_t *words, struct halide_buffer_t *int4);

/** The way back. */
int halyard_unpack_int4(enum halyard_words layout, const struct halide_buffer_t *int4, struct halide_buffer_t *words);

/** Zero points of groups, in words along n, into bytes [groups, n]. `more` is added to each, in 4 bits: 1 for files of GPTQ of format 1,
 * which have them less one, else 0. Returns as above. */
int halyard_pack_zeros(enum halyard_words layout, const struct halide_buffer_t *words, int more, struct halide_buffer_t *zeros);

/** Blocks of GGUF files into interleaved ones, on the runtime's threads. The bytes of a block lie one after the other, columns and blocks
 * have any strides; gemm_q wants interleaved ones of a column dense. Returns as above. */
int halyard_interleave_blocks(const struct halide_buffer_t *blocks, struct halide_buffer_t *interleaved);

/** The way back. */
int halyard_deinterleave_blocks(const struct halide_buffer_t *interleaved, struct halide_buffer_t *blocks);

#ifdef __cplusplus
}
#endif

#endif
