#ifndef HALYARD_COMMAND_PRODUCT_RATES_H
#define HALYARD_COMMAND_PRODUCT_RATES_H

/** \file
 * What this machine's instructions for products of short types deliver, with their operands in registers or L1.
 */

namespace halyard {

/** Operations a second of all threads, two for a multiply-add; 0 where the processor has no such instruction, or the
 * system does not let a program use it. */
struct ProductRates {
    double dots = 0;   // groups in SIMD lanes: AVX512-BF16, VNNI
    double tiles = 0;  // AMX
};

/** The products of bf16 in tiles that one of float32 takes (runtime/mma_f32.h). */
constexpr int kProductsOfF32 = 6;

/** Of bf16 summed up in f32. */
ProductRates measure_bf16_products(int threads);
/** Of 8-bit integers summed up in 32 bits. */
ProductRates measure_byte_products(int threads);

}  // namespace halyard

#endif
