#ifndef HALYARD_BLOCKS_H
#define HALYARD_BLOCKS_H

/** \file
 * Weights from the layouts of files in those that gemm_q takes, and back to the bit.
 *
 * Blocks of GGUF files (Q4_0 to Q6_K) need no packing: gemm_q reads them as they lie. It is faster, in 8 bits by several times, where
 * blocks of some columns are interleaved once (interleaved=16), and on a GPU, and for weights of 16 and 32 bits, it wants that:
 *
 *     format                 Q4_0   Q4_1   Q5_0   Q5_1   Q8_0   Q4_K   Q5_K   Q6_K   F16, BF16    F32
 *     elements of a block      32     32     32     32     32    256    256    256          32      32
 *     bytes of one             18     20     22     24     34    144    176    210          64     128
 *     interleaved              18     20     22     24     34    148    180    210          64     128
 *
 *     blocks        [bytes, k / elements, n]
 *     interleaved   [interleaved * columns, k / elements, ceil(n / columns)], with 8, 16 or 32 columns
 *
 * An interleaved block has one after the other, each of the first column, of the second and so on:
 *
 *     the scale d of f16, and then of all columns the minimum, if there is one
 *     of blocks of 256 what d is multiplied by, a byte for 32 elements (of Q6_K for 16), then the same of minima
 *     of each 32 elements the bits beyond the fourth, in 4 bytes (of Q6_K 8): bit i of byte j, or bits 2 (i % 4) of byte j + 4 (i / 4), of element j + 4 i
 *     of each 32 elements 16 bytes, by fours: byte j has element j in its low bits and element j + 16 in its high ones; of Q8_0 32 bytes
 *
 * Of f16, bf16 and f32, any numbers of 16 or 32 bits, 32 of a column are a block, in the file and interleaved, 4 bytes after the other.
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

/** What an interleaved block has of a column, in bytes, where one of a file has `bytes` of them; 0 where no format has. */
int halyard_interleaved_bytes(int bytes);

/** Blocks of GGUF files into interleaved ones, on the runtime's threads, to the bit. The bytes of a block lie one after the other, columns and blocks
 * have any strides; gemm_q wants interleaved ones of a column dense. Returns as above. */
int halyard_interleave_blocks(const struct halide_buffer_t *blocks, struct halide_buffer_t *interleaved);

/** The way back. */
int halyard_deinterleave_blocks(const struct halide_buffer_t *interleaved, struct halide_buffer_t *blocks);

#ifdef __cplusplus
}
#endif

#endif
