// What comes between the joined product of queries, keys and values and attention: heads of queries and keys are normed, where the model
// does so, and turned by their token's position (RoPE, Su et al. 2021); keys and values go into a cache, each to the place of its position.
//
// The rest of a cache stays as it is. A position outside of the cache is not stored.

#include <Halide.h>

#include "math/elements.h"
#include "math/trig.h"

namespace {

using namespace Halide;
using namespace halyard;

class Turn : public Generator<Turn> {
public:
    GeneratorParam<Type> query_type{"query_type", Float(32)};  // of q: float32, float16 or bfloat16
    GeneratorParam<Type> cache_type{"cache_type", Float(16)};  // of keys and values: the same
    GeneratorParam<bool> halves{"halves", false};              // pairs are (i, i + width / 2), and not neighbours
    GeneratorParam<bool> normed{"normed", false};              // heads of queries and keys are divided by their rms

    Input<Buffer<float, 3>> qkv{"qkv"};                                   // [d, heads + 2 key_heads, tokens]
    Input<Buffer<int32_t, 1>> positions{"positions"};                     // [tokens]
    Input<Buffer<float, 1>> frequencies{"frequencies"};                   // [width / 2]: angle = position * frequency
    Input<Buffer<float>> *query_weight = nullptr, *key_weight = nullptr;  // [d]
    Input<float> *eps = nullptr;
    Output<Buffer<void, 3>> q{"q"};    // [d, heads, tokens]
    Output<Buffer<void, 4>> kv{"kv"};  // [d, places, key_heads, 2]: keys, then values

    void configure() {
        q.set_type(storage_type(query_type));
        kv.set_type(storage_type(cache_type));
        if (normed) {
            query_weight = add_input<Buffer<float>>("query_weight", 1);
            key_weight = add_input<Buffer<float>>("key_weight", 1);
            eps = add_input<float>("eps");
        }
    }

    void generate() {
        const Expr d = qkv.dim(0).extent(), tokens = qkv.dim(2).extent(), heads = q.dim(1).extent(), key_heads = kv.dim(2).extent();
        const Expr pairs = frequencies.dim(0).extent(), places = kv.dim(1).extent();
        add_requirement(qkv.dim(1).extent() == heads + 2 * key_heads, "turn: qkv has", qkv.dim(1).extent(), "heads, and q and kv",
                        heads + 2 * key_heads);
        add_requirement(2 * pairs <= d, "turn: the angles are of", pairs, "pairs, and heads have only", d, "elements");

        const Expr angle = cast<double>(positions(token)) * cast<double>(frequencies(pair));
        angle_turn(pair, token) = Tuple(sin_quarters_f64(angle, 1), sin_quarters_f64(angle, 0));
        if (normed) {
            const RDom r(0, d, "depth");
            squares(head, token) += qkv(r, head, token) * qkv(r, head, token);
            inverse(head, token) = 1.0f / sqrt(squares(head, token) / cast<float>(d) + *eps);
            x(i, head, token) = qkv(i, head, token) * inverse(head, token) * select(head < heads, (*query_weight)(i), (*key_weight)(i));
        } else {
            x(i, head, token) = qkv(i, head, token);
        }
        turned(i, head, token) = turn(pairs);
        q(i, head, token) = store_as(query_type, turned(i, head, token));

        kv(i, place, head, part) = undef(cache_type);
        RDom r({{0, tokens}, {0, 2}}, "r");
        const Expr at = positions(r.x);
        r.where(at >= 0 && at < places);
        const Expr of_key = turned(i, heads + head, r.x), of_value = qkv(i, heads + key_heads + head, r.x);
        kv(i, clamp(at, 0, max(places - 1, 0)), head, r.y) = store_as(cache_type, select(r.y == 0, of_key, of_value));
        kv.update(0).allow_race_conditions();  // tokens have different positions

        qkv.dim(0).set_min(0);
        q.dim(0).set_bounds(0, d);
        q.dim(2).set_bounds(0, tokens);
        kv.dim(0).set_bounds(0, d);
        kv.dim(3).set_bounds(0, 2);
    }

private:
    Expr turn(const Expr &pairs) {
        const Expr last = max(pairs - 1, 0), turns = i < 2 * pairs;
        const Expr at = clamp(halves ? select(i < pairs, i, i - pairs) : i / 2, 0, last);
        const Expr second = halves ? i >= pairs : i % 2 == 1;
        const Expr partner = halves ? select(second, i - pairs, i + pairs) : i + 1 - 2 * (i % 2);
        const Expr xi = x(i, head, token), xp = x(unsafe_promise_clamped(select(turns, partner, i), 0, qkv.dim(0).extent() - 1), head, token);
        const FuncRef angle = angle_turn(at, token);
        return select(turns, xi * angle[0] + select(second, xp, -xp) * angle[1], xi);
    }

    Var i{"i"}, head{"head"}, token{"token"}, place{"place"}, part{"part"}, pair{"pair"};
    Func angle_turn{"angle_turn"}, squares{"squares"}, inverse{"inverse"}, x{"x"}, turned{"turned"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Turn, turn)
