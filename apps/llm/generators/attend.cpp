// Attention of one token's queries over a cache that the token itself goes into: heads of queries and of the key are normed, where the model
// does so, and turned by the token's position, and its key and value are stored, while the keys before it are read.
//
// The cache and the results are rows of one array, so that one kernel writes all of them: row `head` of the rows behind the cache gets what that
// head sees, and a row of keys and one of values in each key head get the token's. The same array is read: only rows that are not
// written are looked at.
//
// With `several`, a token of each of at most eight sequences, whose caches are slots of one array; the results of all stand behind the cache
// of the first slot. What a sequence gets is what it gets alone. The slots are arguments, and not an array, so that keys may be read before
// anything else is.

#include <limits>

#include <Halide.h>

#include "math/elements.h"
#include "math/exp.h"
#include "rotation.h"

namespace {

using namespace Halide;
using namespace halyard;

class Attend : public Generator<Attend> {
public:
    GeneratorParam<Type> type{"type", Float(16)};  // of the cache and the results: float32, float16 or bfloat16
    GeneratorParam<bool> halves{"halves", false};  // pairs are (i, i + pairs), and not neighbours
    GeneratorParam<bool> normed{"normed", false};  // heads of queries and keys are divided by their rms
    GeneratorParam<bool> several{"several", false};

    Input<Buffer<float, 2>> qkv{"qkv"};            // [d, (heads + 2 key_heads) tokens]
    Input<Buffer<float, 3>> angles{"angles"};      // [pairs, 2, tokens]: cosines and sines of their positions
    Input<Buffer<int32_t, 1>> lengths{"lengths"};  // [tokens]: tokens in the cache with this one, the last; clamped to 1 and keys
    Input<Buffer<void>> cache{"cache"};            // [d, 2 key_heads places + heads]: a row a token of each key head, keys and then values
    Input<int> key_heads{"key_heads"}, keys{"keys"};  // `keys` of the cache are looked at: as many as the length, or more
    Input<int> window{"window"};                      // keys that a query sees, its own among them
    Input<float> scale{"scale"};
    Input<Buffer<float>> *query_weight = nullptr, *key_weight = nullptr;  // [d]
    Input<float> *eps = nullptr;
    // Of `several`: cache and together have a third dimension, and more rows of results.
    std::vector<Input<int> *> slots;                         // of each token
    Input<int> *places = nullptr, *first_results = nullptr;  // the first token's results are so many tokens behind
    Output<Buffer<void>> together{"together"};               // as the cache

    void configure() {
        cache.set_type(storage_type(type));
        together.set_type(storage_type(type));
        cache.set_dimensions(several ? 3 : 2);
        together.set_dimensions(several ? 3 : 2);
        if (several) {
            for (int i = 0; i < kMostTokens; i++) {
                slots.push_back(add_input<int>("slot_" + std::to_string(i)));
            }
            places = add_input<int>("places");
            first_results = add_input<int>("first_results");
        }
        if (normed) {
            query_weight = add_input<Buffer<float>>("query_weight", 1);
            key_weight = add_input<Buffer<float>>("key_weight", 1);
            eps = add_input<float>("eps");
        }
    }

    void generate() {
        const Expr d = qkv.dim(0).extent(), pairs = angles.dim(0).extent(), rows = together.dim(1).extent();
        const Expr tokens = lengths.dim(0).extent(), of_token = qkv.dim(1).extent() / max(tokens, 1);
        const Expr heads = of_token - 2 * key_heads, group = max(heads / max(key_heads, 1), 1);
        const Expr of_head = several ? Expr(*places) : (rows - heads) / max(2 * key_heads, 1);
        add_requirement(2 * pairs <= d, "attend: the angles are of", pairs, "pairs, and heads have only", d, "elements");
        add_requirement(key_heads > 0 && heads > 0 && heads % key_heads == 0, "attend:", heads, "heads of queries, and", key_heads,
                        "of keys");
        add_requirement(keys > 0 && keys <= of_head, "attend:", keys, "keys of a cache that has", of_head);
        add_requirement(window > 0, "attend: a window of", window, "keys, and a query sees its own at least");
        if (several) {
            add_requirement(tokens <= kMostTokens && tokens * of_token == qkv.dim(1).extent(), "attend:", qkv.dim(1).extent(),
                            "rows of heads are not of", tokens, "tokens, of which", kMostTokens, "are the most");
            add_requirement(*first_results >= 0 && 2 * key_heads * of_head + (*first_results + tokens) * heads <= rows,
                            "attend: a slot has", rows, "rows, too few for its keys and values and the results");
            for (int i = 0; i < kMostTokens; i++) {
                const Expr slot_of_token = *slots[size_t(i)];
                add_requirement(i >= tokens || (slot_of_token >= 0 && slot_of_token < cache.dim(2).extent()), "attend: token", i,
                                "has slot", slot_of_token, "of", cache.dim(2).extent());
            }
        } else {
            add_requirement(of_token == qkv.dim(1).extent(), "attend: lengths has", tokens, "elements, and is of one token");
            add_requirement(2 * key_heads * of_head + heads == rows, "attend:", rows, "rows are not a result of each of", heads,
                            "heads behind keys and values of", key_heads);
        }

        // A row of the results is a head of queries, a key or a value; all of them do what the first do.
        token_of(row) = several ? clamp(row / of_token, 0, max(tokens - 1, 0)) : Expr(0);
        const Expr token = token_of(row), first = token * of_token, head = row - first;
        key_head_of(row) = select(head < heads, min(head, heads - 1) / group, (head - heads) % key_heads);
        const Expr query_head = first + min(head, heads - 1), key_head = clamp(key_head_of(row), 0, key_heads - 1);
        // By a coordinate, as what hangs on none the host would read.
        x_last(row) = clamp(lengths(several ? token : min(row, tokens - 1)), 1, keys) - 1;
        if (several) {
            Expr slot_of_token = *slots.back();
            for (int i = kMostTokens - 2; i >= 0; i--) {
                slot_of_token = select(token == i, *slots[size_t(i)], slot_of_token);
            }
            slot_of(row) = slot_of_token;
        }
        const auto cached = [&](const Expr &at, const Expr &place) {
            return several ? cache(at, place, clamp(slot_of(row), 0, cache.dim(2).extent() - 1)) : cache(at, place);
        };
        const halyard_llm::Pairs pairs_of = {pairs, d, halves};
        const Expr own_key = turned(i, first + heads + key_head, pairs_of, squares_k, key_weight),
                   own_value = qkv(i, first + heads + key_heads + key_head);
        const auto as_stored = [&](const Expr &value) { return load_f32(store_as(type, value)); };
        x(i, part, row) = select(part == kQuery, turned(i, query_head, pairs_of, squares_q, query_weight), part == kKey, as_stored(own_key),
                                 as_stored(own_value));

        const Expr last = x_last(row);
        // So many keys at a time have no rest, which threads would ask for; those beyond the last are not visible.
        constexpr int kTogether = 256;
        const RDom depth(0, d, "depth"), other(0, (keys + (kTogether - 1)) / kTogether * kTogether, "key");
        // Nothing that is read of the cache hangs on the length, so that it may be read before that is known.
        k_rows(i, key, row) = cached(i, key_head * of_head + min(key, keys - 1));
        v_rows(i, key, row) = cached(i, (key_heads + key_head) * of_head + min(key, keys - 1));
        dot(key, row) += x(depth, kQuery, row) * load_f32(k_rows(depth, key, row));
        dot_own(row) += x(depth, kQuery, row) * x(depth, kKey, row);
        const float none = -std::numeric_limits<float>::infinity();
        const Expr visible = key <= last && key > last - window;
        const Expr score = kept_if(visible && key < last, dot(key, row)) + kept_if(visible && key == last, dot_own(row));
        logits(key, row) = scale * score + select(visible, 0.0f, none);
        top(row) = none;
        top(row) = max(top(row), logits(other, row));
        weights(key, row) = kept_if(visible, exp_nonpositive_f32(logits(key, row) - top(row), get_target()));
        total(row) += weights(other, row);
        const Expr value = kept_if(other < last, load_f32(v_rows(i, other, row))) + kept_if(other == last, x(i, kValue, row));
        acc(i, row) += weights(other, row) * value;

        const RDom r(0, qkv.dim(1).extent(), "r");
        result(i, row) = select(head < heads, acc(i, row) / total(row), x(i, select(head < heads + key_heads, kKey, kValue), row));
        const Expr of_r = r - token_of(r) * of_token, is_result = of_r < heads;
        const Expr result_row = 2 * key_heads * of_head + of_r + (several ? (*first_results + token_of(r)) * heads : Expr(0));
        const Expr to = clamp(select(is_result, result_row, (of_r - heads) * of_head + x_last(r)), 0, max(rows - 1, 0));
        if (several) {
            const Expr slot_to = clamp(select(is_result, 0, slot_of(r)), 0, max(together.dim(2).extent() - 1, 0));
            together(i, row, slot) = undef(type);
            together(i, to, slot_to) = store_as(type, result(i, r));
            lengths.dim(0).set_stride(Expr());
            cache.dim(2).set_bounds(0, together.dim(2).extent());
            together.dim(2).set_min(0);
        } else {
            together(i, row) = undef(type);
            together(i, to) = store_as(type, result(i, r));
        }
        Func(together).update(0).allow_race_conditions();  // rows of the results go to different places

        qkv.dim(0).set_min(0);
        qkv.dim(1).set_min(0);
        lengths.dim(0).set_min(0);
        cache.dim(0).set_bounds(0, d);
        cache.dim(1).set_bounds(0, rows);
        together.dim(0).set_bounds(0, d);
        together.dim(1).set_min(0);
    }

private:
    // The value, or 0. As bits, so that a NaN is dropped, and that Halide does not make what the value is computed of wait for the condition.
    static Expr kept_if(const Expr &condition, const Expr &value) {
        using Internal::make_const;
        return reinterpret<float>(reinterpret<uint32_t>(value) &
                                  select(condition, make_const(UInt(32), 0xffffffffu), make_const(UInt(32), 0)));
    }

    Expr turned(const Var &at, const Expr &head, const halyard_llm::Pairs &pairs, Func squares, const Input<Buffer<float>> *weight) {
        if (normed) {
            const RDom of_head(0, pairs.width, "of_head");
            squares(row) += qkv(of_head, head) * qkv(of_head, head);
        }
        const auto element_of = [&](const Expr &element) {
            const Expr value = qkv(element, head);
            return normed ? value * (1.0f / sqrt(squares(row) / cast<float>(pairs.width) + *eps)) * (*weight)(element) : value;
        };
        return halyard_llm::rotated(
            pairs, at, element_of, [&](const Expr &pair) { return Tuple(angles(pair, 0, token_of(row)), angles(pair, 1, token_of(row))); });
    }

    static constexpr int kMostTokens = 8;
    Var i{"i"}, row{"row"}, key{"key"}, part{"part"}, slot{"slot"};
    Func token_of{"token_of"}, key_head_of{"key_head_of"}, slot_of{"slot_of"};
    // What the token brings, and where it stands. Halide computes Funcs in the order of their names here, and these wait for another kernel.
    Func x{"x"}, x_last{"x_last"};
    static constexpr int kQuery = 0, kKey = 1, kValue = 2;  // its parts
    Func squares_q{"squares_q"}, squares_k{"squares_k"}, k_rows{"k_rows"}, v_rows{"v_rows"}, dot{"dot"}, dot_own{"dot_own"},
        logits{"logits"}, top{"top"}, weights{"weights"}, total{"total"}, acc{"acc"}, result{"result"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Attend, attend)
