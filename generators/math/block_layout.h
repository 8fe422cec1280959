#ifndef HALYARD_MATH_BLOCK_LAYOUT_H
#define HALYARD_MATH_BLOCK_LAYOUT_H

/** \file
 * The formats of weights of 4 to 32 bits, k x n, in blocks of 32 along k, as files have them: column after column, k innermost.
 *
 * | format | argument | a weight |
 * | --- | --- | --- |
 * | q4_0 | b_q4_0 [18, k / 32, n]: a scale of f16 and 16 bytes | (q - 8) scale |
 * | q4_1 | b_q4_1 [20, k / 32, n]: scale and minimum of f16, and 16 bytes | q scale + minimum |
 * | q5_0 | b_q5_0 [22, k / 32, n]: a scale of f16, 4 bytes of fifth bits, and 16 bytes | (q - 16) scale |
 * | q5_1 | b_q5_1 [24, k / 32, n]: scale and minimum of f16, 4 bytes of fifth bits, and 16 bytes | q scale + minimum |
 * | q8_0 | b_q8_0 [34, k / 32, n]: a scale of f16 and 32 bytes | q scale |
 * | q4_k | b_q4_k [144, k / 256, n]: d and m of f16, 8 s and t of 6 bits in 12 bytes, and 128 bytes | q d s - m t |
 * | q5_k | b_q5_k [176, k / 256, n]: d and m of f16, 8 s and t of 6 bits in 12 bytes, 32 bytes of fifth bits, and 128 bytes | q d s - m t |
 * | q6_k | b_q6_k [210, k / 256, n]: 128 bytes, 64 of fifth and sixth bits, 16 s of 8 bits, one for 16 weights, and d of f16 | (q - 32) d s |
 * | int4 | b_int4 [k / 2, n], b_scale [k / group_size, n] of f32, b_zero [k / group_size, n] of bytes | (q - zero) scale |
 * | int8 | b_int8 [k, n], and the same | (q - zero) scale, q from -128 to 127, zero from 0 to 255 is 128 too high |
 *
 * Blocks of GGUF files may be interleaved, of some columns, which halyard_interleave_blocks of halyard/blocks.h does: a vector of them is of several
 * columns, so that sums of four are in lanes that are columns. b_q4_0_interleaved [18 columns, k / 32, ceil(n / columns)], or of blocks of 256
 * b_q4_k_interleaved [148 columns, k / 256, ceil(n / columns)], has one after the other, each of the first column, of the second and so on:
 *
 *   the scale (d) of f16, then of all columns the minimum (m)
 *   s of the first 32 elements, of the next 32 and so on, a byte each (of q6_k two of 32), then t of them
 *   fifth bits, or fifth and sixth, of 32 elements in 4 bytes, or 8, then of the next 32: in byte j of four, from the lowest bit on, those of elements
 *   j, j + 4 .. j + 28
 *   16 or 32 bytes of 32 elements, by fours, then of the next 32: byte i has element i in its low bits and element i + 16 in its high ones
 *
 * Numbers of f16, bf16 and f32 (formats of these names) are blocks of 32 without a scale, and only interleaved: one after the other in 4 bytes.
 *
 * Of 16 bytes with q of 4 bits, byte i has element i in its low bits and element i + 16 in its high ones. Weights that are rounded to the
 * type of the rows have scales of that type too. The formats that begin with q
 * are the blocks of GGUF files (ggml/src/ggml-common.h of llama.cpp has their structs, ggml-quants.c what they stand for).
 */

#include <map>
#include <string>

namespace halyard {

enum class BlockFormat { kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ4K, kQ5K, kQ6K, kF16, kBF16, kF32, kInt4, kInt8 };

inline std::map<std::string, BlockFormat> block_formats() {
    return {{"q4_0", BlockFormat::kQ4_0}, {"q4_1", BlockFormat::kQ4_1}, {"q5_0", BlockFormat::kQ5_0}, {"q5_1", BlockFormat::kQ5_1},
            {"q8_0", BlockFormat::kQ8_0}, {"q4_k", BlockFormat::kQ4K},  {"q5_k", BlockFormat::kQ5K},  {"q6_k", BlockFormat::kQ6K},
            {"f16", BlockFormat::kF16},   {"bf16", BlockFormat::kBF16}, {"f32", BlockFormat::kF32},   {"int4", BlockFormat::kInt4},
            {"int8", BlockFormat::kInt8}};
}

/** Where the parts of a block of a file are: their first bytes, -1 for what it lacks. */
struct BlockLayout {
    int bits, bytes, elements, zero;
    int scale, minimum;  // of f16
    int small;           // what these are multiplied by, of 6 or 8 bits
    int low, high;       // the lowest 4 or 8 bits of the elements, and the others
};

inline BlockLayout block_layout(BlockFormat format) {
    switch (format) {
    case BlockFormat::kQ4_0: return {4, 18, 32, 8, 0, -1, -1, 2, -1};
    case BlockFormat::kQ4_1: return {4, 20, 32, 0, 0, 2, -1, 4, -1};
    case BlockFormat::kQ5_0: return {5, 22, 32, 16, 0, -1, -1, 6, 2};
    case BlockFormat::kQ5_1: return {5, 24, 32, 0, 0, 2, -1, 8, 4};
    case BlockFormat::kQ8_0: return {8, 34, 32, 0, 0, -1, -1, 2, -1};
    case BlockFormat::kQ4K: return {4, 144, 256, 0, 0, 2, 4, 16, -1};
    case BlockFormat::kQ5K: return {5, 176, 256, 0, 0, 2, 4, 48, 16};
    case BlockFormat::kQ6K: return {6, 210, 256, 32, 208, -1, 192, 0, 128};
    case BlockFormat::kF16:
    case BlockFormat::kBF16: return {16, 64, 32, 0, -1, -1, -1, 0, -1};
    case BlockFormat::kF32: return {32, 128, 32, 0, -1, -1, -1, 0, -1};
    case BlockFormat::kInt4: return {4, 16, 32, 8, -1, -1, -1, 0, -1};
    default: return {8, 32, 32, 0, -1, -1, -1, 0, -1};
    }
}

/** Where the parts of an interleaved block are, and its bytes: of one column. */
struct PanelLayout {
    int minimum, small, small_minimum, high, low, bytes;
    int scales;  // of 32 elements
};

inline PanelLayout panel_layout(BlockFormat format) {
    const BlockLayout file = block_layout(format);
    const int blocks = file.elements / 32, extra = file.bits < 8 ? file.bits - 4 : 0;
    PanelLayout panel = {};
    panel.scales = format == BlockFormat::kQ6K ? 2 : 1;
    panel.minimum = file.scale >= 0 ? 2 : 0;
    panel.small = panel.minimum + (file.minimum >= 0 ? 2 : 0);
    panel.small_minimum = panel.small + (file.small >= 0 ? panel.scales * blocks : 0);
    panel.high = panel.small_minimum + (file.small >= 0 && file.minimum >= 0 ? blocks : 0);
    panel.low = panel.high + 4 * extra * blocks;
    panel.bytes = panel.low + 4 * (file.bits - extra) * blocks;
    return panel;
}

}  // namespace halyard

#endif
