#ifndef HALYARD_MATH_BLOCKS_H
#define HALYARD_MATH_BLOCKS_H

/** \file
 * Weights of 4 to 32 bits, k x n, in blocks of 32 along k: the arguments that have them, and their numbers. block_layout.h has the formats.
 */

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/block_layout.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/own_rounding.h"

namespace halyard {

/** The weights of a product, as they lie in a file or interleaved. `block` is number k / 32, `half` is 0 for its first 16 elements and 1 for the
 * others, `col` is a column. */
class BlockWeights {
public:
    static constexpr int kBlock = 32;  // elements of a column that are summed before they are scaled
    static constexpr int kLanes = 16;  // element i of a block is summed with element i + 16

    /** Before add_to(): blocks of so many columns are interleaved; 0: they lie as a file has them. */
    void interleave(int columns) {
        interleaved_ = columns;
    }

    int interleaved() const {
        return interleaved_;
    }

    /** Columns that the argument has. */
    Halide::Expr interleaved_columns() const {
        return (bytes_->dim(2).max() + 1) * interleaved_;
    }

    /** Adds the inputs called `name`. `rounded`: the type that weights are rounded to, if it is one. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, BlockFormat format, int group_size, bool zero_points,
                const std::optional<Halide::Type> &rounded = std::nullopt) {
        using namespace Halide;
        format_ = format;
        layout_ = block_layout(format);
        panel_ = panel_layout(format);
        group_size_ = group_size;
        if (plain() && group_size % kBlock != 0) {
            throw CompileError("group_size is a multiple of 32");
        }
        if (zero_points && !plain()) {
            throw CompileError("zero_points are for format=int4 and format=int8: the other formats have what they need in their blocks");
        }
        if (rounded && !plain()) {
            throw CompileError("rounded is for format=int4 and format=int8, whose scales may be of the type of the rows");
        }
        for (const auto &f : block_formats()) {
            name_ = f.second == format ? name + "_" + f.first : name_;
        }
        if (interleaved_ != 0) {
            if (interleaved_ != 8 && interleaved_ != 16 && interleaved_ != 32) {
                throw CompileError("interleaved is 8, 16 or 32 columns, or 0");
            }
            if (plain()) {
                throw CompileError("interleaved weights are of the types of GGUF files, and not int4 or int8");
            }
            name_ += "_interleaved";
        } else if (is_float()) {
            throw CompileError("weights of f16, bf16 and f32 are interleaved: take the schedule interleaved; as rows of columns, "
                               "weights=nk of gemm has them");
        }
        bytes_ = generator.add_input<Buffer<>>(name_, format == BlockFormat::kInt8 ? Int(8) : UInt(8), plain() ? 2 : 3);
        if (plain()) {
            scale_ = generator.add_input<Buffer<>>(name + "_scale", rounded.value_or(Float(32)), 2);
        }
        if (zero_points) {
            zero_ = generator.add_input<Buffer<>>(name + "_zero", UInt(8), 2);
        }
    }

    /** Of the input that has the weights. */
    const std::string &name() const {
        return name_;
    }

    /** What k is a multiple of. */
    int multiple() const {
        return plain() ? group_size_ : layout_.elements;
    }

    /** Blocks of 32 that a block of the file has. */
    int together() const {
        return layout_.elements / kBlock;
    }

    /** Bits of a weight. */
    int bits() const {
        return layout_.bits;
    }

    /** Whether weights are numbers of f16, bf16 or f32, which no scale belongs to. */
    bool is_float() const {
        return layout_.bits >= 16;
    }

    /** Scales of a block of 32. */
    int scales() const {
        return panel_.scales;
    }

    /** Whether a weight has a minimum, which is added to what is scaled. */
    bool has_minimum() const {
        return layout_.minimum >= 0;
    }

    /** Whether each block has its own scale, and minimum, of f16. */
    bool has_halves() const {
        return layout_.scale >= 0 && layout_.small < 0;
    }

    /** Whether these are multiplied by others, of 6 or 8 bits. */
    bool has_small() const {
        return layout_.small >= 0;
    }

    /** Element i + 16 half of a block as an integer of bits(): int8 where they are 8, else uint8. */
    Halide::Expr quant(const Halide::Expr &i, const Halide::Expr &half, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        if (format_ == BlockFormat::kInt8) {
            return (*bytes_)(block * kBlock + half * kLanes + i, col);
        }
        if (format_ == BlockFormat::kQ8_0) {
            return reinterpret<int8_t>(byte(layout_.low + half * kLanes + i, block, col));
        }
        const Expr j = block % together(), of_half = half * kLanes + i;
        if (format_ == BlockFormat::kQ6K) {  // of 128 elements, 32 after the other: low bits of two bytes, then high ones
            const Expr which = j % 4;
            const Expr low = byte(layout_.low + j / 4 * 64 + which % 2 * 32 + of_half, block, col);
            const Expr high = byte(layout_.high + j / 4 * 32 + of_half, block, col) >> cast<uint8_t>(2 * which);
            return nibble(low, which / 2) | ((high & cast<uint8_t>(3)) << cast<uint8_t>(4));
        }
        if (together() > 1) {  // of 64 elements, low bits of 32 bytes, then high ones
            const Expr low = nibble(byte(layout_.low + j / 2 * 32 + of_half, block, col), j % 2);
            if (layout_.high < 0) {
                return low;
            }
            const Expr high = byte(layout_.high + of_half, block, col) >> cast<uint8_t>(j);
            return low | ((high & cast<uint8_t>(1)) << cast<uint8_t>(4));
        }
        const Expr low = nibble(byte(layout_.low + i, block, col), half);
        if (layout_.high < 0) {
            return low;
        }
        // Bit i comes to the top, and what is above it is lost.
        const Expr top_bit = word(layout_.high + 2 * half, block, col) * (cast<uint16_t>(0x8000) >> cast<uint16_t>(i));
        return low | cast<uint8_t>((top_bit >> cast<uint16_t>(15)) << cast<uint16_t>(4));
    }

    /** Whether bits of a weight beyond the fourth are apart, and how many there are. */
    int high_bits() const {
        return bits() < 8 ? bits() - 4 : 0;
    }

    /** Words of 4 bytes that four neighbours of both halves of an interleaved block are in: 1, where these share bytes, 2, 4 or 8; */
    int words() const {
        return bits() < 8 ? 1 : bits() / 4;
    }

    /** and which of them a member is in. */
    Halide::Expr word_at(const Halide::Expr &member, const Halide::Expr &half) const {
        const int of_half = words() / 2;
        return words() == 1 ? Halide::Expr(0) : of_half * half + member * of_half / 4;
    }

    /** The same of interleaved blocks: element 4 group + member of a half. Columns beyond the last are what fills the last panel up. */
    Halide::Expr interleaved_quant(const Halide::Expr &member, const Halide::Expr &group, const Halide::Expr &half,
                                   const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const auto byte_of = [&](const Expr &four) { return interleaved_byte(panel_.low, four, member, block, col); };
        if (bits() == 8) {
            return reinterpret<int8_t>(byte_of(4 * half + group));
        }
        const Expr low = nibble(byte_of(group), half);
        if (high_bits() == 0) {
            return low;
        }
        return low | raised(interleaved_byte(panel_.high, high_word(half), member, block, col), group, half);
    }

    /** Of panel `panel` of columns that are interleaved, the bytes of word `word` of words() that elements 4 group to 4 group + 3 of a block are in, the
     * bits of elements 16 further on in the high ones where they have 4. Bytes 4 lane to 4 lane + 3 are of a column. */
    Halide::Expr panel_byte(const Halide::Expr &byte, const Halide::Expr &group, const Halide::Expr &word, const Halide::Expr &block,
                            const Halide::Expr &panel) const {
        using namespace Halide;
        const int of_half = words() / 2;
        const Expr unit = words() == 1 ? group : 4 * of_half * (word / of_half) + of_half * group + word % of_half;
        return of_panel(panel_.low, unit_of_block(unit, block, low_words()), 4, byte, block, panel);
    }

    /** Likewise of the bits beyond the fourth of a half, where there are two of them; of both halves where there is one. */
    Halide::Expr panel_high_byte(const Halide::Expr &byte, const Halide::Expr &half, const Halide::Expr &block,
                                 const Halide::Expr &panel) const {
        return of_panel(panel_.high, unit_of_block(high_word(half), block, high_bits()), 4, byte, block, panel);
    }

    /** The bytes of the scales of a panel's columns, two a column, and of the minima. */
    Halide::Expr panel_scale_byte(const Halide::Expr &byte, const Halide::Expr &block, const Halide::Expr &panel) const {
        return of_panel(0, 0, 2, byte, block, panel);
    }
    Halide::Expr panel_minimum_byte(const Halide::Expr &byte, const Halide::Expr &block, const Halide::Expr &panel) const {
        return of_panel(panel_.minimum, 0, 2, byte, block, panel);
    }

    /** What the scale of a column is multiplied by, `which` of the scales() of a block, and its minimum. */
    Halide::Expr panel_small_scale(const Halide::Expr &lane, const Halide::Expr &which, const Halide::Expr &block,
                                   const Halide::Expr &panel) const {
        return signed_small(of_panel(panel_.small, unit_of_block(which, block, scales()), 1, lane, block, panel));
    }
    Halide::Expr panel_small_minimum(const Halide::Expr &lane, const Halide::Expr &block, const Halide::Expr &panel) const {
        return of_panel(panel_.small_minimum, unit_of_block(0, block, 1), 1, lane, block, panel);
    }

    /** Element 4 group + member of a half, 0 or 1, as f32, less its zero, of the four bytes that it is in. `high`: those of its other bits, if there are
     * some. Its bits become the lowest but `at` of a power of two, which is subtracted then: a GPU has eight times as many additions as
     * conversions, and takes bits out and sets others by one instruction. */
    Halide::Expr element_of_word(const Halide::Expr &word, const Halide::Expr &high, const Halide::Expr &member, const Halide::Expr &group,
                                 const Halide::Expr &half) const {
        using namespace Halide;
        const auto u32 = [](const Expr &e) { return cast<uint32_t>(e); };
        if (is_float()) {
            return float_of_word(word, member);
        }
        const Expr upper = member >= 2;  // is in the upper 16 bits
        const Expr at = 8 * (member % 2) + (bits() == 8 ? Expr(0) : 4 * half);
        const Expr whole = bits() == 8 ? word ^ u32(Expr(0x80808080u)) : word;
        Expr q = select(upper, whole >> u32(16), whole) & (u32(bits() == 8 ? 255 : 15) << u32(at));
        if (high_bits() > 0) {
            // Of member 0 they begin at bit 0 here.
            const Expr first = high >> u32(high_bits() == 2 ? 2 * group : group);
            const int up = high_bits() == 2 ? 4 : 0;  // those of both halves begin at the same bit
            const Expr placed = select(upper, first >> u32(16), first) << u32(4 + up * half);
            q = q | (placed & (u32((1 << high_bits()) - 1) << u32(at + 4)));
        }
        const Expr power = u32(150 - at) << u32(23);  // 2^(23 - at), whose bit `at` is 1
        return own_sum(reinterpret<float>(q | power), -(reinterpret<float>(power) + float(bits() == 8 ? 128 : layout_.zero)));
    }

    /** Element i of a block of them as f32, less its zero: of the 32 bits that four elements are in, as these are whole lanes. */
    Halide::Expr interleaved_element(const Halide::Expr &i, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr member = i % 4, group = i % kLanes / 4, half = i / kLanes;
        const auto word_of = [&](int first, const Expr &four) {
            std::vector<Expr> bytes;
            for (int j = 0; j < 4; j++) {
                bytes.push_back(interleaved_byte(first, four, j, block, col));
            }
            return concat_bits(bytes);
        };
        if (is_float()) {
            return float_of_word(word_of(panel_.low, i * bits() / 32), i);
        }
        if (bits() == 8) {
            return cast<float>(cast<int32_t>(word_of(panel_.low, i / 4) << cast<uint32_t>(24 - 8 * member)) >> 24);
        }
        Expr q = (word_of(panel_.low, group) >> cast<uint32_t>(8 * member + 4 * half)) & cast<uint32_t>(15);
        if (high_bits() > 0) {
            const Expr high = word_of(panel_.high, high_word(half)) >> cast<uint32_t>(8 * member + high_shift(group, half));
            q = q | ((high & cast<uint32_t>((1 << high_bits()) - 1)) << cast<uint32_t>(4));
        }
        return cast<float>(cast<int32_t>(q) - layout_.zero);
    }

    /** Scale `which` of an interleaved block as f32, and its minimum. */
    Halide::Expr interleaved_scale(const Halide::Expr &which, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr whole = interleaved_half(0, block, col);
        if (!has_small()) {
            return whole;
        }
        return own_product(whole, cast<float>(signed_small(interleaved_small(panel_.small, which, scales(), block, col))));
    }
    Halide::Expr interleaved_minimum(const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr whole = interleaved_half(panel_.minimum, block, col);
        return has_small() ? own_product(-whole, cast<float>(interleaved_small(panel_.small_minimum, 0, 1, block, col))) : whole;
    }

    /** What of quant() stands for 0: the same for all weights, */
    int zero() const {
        return zero_ ? 0 : layout_.zero;
    }

    /** Whether each group has its own. */
    bool has_zeros() const {
        return zero_ != nullptr;
    }

    /** or one for each group, an int32; undefined where zero() is all. */
    Halide::Expr zero_of(const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        return zero_ ? cast<int32_t>((*zero_)(block * kBlock / group_size_, col)) - (format_ == BlockFormat::kInt8 ? 128 : 0) : Expr();
    }

    /** The bits of the scale of f16, or the minimum, of the block of a file that has this one. */
    Halide::Expr scale_bits(const Halide::Expr &block, const Halide::Expr &col) const {
        return word(layout_.scale, block, col);
    }
    Halide::Expr minimum_bits(const Halide::Expr &block, const Halide::Expr &col) const {
        return word(layout_.minimum, block, col);
    }

    /** What the scale of the block of a file is multiplied by, and the minimum: of 8 bits. `which` of the scales() of a block. */
    Halide::Expr small_scale(const Halide::Expr &which, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr j = block % together();
        if (format_ == BlockFormat::kQ6K) {
            return reinterpret<int8_t>(byte(layout_.small + 2 * j + which, block, col));
        }
        const auto at = [&](const Expr &i) { return byte(layout_.small + i, block, col); };
        return select(j < 4, at(j % 4) & cast<uint8_t>(63), nibble(at(j % 4 + 8), 0) | top(at(j % 4)));
    }
    Halide::Expr small_minimum(const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr j = block % together();
        const auto at = [&](const Expr &i) { return byte(layout_.small + i, block, col); };
        return select(j < 4, at(j % 4 + 4) & cast<uint8_t>(63), nibble(at(j % 4 + 8), 1) | top(at(j % 4 + 4)));
    }

    /** The scale of a group where there are none of f16. */
    Halide::Expr group_scale(const Halide::Expr &block, const Halide::Expr &col) const {
        return (*scale_)(block * kBlock / group_size_, col);
    }

    /** Scale `which` of a block as f32, and its minimum. */
    Halide::Expr scale(const Halide::Expr &which, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        if (plain()) {
            return group_scale(block, col);
        }
        const Expr whole = from_bits(scale_bits(block, col));
        return has_small() ? own_product(whole, cast<float>(small_scale(which, block, col))) : whole;
    }
    Halide::Expr minimum(const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr whole = from_bits(minimum_bits(block, col));
        return has_small() ? own_product(-whole, cast<float>(small_minimum(block, col))) : whole;
    }

    /** Weight `k` of a column as f32. */
    Halide::Expr weight(const Halide::Expr &k, const Halide::Expr &col) const {
        const Halide::Expr block = k / kBlock, half = k % kBlock / kLanes;
        const Halide::Expr scaled = element(k % kLanes, half, block, col) * scale(scales() > 1 ? half : 0, block, col);
        return has_minimum() ? scaled + minimum(block, col) : scaled;
    }

    /** Weight `k` of a column, rounded to the type of its scale. The difference is exact there. */
    Halide::Expr rounded_weight(const Halide::Expr &k, const Halide::Expr &col) const {
        using namespace Halide;
        const Type t = scale_->type();
        const Expr block = k / kBlock;
        const Expr q = format_ == BlockFormat::kInt8 ? (*bytes_)(k, col) : quant(k % kLanes, k % kBlock / kLanes, block, col);
        const Expr zero = zero_ ? cast(t, zero_of(block, col)) : cast(t, this->zero());
        return store_as(t, load_f32(cast(t, q) - zero) * load_f32(group_scale(block, col)));
    }

    /** The low 4 bits of a byte, or the high ones. */
    static Halide::Expr nibble(const Halide::Expr &byte, const Halide::Expr &which) {
        using namespace Halide;
        return select(which == 0, byte & cast<uint8_t>(15), byte >> cast<uint8_t>(4));
    }

    static Halide::Expr from_bits(const Halide::Expr &f16) {
        return load_f32(Halide::reinterpret(Halide::Float(16), f16));
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
        const Expr of_block = scale(0, block, col);
        if (has_minimum()) {  // each weight by itself, as scale and minimum have other signs, and x may be infinite
            const Expr least = minimum(block, col);
            return own_sum(own_product(x_of(0), q(0) * of_block + least), own_product(x_of(1), q(1) * of_block + least));
        }
        if (scales() > 1) {
            const Expr of_second = own_product(own_product(x_of(1), q(1)), scale(1, block, col));
            return own_sum(own_product(own_product(x_of(0), q(0)), of_block), of_second);
        }
        return (x_of(0) * q(0) + own_product(x_of(1), q(1))) * of_block;
    }

    /** What a call checks, where the rows have `depth` elements; `whole`: and that blocks of a column lie one after the other. */
    void constrain(const Halide::Expr &depth, bool whole = false) const {
        const Halide::Expr groups = depth / group_size_;
        if (interleaved_ != 0) {
            bytes_->dim(0).set_bounds(0, panel_.bytes * interleaved_);
            bytes_->dim(1).set_bounds(0, depth / layout_.elements).set_stride(panel_.bytes * interleaved_);
            bytes_->dim(2).set_min(0);
        } else if (plain()) {
            bytes_->dim(0).set_bounds(0, depth / (format_ == BlockFormat::kInt8 ? 1 : 2));
        } else {
            bytes_->dim(0).set_bounds(0, layout_.bytes);
            bytes_->dim(1).set_bounds(0, depth / layout_.elements);
            if (whole) {
                bytes_->dim(1).set_stride(layout_.bytes);
            }
        }
        for (auto *of_groups : {scale_, zero_}) {
            if (of_groups) {
                of_groups->dim(0).set_bounds(0, groups);
            }
        }
    }

    /** Whether weights are int4 or int8, in groups: the blocks of a column lie one after the other, and scales apart. */
    bool plain() const {
        return format_ == BlockFormat::kInt4 || format_ == BlockFormat::kInt8;
    }

    /** Of such weights: byte `at` of a block of 32, of which int4 has 16 and int8 32. */
    Halide::Expr plain_byte(const Halide::Expr &at, const Halide::Expr &block, const Halide::Expr &col) const {
        return (*bytes_)(block * layout_.bytes + at, col);
    }

    /** Columns that they have. */
    Halide::Expr plain_columns() const {
        return bytes_->dim(1).max() + 1;
    }

private:
    Halide::Expr of_file(const Halide::Expr &block) const {
        return together() > 1 ? block / together() : block;
    }

    // Which of the parts of an interleaved block it is that is part `unit` of those that 32 elements have `count` of.
    Halide::Expr unit_of_block(const Halide::Expr &unit, const Halide::Expr &block, int count) const {
        return together() > 1 ? block % together() * count + unit : unit;
    }

    // Of parts of `size` bytes a column from byte `first` of a column on: byte `byte` of all columns of part `unit`.
    Halide::Expr of_panel(int first, const Halide::Expr &unit, int size, const Halide::Expr &byte, const Halide::Expr &block,
                          const Halide::Expr &panel) const {
        return (*bytes_)((first + unit * size) * interleaved_ + byte, of_file(block), Halide::min(panel, bytes_->dim(2).max()));
    }

    // Byte `at` of a part of `size` bytes of a column.
    Halide::Expr of_column(int first, const Halide::Expr &unit, int size, const Halide::Expr &at, const Halide::Expr &block,
                           const Halide::Expr &col) const {
        // Not of the last column: Halide makes min(col, columns - 1) / interleaved of that, of which vectors along col are gathered.
        return of_panel(first, unit, size, col % interleaved_ * size + at, block, col / interleaved_);
    }

    // Words of 4 bytes of 32 elements, without bits that are apart.
    int low_words() const {
        return bits() < 8 ? 4 : bits();
    }

    // The number in a word, or of two of 16 bits number `member` % 2, as f32.
    Halide::Expr float_of_word(const Halide::Expr &word, const Halide::Expr &member) const {
        using namespace Halide;
        if (format_ == BlockFormat::kF32) {
            return reinterpret<float>(word);
        }
        const Expr sixteen = cast<uint32_t>(16), odd = member % 2 == 1;
        if (format_ == BlockFormat::kBF16) {
            return reinterpret<float>(select(odd, word & cast<uint32_t>(Expr(0xffff0000u)), word << sixteen));
        }
        return from_bits(cast<uint16_t>(select(odd, word >> sixteen, word)));
    }

    // Byte `member` of four of elements, or of their high bits.
    Halide::Expr interleaved_byte(int first, const Halide::Expr &four, const Halide::Expr &member, const Halide::Expr &block,
                                  const Halide::Expr &col) const {
        const int count = first == panel_.low ? low_words() : high_bits();
        return of_column(first, unit_of_block(four, block, count), 4, member, block, col);
    }

    Halide::Expr interleaved_half(int first, const Halide::Expr &block, const Halide::Expr &col) const {
        const auto byte_of = [&](int j) { return of_column(first, 0, 2, j, block, col); };
        return from_bits(Halide::concat_bits({byte_of(0), byte_of(1)}));
    }

    Halide::Expr interleaved_small(int first, const Halide::Expr &which, int count, const Halide::Expr &block,
                                   const Halide::Expr &col) const {
        return of_column(first, unit_of_block(which, block, count), 1, 0, block, col);
    }

    // Those of q6_k have signs.
    Halide::Expr signed_small(const Halide::Expr &byte) const {
        return format_ == BlockFormat::kQ6K ? Halide::reinterpret<int8_t>(byte) : byte;
    }

    // In which four bytes the bits beyond the fourth of a half are, and from which bit of a byte on.
    Halide::Expr high_word(const Halide::Expr &half) const {
        return high_bits() == 2 ? half : Halide::Expr(0);
    }
    Halide::Expr high_shift(const Halide::Expr &group, const Halide::Expr &half) const {
        return high_bits() == 2 ? 2 * group : 4 * half + group;
    }

    // Such bits of a byte, where they are in a weight.
    Halide::Expr raised(const Halide::Expr &byte, const Halide::Expr &group, const Halide::Expr &half) const {
        using namespace Halide;
        return ((byte >> cast<uint8_t>(high_shift(group, half))) & cast<uint8_t>((1 << high_bits()) - 1)) << cast<uint8_t>(4);
    }

    // Byte `at` of the block of the file that has block `block` of 32.
    Halide::Expr byte(const Halide::Expr &at, const Halide::Expr &block, const Halide::Expr &col) const {
        return format_ == BlockFormat::kInt4 ? plain_byte(at, block, col) : (*bytes_)(at, of_file(block), col);
    }

    Halide::Expr word(const Halide::Expr &at, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        return cast<uint16_t>(byte(at, block, col)) | (cast<uint16_t>(byte(at + 1, block, col)) << 8);
    }

    // The two highest bits of a byte, as bits 4 and 5.
    static Halide::Expr top(const Halide::Expr &byte) {
        using namespace Halide;
        return (byte >> cast<uint8_t>(6)) << cast<uint8_t>(4);
    }

    // What is multiplied by the scale: an integer, exact in f32. Bytes are centred before they are widened, many at a time.
    Halide::Expr element(const Halide::Expr &lane, const Halide::Expr &half, const Halide::Expr &block, const Halide::Expr &col) const {
        using namespace Halide;
        const Expr q = quant(lane, half, block, col);
        if (zero_) {
            return cast<float>(cast<int16_t>(q) - cast<int16_t>(zero_of(block, col)));
        }
        if (format_ == BlockFormat::kQ4_1) {  // of no sign: from 32 bits, of bytes LLVM makes more
            const Expr wide = cast<int32_t>(byte(layout_.low + lane, block, col));
            return cast<float>(select(half == 0, wide & 15, wide >> 4));
        }
        return cast<float>(zero() == 0 ? q : cast<int8_t>(q) - cast<int8_t>(zero()));
    }

    BlockFormat format_ = BlockFormat::kQ4_0;
    BlockLayout layout_ = {};
    PanelLayout panel_ = {};
    int group_size_ = kBlock, interleaved_ = 0;
    std::string name_;
    Halide::GeneratorInput<Halide::Buffer<>> *bytes_ = nullptr, *scale_ = nullptr, *zero_ = nullptr;
};

}  // namespace halyard

#endif
