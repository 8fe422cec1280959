#ifndef HALYARD_MATH_CACHE_H
#define HALYARD_MATH_CACHE_H

/** \file
 * How keys and values of attention are stored, where it is otherwise than queries are.
 */

#include <map>
#include <string>

#include <Halide.h>

#include "math/elements.h"
#include "math/float8.h"

namespace halyard {

/** The type of the queries, another one, or 8 bits, which are multiplied by a scale. */
enum class CacheType { kSame, kF32, kF16, kBF16, kInt8, kE4M3, kE5M2 };

/** A member of a generator, of which its parameters are then parameters. */
class Cache {
public:
    /** Of 8 bits, a key and a value of a head have a scale each: k_scale and v_scale [keys, key_heads, batch] of f32; a stride of 0
     * broadcasts. Numbers of float8_e4m3 and float8_e5m2 are given as bytes (math/float8.h). */
    Halide::GeneratorParam<CacheType> cache_type{"cache_type",
                                                 CacheType::kSame,
                                                 {{"same", CacheType::kSame},
                                                  {"float32", CacheType::kF32},
                                                  {"float16", CacheType::kF16},
                                                  {"bfloat16", CacheType::kBF16},
                                                  {"int8", CacheType::kInt8},
                                                  {"float8_e4m3", CacheType::kE4M3},
                                                  {"float8_e5m2", CacheType::kE5M2}}};

    /** Adds the scales. `type` is that of the queries. */
    void add_to(Halide::Internal::GeneratorBase &generator, const Halide::Type &type) {
        using namespace Halide;
        type_ = type;
        if (is_scaled()) {
            k_scale_ = generator.add_input<Buffer<>>("k_scale", Float(32), 3);
            v_scale_ = generator.add_input<Buffer<>>("v_scale", Float(32), 3);
        }
    }

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

    /** Whether elements are of another type than queries. */
    bool is_converted() const {
        return stored_type() != type_;
    }

    /** Whether each element, but for its scale, is one of the type of the queries. */
    bool is_exact_in_queries() const {
        return is_scaled() || stored_type() == type_;
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

    /** What a call checks, of the keys that there are. */
    void constrain(const Halide::Expr &keys, const Halide::Expr &heads) const {
        for (auto *scale : {k_scale_, v_scale_}) {
            if (scale) {
                scale->dim(0).set_extent(keys);
                scale->dim(1).set_extent(heads);
            }
        }
    }

private:
    template<typename Scales>
    Halide::Expr factor(Scales &scales, const Halide::Expr &key, const Halide::Expr &head, const Halide::Expr &sequence) const {
        const Halide::Expr scale = scales(key, head, sequence);
        return cache_type == CacheType::kE4M3 ? scale * kFactorOfE4M3 : scale;
    }

    Halide::Type type_;
    Halide::GeneratorInput<Halide::Buffer<>> *k_scale_ = nullptr, *v_scale_ = nullptr;
};

}  // namespace halyard

#endif
