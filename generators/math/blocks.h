#ifndef HALYARD_MATH_BLOCKS_H
#define HALYARD_MATH_BLOCKS_H

/** \file
 * Weights of 4 and 8 bits, k x n, in blocks of 32 along k, as files have them: column after column, k innermost.
 *
 * | format | argument | a weight |
 * | --- | --- | --- |
 * | q4_0 | b_q4_0 [18, k / 32, n]: a scale of f16 and 16 bytes | (q - 8) scale |
 * | q4_1 | b_q4_1 [20, k / 32, n]: scale and minimum of f16, and 16 bytes | q scale + minimum |
 * | q8_0 | b_q8_0 [34, k / 32, n]: a scale of f16 and 32 bytes | q scale |
 * | int4 | b_int4 [16, k / 32, n], b_scale [k / group_size, n] of f32, b_zero [k / group_size, n] of bytes | (q - zero) scale |
 * | int8 | b_int8 [k, n], and the same | (q - zero) scale, q from -128 to 127, zero from 0 to 255 is 128 too high |
 *
 * Of 16 bytes with q of 4 bits, byte i has element i in its low bits and element i + 16 in its high ones. q4_0, q4_1 and q8_0 are the
 * blocks of GGUF files.
 */

#include <map>
#include <string>

#include <Halide.h>

#include "math/elements.h"
#include "math/number.h"

namespace halyard {

enum class BlockFormat { kQ4_0, kQ4_1, kQ8_0, kInt4, kInt8 };

inline std::map<std::string, BlockFormat> block_formats() {
    return {{"q4_0", BlockFormat::kQ4_0},
            {"q4_1", BlockFormat::kQ4_1},
            {"q8_0", BlockFormat::kQ8_0},
            {"int4", BlockFormat::kInt4},
            {"int8", BlockFormat::kInt8}};
}

class BlockWeights {
public:
    static constexpr int kBlock = 32;  // elements of a column
    static constexpr int kLanes = 16;  // element i of a block is summed with element i + 16

    /** Adds the inputs called `name`. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, BlockFormat format, int group_size, bool zero_points) {
        using namespace Halide;
        format_ = format;
        group_size_ = group_size;
        if (plain() && group_size % kBlock != 0) {
            throw CompileError("group_size is a multiple of 32");
        }
        if (zero_points && !plain()) {
            throw CompileError("zero_points are for format=int4 and format=int8: the other formats have what they need in their blocks");
        }
        std::string format_name;
        for (const auto &f : block_formats()) {
            format_name = f.second == format ? f.first : format_name;
        }
        const bool whole = format == BlockFormat::kInt8;
        bytes_ = generator.add_input<Buffer<>>(name + "_" + format_name, whole ? Int(8) : UInt(8), whole ? 2 : 3);
        if (plain()) {
            scale_ = generator.add_input<Buffer<>>(name + "_scale", Float(32), 2);
        }
        if (zero_points) {
            zero_ = generator.add_input<Buffer<>>(name + "_zero", UInt(8), 2);
        }
    }

    /** What k is a multiple of. */
    int multiple() const {
        return plain() ? group_size_ : kBlock;
    }

    /** What elements `lane` and `lane` + 16 of block `block` add to a product: x(k) gives what they are multiplied with. Columns from
     * `columns` on are read as the last one, so that a schedule may round them up. */
    template<typename X>
    Halide::Expr product(const Halide::Expr &lane, const Halide::Expr &block, const Halide::Expr &column, const Halide::Expr &columns,
                         const X &x) const {
        using namespace Halide;
        const Expr col = min(column, columns - 1);
        const auto x_of = [&](int half) { return x(block * kBlock + half * kLanes + lane); };
        const auto q = [&](int half) { return element(lane, half, block, col); };
        const Expr of_block = scale(block, col);
        if (format_ == BlockFormat::kQ4_1) {  // each weight by itself, as scale and minimum have other signs, and x may be infinite
            const Expr least = f16_at(2, block, col);
            return x_of(0) * (q(0) * of_block + least) + x_of(1) * (q(1) * of_block + least);
        }
        return (x_of(0) * q(0) + x_of(1) * q(1)) * of_block;
    }

    /** What a call checks, where the rows have `depth` elements. */
    void constrain(const Halide::Expr &depth) const {
        const Halide::Expr groups = depth / group_size_;
        if (format_ == BlockFormat::kInt8) {
            bytes_->dim(0).set_bounds(0, depth);
        } else {
            bytes_->dim(0).set_bounds(0, header() + (format_ == BlockFormat::kQ8_0 ? kBlock : kLanes));
            bytes_->dim(1).set_bounds(0, depth / kBlock);
        }
        for (auto *of_groups : {scale_, zero_}) {
            if (of_groups) {
                of_groups->dim(0).set_bounds(0, groups);
            }
        }
    }

private:
    bool plain() const {
        return format_ == BlockFormat::kInt4 || format_ == BlockFormat::kInt8;
    }

    // Bytes of a block before its elements.
    int header() const {
        return plain() ? 0 : format_ == BlockFormat::kQ4_1 ? 4 : 2;
    }

    Halide::Expr f16_at(int byte, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const auto at = [&](int i) { return cast<uint16_t>((*bytes_)(i, block, col)); };
        return load_f32(reinterpret(Float(16), at(byte) | (at(byte + 1) << 8)));
    }

    Halide::Expr scale(const Halide::Expr &block, const Halide::Expr &col) const {
        return plain() ? Halide::Expr((*scale_)(block * kBlock / group_size_, col)) : f16_at(0, block, col);
    }

    // What is multiplied by the scale: an integer, exact in f32. Bytes are centred before they are widened, many at a time.
    Halide::Expr element(const Halide::Expr &lane, int half, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr zero = zero_ ? Expr((*zero_)(block * kBlock / group_size_, col)) : Expr();
        if (format_ == BlockFormat::kInt8 || format_ == BlockFormat::kQ8_0) {
            const int at = header() + half * kLanes;
            const Expr q = format_ == BlockFormat::kInt8 ? Expr((*bytes_)(block * kBlock + at + lane, col))
                                                         : reinterpret<int8_t>((*bytes_)(at + lane, block, col));
            return zero_ ? cast<float>(cast<int16_t>(q) + cast<int16_t>(128) - cast<int16_t>(zero)) : cast<float>(q);
        }
        const Expr byte = (*bytes_)(header() + lane, block, col);
        const Expr q = half == 0 ? byte & cast<uint8_t>(15) : byte >> cast<uint8_t>(4);
        if (format_ == BlockFormat::kQ4_1) {  // of no sign: from 32 bits, of bytes LLVM makes more
            const Expr wide = cast<int32_t>(byte);
            return cast<float>(half == 0 ? wide & 15 : wide >> 4);
        }
        return zero_ ? cast<float>(cast<int16_t>(q) - cast<int16_t>(zero)) : cast<float>(cast<int8_t>(q) - cast<int8_t>(8));
    }

    BlockFormat format_ = BlockFormat::kQ4_0;
    int group_size_ = kBlock;
    Halide::GeneratorInput<Halide::Buffer<>> *bytes_ = nullptr, *scale_ = nullptr, *zero_ = nullptr;
};

}  // namespace halyard

#endif
