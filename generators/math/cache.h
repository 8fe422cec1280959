#ifndef HALYARD_MATH_CACHE_H
#define HALYARD_MATH_CACHE_H

/** \file
 * Keys and values of attention: how they are stored, and where.
 *
 * | they lie | arguments |
 * | --- | --- |
 * | as a sequence each | k, v [head_dim, keys, key_heads, batch] |
 * | in pages of so many tokens | k_pages, v_pages [head_dim, page, key_heads, pages in all], page_table [pages of a sequence, batch] |
 *
 * Any strides but the first will do, so that pages may have heads outside of tokens or within (HND and NHD of FlashInfer; the latter is
 * also vLLM's for FlashAttention). Page `key / page` of a sequence is the one that the table has there; a number that is none of a page
 * is taken as the nearest that is.
 */

#include <limits>
#include <map>
#include <string>

#include <Halide.h>

#include "math/elements.h"
#include "math/float8.h"
#include "math/number.h"

namespace halyard {

/** The type of the queries, another one, or 8 bits, which are multiplied by a scale. */
enum class CacheType { kSame, kF32, kF16, kBF16, kInt8, kE4M3, kE5M2 };

/** How a cache is stored: a base of members of generators, of which its parameters are then parameters. */
class CacheStorage {
public:
    /** Of 8 bits, a key and a value of a head have a scale each: k_scale and v_scale [keys, key_heads, batch] of f32, of pages k_scale_pages and
     * v_scale_pages [page, key_heads, pages in all]. Numbers of float8_e4m3 and float8_e5m2 are given as bytes (math/float8.h). */
    Halide::GeneratorParam<CacheType> cache_type{"cache_type",
                                                 CacheType::kSame,
                                                 {{"same", CacheType::kSame},
                                                  {"float32", CacheType::kF32},
                                                  {"float16", CacheType::kF16},
                                                  {"bfloat16", CacheType::kBF16},
                                                  {"int8", CacheType::kInt8},
                                                  {"float8_e4m3", CacheType::kE4M3},
                                                  {"float8_e5m2", CacheType::kE5M2}}};
    /** Tokens of a page; 0: there are no pages. */
    Number page{"page", 0, 0, 4096};

    /** Of an element. */
    Halide::Type stored_type() const {
        using namespace Halide;
        switch (cache_type) {
        case CacheType::kF32: return Float(32);
        case CacheType::kF16: return Float(16);
        case CacheType::kBF16: return BFloat(16);
        case CacheType::kInt8: return Int(8);
        case CacheType::kE4M3:
        case CacheType::kE5M2: return UInt(8);
        default: return type_;
        }
    }

    bool is_scaled() const {
        return cache_type == CacheType::kInt8 || cache_type == CacheType::kE4M3 || cache_type == CacheType::kE5M2;
    }

    bool is_paged() const {
        return page != 0;
    }

    /** Whether elements are of another type than queries. */
    bool is_converted() const {
        return stored_type() != type_;
    }

protected:
    /** The name of an argument, which those of pages have with "_pages" behind it. */
    std::string argument(const std::string &name) const {
        return is_paged() ? name + "_pages" : name;
    }

    Halide::Type type_;  // of queries
};

/** A cache that is read. Scales may be broadcast by a stride of 0. */
class Cache : public CacheStorage {
public:
    /** Adds keys, values and the table of pages. `type` is that of the queries; `padded`: sequences have lengths. */
    void add_to(Halide::Internal::GeneratorBase &generator, const Halide::Type &type, bool padded) {
        using namespace Halide;
        type_ = type;
        if (is_paged() && !padded) {
            throw CompileError("page is for sequences with lengths, which padded=true adds: their last pages are not full");
        }
        k_ = generator.add_input<Buffer<>>(argument("k"), stored_type(), 4);
        v_ = generator.add_input<Buffer<>>(argument("v"), stored_type(), 4);
        if (is_paged()) {
            page_table_ = generator.add_input<Buffer<>>("page_table", Int(32), 2);
        }
    }

    /** Adds the scales. */
    void add_scales(Halide::Internal::GeneratorBase &generator) {
        using namespace Halide;
        if (is_scaled()) {
            k_scale_ = generator.add_input<Buffer<>>(argument("k_scale"), Float(32), 3);
            v_scale_ = generator.add_input<Buffer<>>(argument("v_scale"), Float(32), 3);
        }
    }

    /** Keys that a sequence has room for, heads of these, elements of a value, and sequences. */
    Halide::Expr keys() const {
        return is_paged() ? page_table_->dim(0).extent() * int(page) : k_->dim(1).extent();
    }
    Halide::Expr heads() const {
        return k_->dim(2).extent();
    }
    Halide::Expr columns() const {
        return v_->dim(0).extent();
    }
    Halide::Expr batch() const {
        return is_paged() ? page_table_->dim(1).extent() : k_->dim(3).extent();
    }

    /** Element `d` of a key, and of a value, as it is stored. */
    Halide::Expr key(const Halide::Expr &d, const Halide::Expr &key, const Halide::Expr &head, const Halide::Expr &sequence) const {
        return (*k_)(d, token(key), head, sequence_of(key, sequence));
    }
    Halide::Expr value(const Halide::Expr &d, const Halide::Expr &key, const Halide::Expr &head, const Halide::Expr &sequence) const {
        return (*v_)(d, token(key), head, sequence_of(key, sequence));
    }

    /** An element that was stored as f32, but for its factor. */
    Halide::Expr load(const Halide::Expr &stored) const {
        switch (cache_type) {
        case CacheType::kE4M3: return load_f32(e4m3_as_f16(stored));
        case CacheType::kE5M2: return load_f32(e5m2_as_f16(stored));
        default: return load_f32(stored);
        }
    }

    /** What a product with load() of key `key` is to be multiplied by, */
    Halide::Expr key_factor(const Halide::Expr &key, const Halide::Expr &head, const Halide::Expr &sequence) const {
        return factor(*k_scale_, key, head, sequence);
    }

    /** and load() of value `key`. */
    Halide::Expr value_factor(const Halide::Expr &key, const Halide::Expr &head, const Halide::Expr &sequence) const {
        return factor(*v_scale_, key, head, sequence);
    }

    /** What a call of `op` checks. `depth`: elements of a query. */
    void constrain(Halide::Internal::GeneratorBase &generator, const std::string &op, const Halide::Expr &depth) const {
        if (is_paged()) {
            const Halide::Expr pages = page_table_->dim(0).extent();
            const int most = kMostTokens / int(page);
            generator.add_requirement(pages <= most, op + ": page_table has", pages, "pages for a sequence, but may have", most);
        }
        k_->dim(0).set_extent(depth);
        v_->dim(1).set_extent(k_->dim(1).extent());
        v_->dim(2).set_extent(k_->dim(2).extent());
        if (is_paged()) {
            k_->dim(1).set_bounds(0, int(page));
            v_->dim(3).set_extent(k_->dim(3).extent());
        }
        for (auto *scale : {k_scale_, v_scale_}) {
            if (scale) {
                scale->dim(0).set_extent(k_->dim(1).extent()).set_stride(Halide::Expr());
                scale->dim(1).set_extent(heads());
            }
        }
    }

private:
    static constexpr int kMostTokens =
        std::numeric_limits<int32_t>::max() - (1 << 22);  // they are rounded up to splits of blocks, in 32 bits

    Halide::Expr token(const Halide::Expr &key) const {
        return is_paged() ? key % int(page) : key;
    }

    Halide::Expr sequence_of(const Halide::Expr &key, const Halide::Expr &sequence) const {
        return is_paged() ? clamp((*page_table_)(key / int(page), sequence), 0, k_->dim(3).extent() - 1) : sequence;
    }

    template<typename Scales>
    Halide::Expr factor(Scales &scales, const Halide::Expr &key, const Halide::Expr &head, const Halide::Expr &sequence) const {
        const Halide::Expr scale = scales(token(key), head, sequence_of(key, sequence));
        return cache_type == CacheType::kE4M3 ? scale * kFactorOfE4M3 : scale;
    }

    Halide::GeneratorInput<Halide::Buffer<>> *k_ = nullptr, *v_ = nullptr, *page_table_ = nullptr, *k_scale_ = nullptr, *v_scale_ = nullptr;
};

}  // namespace halyard

#endif
