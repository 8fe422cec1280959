// What comes between the joined product of queries, keys and values and attention: heads of queries and keys are normed, where the model
// does so, and turned by their token's position (RoPE, Su et al. 2021); keys and values go into a cache, each to the place of its position.
//
// In 8 bits a head of a key or value has a scale: its largest by 127. The rest of a cache stays as it is. A position outside of the cache is not stored. With `joined`, queries stand behind the cache, as
// rows of the same array, so that one kernel writes all of it.

#include <Halide.h>

#include "head_rounding.h"
#include "math/elements.h"
#include "rotation.h"

namespace {

using namespace Halide;
using namespace halyard;

class Turn : public Generator<Turn> {
public:
    GeneratorParam<Type> query_type{"query_type", Float(32)};  // of q: float32, float16 or bfloat16
    GeneratorParam<Type> cache_type{"cache_type", Float(16)};  // of keys and values: the same, or int8 where these are not joined
    GeneratorParam<bool> halves{"halves", false};              // pairs are (i, i + width / 2), and not neighbours
    GeneratorParam<bool> normed{"normed", false};              // heads of queries and keys are divided by their rms
    GeneratorParam<bool> joined{"joined", false};

    Input<Buffer<float, 3>> qkv{"qkv"};                                   // [d, heads + 2 key_heads, tokens]
    Input<Buffer<int32_t, 1>> positions{"positions"};                     // [tokens]
    Input<Buffer<float, 3>> angles{"angles"};                             // [pairs, 2, tokens]: cosines and sines (angles.cpp)
    Input<Buffer<float>> *query_weight = nullptr, *key_weight = nullptr;  // [d]
    Input<float> *eps = nullptr;
    Input<int> *key_heads = nullptr;            // of `joined`
    Output<Buffer<>> *q = nullptr;              // [d, heads, tokens]
    Output<Buffer<>> *kv = nullptr;             // [d, places, key_heads, 2]: keys, then values
    Output<Buffer<float>> *kv_scale = nullptr;  // [places, key_heads, 2], of int8
    Output<Buffer<>> *together = nullptr;       // [d, 2 key_heads places + heads tokens]: the same, then those of q

    void configure() {
        if (joined) {
            key_heads = add_input<int>("key_heads");
            together = add_output<Buffer<>>("together", storage_type(cache_type), 2);
        } else {
            q = add_output<Buffer<>>("q", storage_type(query_type), 3);
            kv = add_output<Buffer<>>("kv", rounds() ? Int(8) : storage_type(cache_type), 4);
            if (rounds()) {
                kv_scale = add_output<Buffer<float>>("kv_scale", 3);
            }
        }
        if (normed) {
            query_weight = add_input<Buffer<float>>("query_weight", 1);
            key_weight = add_input<Buffer<float>>("key_weight", 1);
            eps = add_input<float>("eps");
        }
    }

    void generate() {
        d = qkv.dim(0).extent();
        const Expr tokens = qkv.dim(2).extent(), pairs = angles.dim(0).extent();
        add_requirement(2 * pairs <= d, "turn: the angles are of", pairs, "pairs, and heads have only", d, "elements");
        const Expr of_keys = joined ? Expr(*key_heads) : kv->dim(2).extent(), heads = qkv.dim(1).extent() - 2 * of_keys;

        if (normed) {
            const RDom r(0, d, "depth");
            squares(head, token) += qkv(r, head, token) * qkv(r, head, token);
            inverse(head, token) = 1.0f / sqrt(squares(head, token) / cast<float>(d) + *eps);
            x(i, head, token) = qkv(i, head, token) * inverse(head, token) * select(head < heads, (*query_weight)(i), (*key_weight)(i));
        } else {
            x(i, head, token) = qkv(i, head, token);
        }
        const Expr is_value = head >= heads + of_keys;
        turned(i, head, token) = select(is_value, qkv(i, head, token), turn(pairs));
        if (joined) {
            define_together(heads, of_keys, tokens);
        } else {
            define_apart(heads, of_keys, tokens);
        }
        qkv.dim(0).set_min(0);
        qkv.dim(1).set_min(0);
        qkv.dim(2).set_min(0);
    }

private:
    bool rounds() const {
        return cache_type.value() == Int(8);
    }

    void define_apart(const Expr &heads, const Expr &of_keys, const Expr &tokens) {
        add_requirement(heads == q->dim(1).extent(), "turn: qkv has", heads, "heads of queries, and q", q->dim(1).extent());
        (*q)(i, head, token) = store_as(query_type, turned(i, head, token));
        const Expr places = kv->dim(1).extent();
        (*kv)(i, place, head, part) = undef(kv->type());
        RDom r({{0, tokens}, {0, 2}}, "r");
        const Expr at = positions(r.x);
        r.where(at >= 0 && at < places);
        const Expr to = clamp(at, 0, max(places - 1, 0)), from = heads + r.y * of_keys + head, value = turned(i, from, r.x);
        if (rounds()) {
            const RDom of_head(0, d, "of_head");
            largest(head, token) = 0.0f;
            largest(head, token) = max(largest(head, token), abs(turned(of_head, head, token)));
            most(head, token) = largest(head, token);
            (*kv)(i, to, head, r.y) = halyard_llm::rounded_to_8_bits(value, halyard_llm::inverse_head_scale(most(from, r.x)));
            (*kv_scale)(place, head, part) = undef<float>();
            (*kv_scale)(to, head, r.y) = halyard_llm::head_scale(most(from, r.x));
            Func(*kv_scale).update(0).allow_race_conditions();
        } else {
            (*kv)(i, to, head, r.y) = store_as(cache_type, value);
        }
        Func(*kv).update(0).allow_race_conditions();  // tokens have different positions
        q->dim(0).set_bounds(0, d);
        q->dim(2).set_bounds(0, tokens);
        kv->dim(0).set_bounds(0, d);
        kv->dim(3).set_bounds(0, 2);
    }

    void define_together(const Expr &heads, const Expr &of_keys, const Expr &tokens) {
        const Expr rows = together->dim(1).extent(), places = (rows - heads * tokens) / max(2 * of_keys, 1);
        add_requirement(of_keys > 0 && heads > 0, "turn:", heads, "heads of queries, and", of_keys, "of keys");
        add_requirement(places >= 0 && 2 * of_keys * places + heads * tokens == rows, "turn:", rows, "rows are not those of", tokens,
                        "tokens of", heads, "heads behind keys and values of", of_keys);
        (*together)(i, place) = undef(cache_type);
        RDom r({{0, heads + 2 * of_keys}, {0, tokens}}, "r");
        const Expr at = positions(r.y);
        r.where(r.x < heads || (at >= 0 && at < places));
        const Expr row = select(r.x < heads, 2 * of_keys * places + r.y * heads + r.x, (r.x - heads) * places + at);
        (*together)(i, clamp(row, 0, max(rows - 1, 0))) = store_as(cache_type, turned(i, r.x, r.y));
        Func(*together).update(0).allow_race_conditions();  // heads have different rows
        together->dim(0).set_bounds(0, d);
        together->dim(1).set_min(0);
    }

    Expr turn(const Expr &pairs) {
        return halyard_llm::rotated(
            {pairs, d, halves}, i, [&](const Expr &element) { return x(element, head, token); },
            [&](const Expr &of_pair) { return Tuple(angles(of_pair, 0, token), angles(of_pair, 1, token)); });
    }

    Expr d;
    Var i{"i"}, head{"head"}, token{"token"}, place{"place"}, part{"part"};
    Func squares{"squares"}, inverse{"inverse"}, x{"x"}, turned{"turned"}, largest{"largest"}, most{"most"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Turn, turn)
