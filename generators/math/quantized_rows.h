#ifndef HALYARD_MATH_QUANTIZED_ROWS_H
#define HALYARD_MATH_QUANTIZED_ROWS_H

/** \file
 * Rows of a product in 8 bits, by blocks of 32 elements:
 *
 *   scale[block] = max |x| / 127        q = x / scale, rounded to nearest, ties to even
 *
 * as quantize_row_q8_0 of llama.cpp has it (ggml/src/ggml-quants.c), whose scale is rounded to f16 besides; here it stays f32. An
 * element is off by at most max |x| / 254 of its block. A block with a NaN or an infinity has a NaN for a scale, one of no element
 * above 1e-36 is 0.
 */

#include <map>
#include <string>

#include <Halide.h>

#include "math/compare.h"

namespace halyard {

/** What weights in blocks are multiplied with: the rows as they are, or in 8 bits. */
enum class Activations { kExact, kInt8 };

inline std::map<std::string, Activations> activation_kinds() {
    return {{"exact", Activations::kExact}, {"int8", Activations::kInt8}};
}

class QuantizedRows {
public:
    static constexpr int kBlock = 32, kHalf = 16;

    /** Of rows called `name`: the Funcs are NAME_largest and so on. */
    explicit QuantizedRows(const std::string &name)
        : largest_(name + "_largest"), inverse_(name + "_inverse"), scale_(name + "_scale"), q_(name + "_q") {}

    /** Defines the Funcs for rows of `depth` elements that x(k, row) gives, with q stored as `type`. Blocks behind the last one are
     * the last one with a scale of 0, so that a schedule may take several at once. */
    template<typename X>
    void define(const X &x, const Halide::Expr &depth, const Halide::Type &type) {
        using namespace Halide;
        const Expr blocks = depth / kBlock;
        const auto at = [&](const Expr &k) { return x(min(likely(block), blocks - 1) * kBlock + k, row); };
        // As integers, of which a NaN is the greatest.
        const RDom r(0, kBlock, "k");
        largest_(block, row) = 0;
        largest_(block, row) = max(largest_(block, row), f32_bits(at(r)) & 0x7fffffff);
        const Expr bits = largest_(block, row), most = reinterpret<float>(bits);
        inverse_(block, row) = select(bits > f32_bits(kLeast), 127.0f / most, 0.0f);
        const Expr scale = select(bits >= f32_bits(INFINITY), f32_bits(NAN), f32_bits(most * (1 / 127.0f)));
        scale_(block, row) = select(block < blocks, reinterpret<float>(scale), 0.0f);
        const float kShift = 12582912.0f;  // 1.5 * 2^23: a sum with it has the integer in its last bits
        const Expr rounded = clamp(at(half * kHalf + i) * inverse_(block, row), -127.0f, 127.0f) + kShift;
        q_(i, half, block, row) = cast(type, f32_bits(rounded) - f32_bits(kShift));
    }

    Halide::Expr q(const Halide::Expr &i, const Halide::Expr &half, const Halide::Expr &block, const Halide::Expr &row) const {
        return q_(i, half, block, row);
    }
    Halide::Expr scale(const Halide::Expr &block, const Halide::Expr &row) const {
        return scale_(block, row);
    }

private:
    static constexpr float kLeast = 1e-36f;

    Halide::Var i{"i"}, half{"half"}, block{"block"}, row{"row"};
    Halide::Func largest_, inverse_, scale_, q_;
};

}  // namespace halyard

#endif
