#ifndef HALYARD_MATH_CACHE_ROWS_H
#define HALYARD_MATH_CACHE_ROWS_H

/** \file
 * Keys and values that a call writes into a cache (math/cache.h): those of a token into the row that its slot names.
 *
 * | they lie | outputs |
 * | --- | --- |
 * | as a sequence each | k, v [d, keys, key_heads, batch], of 8 bits also k_scale, v_scale [keys, key_heads, batch] |
 * | in pages | k_pages, v_pages [d, page, key_heads, pages in all], k_scale_pages, v_scale_pages [page, key_heads, pages in all] |
 *
 * Rows are counted through sequences or pages, one after the other: slot = keys * sequence + key, or page * number + place in the page,
 * which is the slot_mapping of vLLM. A slot that is none of the cache, as -1, is of a token that is not stored. What no slot names is left
 * as it was. Where several tokens have one slot, each element of its row is that of any of them.
 */

#include <string>

#include <Halide.h>

#include "math/cache.h"
#include "math/own_scale.h"
#include "math/quantize.h"
#include "math/unread.h"

namespace halyard {

/** A member of a generator, of which its parameters are then parameters. */
class CacheRows : public CacheStorage {
public:
    /** Adds the input slots [tokens], int32, and the outputs. `type`: that of the queries. */
    void add_to(Halide::Internal::GeneratorBase &generator, const Halide::Type &type) {
        using namespace Halide;
        type_ = type;
        slots_ = generator.add_input<Buffer<>>("slots", Int(32), 1);
        for (Part *part : {&k, &v}) {
            part->rows = generator.add_output<Buffer<>>(argument(part->name), stored_type(), 4);
        }
        for (Part *part : {&k, &v}) {
            part->scales = is_scaled() ? generator.add_output<Buffer<>>(argument(part->name + "_scale"), Float(32), 3) : nullptr;
        }
    }

    Halide::Expr heads() const {
        return k.rows->dim(2).extent();
    }

    /** Keys or values. */
    struct Part {
        const std::string name;
        Halide::GeneratorOutput<Halide::Buffer<>> *rows = nullptr, *scales = nullptr;
    };
    Part k{"k"}, v{"v"};

    /** Stores element(i, head, token), a Func of f32, for each of `tokens`. `d`: elements of a row. Of 8 bits a row has a scale by which
     * its largest magnitude becomes the largest number of the type, and Funcs "peak_" and "inv_scale_" with the name of the part. */
    void store(const Part &part, const Halide::Func &element, const Halide::Expr &d, const Halide::Expr &tokens,
               const Halide::Target &target) {
        using namespace Halide;
        Var i("i"), place("place"), head("head"), page("page");
        const Expr rows = part.rows->dim(1).extent(), pages = part.rows->dim(3).extent();
        const RDom token(0, tokens, "token");
        const Expr slot = (*slots_)(clamp(token, 0, max(tokens - 1, 0))), of_page = slot / max(rows, 1);
        RDom stored = token;
        stored.where(slot >= 0 && of_page < select(rows > 0, pages, 0));
        const Expr to = clamp(slot % max(rows, 1), 0, max(rows - 1, 0)), to_page = clamp(of_page, 0, max(pages - 1, 0));
        // On a GPU the loops over heads of q may have those of a cache, which has fewer.
        const Expr of_head = target.has_gpu_feature() ? min(head, max(heads() - 1, 0)) : Expr(head);
        Expr value = element(i, of_head, stored);
        if (part.scales) {
            Func peak("peak_" + part.name), inv_scale("inv_scale_" + part.name);
            Var t("token");
            const RDom r(0, d, "i");
            peak(head, t) = 0;
            peak(head, t) = max(peak(head, t), magnitude_bits(element(r, head, t)));
            inv_scale(head, t) = inverse_own_scale(output(), reinterpret<float>(peak(head, t)));
            (*part.scales)(place, head, page) = undef<float>();
            (*part.scales)(to, head, to_page) = own_scale_of(output(), reinterpret<float>(peak(of_head, stored)));
            Func(*part.scales).update(0).allow_race_conditions();
            value = quantize(output(), value, inv_scale(of_head, stored), 0, target);
        } else {
            value = store_as(stored_type(), value);
        }
        (*part.rows)(i, place, head, page) = undef(stored_type());
        (*part.rows)(i, to, head, to_page) = value;
        Func(*part.rows).update(0).allow_race_conditions();
    }

    /** What a call checks of the outputs. `d`: elements of a row. */
    void constrain(Halide::Internal::GeneratorBase &generator, const Halide::Expr &d, const Halide::Expr &tokens) const {
        slots_->dim(0).set_bounds(0, tokens);
        read_only_if(generator, k.rows->dim(1).extent() > 0 && k.rows->dim(3).extent() > 0,
                     {argument("k"), argument("v"), argument("k_scale"), argument("v_scale")}, Granted::kNo);
        for (const Part *part : {&k, &v}) {
            part->rows->dim(0).set_bounds(0, d);
            part->rows->dim(1).set_bounds(0, is_paged() ? Halide::Expr(int(page)) : k.rows->dim(1).extent());
            part->rows->dim(2).set_bounds(0, heads());
            part->rows->dim(3).set_bounds(0, k.rows->dim(3).extent());
            if (part->scales) {
                part->scales->dim(0).set_bounds(0, k.rows->dim(1).extent());
                part->scales->dim(1).set_bounds(0, heads());
                part->scales->dim(2).set_bounds(0, k.rows->dim(3).extent());
            }
        }
    }

private:
    // As outputs of 8 bits are called.
    OutputType output() const {
        return cache_type == CacheType::kInt8 ? OutputType::kS8 : cache_type == CacheType::kE4M3 ? OutputType::kE4M3 : OutputType::kE5M2;
    }

    Halide::GeneratorInput<Halide::Buffer<>> *slots_ = nullptr;
};

}  // namespace halyard

#endif
