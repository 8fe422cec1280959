#ifndef HALYARD_MATH_ATTENTION_TERMS_H
#define HALYARD_MATH_ATTENTION_TERMS_H

/** \file
 * What stands between the product of queries and keys and the softmax of attention, and what is made of its denominator: terms of
 * logits, and which keys a query sees. Prefill and decoding share it.
 */

#include <cmath>
#include <limits>

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/log.h"
#include "math/tanh.h"

namespace halyard {

/** Which key the queries of a call stand at: the last query at the last key of the array (decoding: of the sequence), the first at
 * the first, or the last query at the last key of its sequence, by `lengths`. */
enum class Diagonal { kBottomRight, kTopLeft, kLengths };

/** Of a mask: numbers that are added to logits, or bytes, of which 0 says that the query does not see the key, or, excluded, that it does. */
enum class MaskType { kAdded, kBoolean, kExcluded };

/** A member of a generator, of which its parameters are then parameters. */
class AttentionTerms {
public:
    /** A query sees the keys up to the one it stands at. */
    Halide::GeneratorParam<bool> causal{"causal", false};
    Halide::GeneratorParam<Diagonal> diagonal{
        "diagonal",
        Diagonal::kBottomRight,
        {{"bottom_right", Diagonal::kBottomRight}, {"top_left", Diagonal::kTopLeft}, {"lengths", Diagonal::kLengths}}};
    /** A query that stands at key j sees j - window_left to j + window_right; a negative size is no
     * limit (Beltagy et al. 2020; window_size of FlashAttention). With causal, window_right counts as 0. */
    Halide::GeneratorParam<bool> windowed{"windowed", false};
    /** mask [keys, queries], of every head: added to the scaled scores, or boolean. */
    Halide::GeneratorParam<bool> masked{"masked", false};
    Halide::GeneratorParam<MaskType> mask_type{
        "mask_type", MaskType::kAdded, {{"added", MaskType::kAdded}, {"boolean", MaskType::kBoolean}}};
    /** bias [keys, queries, heads, batch], added likewise; a stride of 0 broadcasts. */
    Halide::GeneratorParam<bool> add_bias{"add_bias", false};
    /** A boolean bias: the logit of a key that a query does not see is `bias_fill`, so that a query that sees none gives the mean
     * of the values where that is finite. What is added by a mask comes before it. */
    Halide::GeneratorParam<MaskType> bias_type{
        "bias_type", MaskType::kAdded, {{"added", MaskType::kAdded}, {"boolean", MaskType::kBoolean}, {"excluded", MaskType::kExcluded}}};
    /** Adds -slopes[head] * |distance of query and key| (Press et al. 2021). */
    Halide::GeneratorParam<bool> alibi{"alibi", false};
    /** Scaled scores become softcap * tanh(score / softcap), before anything is added (Gemma team 2024). */
    Halide::GeneratorParam<bool> capped{"capped", false};
    /** exp(sinks[head]) joins the denominator of every query, as of a key whose value is 0 (OpenAI 2025, gpt-oss). */
    Halide::GeneratorParam<bool> add_sink{"add_sink", false};
    /** lse [queries, heads, batch]: the logarithm of the denominator, with which results over parts of the keys are put together. */
    Halide::GeneratorParam<bool> store_lse{"store_lse", false};

    /** Adds the inputs, lengths [batch] among them, and lse. */
    void add_to(Halide::Internal::GeneratorBase &generator, const Halide::Type &type, bool padded) {
        using namespace Halide;
        if (!masked && mask_type == MaskType::kBoolean) {
            throw CompileError("mask_type=boolean is of a mask, which masked=true adds");
        }
        const bool is_boolean = bias_type != MaskType::kAdded;
        if (is_boolean && !add_bias) {
            throw CompileError("bias_type=boolean and excluded are of a bias, which add_bias=true adds");
        }
        if (!padded && diagonal == Diagonal::kLengths) {
            throw CompileError("diagonal=lengths is by the lengths of sequences, which padded=true adds");
        }
        if (masked) {
            mask_ = generator.add_input<Buffer<>>("mask", mask_type == MaskType::kBoolean ? UInt(8) : type, 2);
        }
        if (add_bias) {
            bias_ = generator.add_input<Buffer<>>("bias", is_boolean ? UInt(8) : type, 4);
            bias_fill_ = is_boolean ? generator.add_input<float>("bias_fill") : nullptr;
        }
        if (alibi) {
            slopes_ = generator.add_input<Buffer<>>("slopes", Float(32), 1);
        }
        if (padded) {
            lengths_ = generator.add_input<Buffer<>>("lengths", Int(32), 1);
        }
        if (windowed) {
            window_left_ = generator.add_input<int>("window_left");
            window_right_ = generator.add_input<int>("window_right");
        }
        if (capped) {
            softcap_ = generator.add_input<float>("softcap");
        }
        if (add_sink) {
            sinks_ = generator.add_input<Buffer<>>("sinks", Float(32), 1);
        }
        if (store_lse) {
            lse_ = generator.add_output<Buffer<>>("lse", Float(32), 3);
        }
    }

    /** Where a sequence ends; undefined without lengths. */
    Halide::Expr length(const Halide::Expr &sequence) const {
        return lengths_ ? Halide::Expr((*lengths_)(sequence)) : Halide::Expr();
    }

    /** The key that the first query of a call stands at. `end` is where the keys that it is aligned to end. */
    Halide::Expr first_position(const Halide::Expr &queries, const Halide::Expr &end) const {
        return diagonal == Diagonal::kTopLeft ? Halide::Expr(0) : end - queries;
    }

    /** Whether only what is scaled counts, so that the scale may come after a maximum. */
    bool plain() const {
        return !masked && !add_bias && !alibi && !capped;
    }

    /** What a term is read for. Where keys are clamped to those there are, `real_key` is, and `key` is not. */
    struct Place {
        Halide::Expr query, position, key, real_key, head, sequence;
    };

    /** The keys that count, both included. */
    struct Visible {
        Halide::Expr first, last;
    };

    /** What queries at `lowest` to `highest` see of a sequence without padding. */
    Visible visible(const Halide::Expr &lowest, const Halide::Expr &highest, const Halide::Expr &keys, const Halide::Expr &queries) const {
        using namespace Halide;
        const Expr everything = keys + queries;
        const auto size = [&](const Expr &given) { return select(given < 0, everything, min(given, everything)); };
        Visible seen{0, keys - 1};
        if (windowed) {
            seen.first = lowest - size(*window_left_);
        }
        if (causal) {
            seen.last = min(seen.last, highest);
        } else if (windowed) {
            seen.last = min(seen.last, highest + size(*window_right_));
        }
        return seen;
    }

    /** A scaled score, capped. On a GPU as c - 2c / (e^(2 score / c) + 1), two instructions of the unit for special functions, which is off by
     * some epsilons of the cap where the score is near 0. */
    Halide::Expr cap(const Halide::Expr &score, const Halide::Target &target) const {
        using namespace Halide;
        if (target.has_gpu_feature()) {
            return *softcap_ - 2.0f * *softcap_ / (exp(score * (2.0f / *softcap_)) + 1.0f);
        }
        return *softcap_ * tanh_f32(score / *softcap_);
    }

    /** The mask and the bias as stored, or 1 and 0 where they are boolean. */
    Halide::Expr mask_at(const Place &at) const {
        return load_f32((*mask_)(at.real_key, at.query));
    }
    Halide::Expr bias_at(const Place &at) const {
        return load_f32((*bias_)(at.real_key, at.query, at.head, at.sequence));
    }

    /** A logit with what is added to it, all times `unit`. `mask` and `bias` are what mask_at and bias_at gave, if there are such. */
    Halide::Expr add(Halide::Expr logit, const Place &at, const Halide::Expr &unit, const Halide::Expr &mask,
                     const Halide::Expr &bias) const {
        using namespace Halide;
        if (masked && mask_type == MaskType::kAdded) {
            logit = logit + mask * unit;
        }
        if (bias_fill_) {
            const Expr is_zero = is_zero_f32(bias);
            logit = select(bias_type == MaskType::kBoolean ? is_zero : !is_zero, *bias_fill_ * unit, logit);
        } else if (add_bias) {
            logit = logit + bias * unit;
        }
        if (alibi) {
            logit = logit - (*slopes_)(at.head) * unit * cast<float>(abs(at.position - at.key));
        }
        if (masked && mask_type == MaskType::kBoolean) {
            logit = select(is_zero_f32(mask), Float(32).min(), logit);
        }
        return logit;
    }

    /** The logit of a head's sink. */
    Halide::Expr sink(const Halide::Expr &head) const {
        return (*sinks_)(head);
    }

    /** Defines lse, over `query`, `h` and `n` as out is. */
    template<typename Output>
    void define_lse(const std::vector<Halide::Var> &indices, const Halide::Expr &value, const Output &out) {
        (*lse_)(indices) = value;
        for (int d = 0; d < 3; d++) {
            lse_->dim(d).set_bounds(out.dim(d + 1).min(), out.dim(d + 1).extent());
        }
    }

    /** The logarithm of `sum` times e^top, or -infinity where the sum is 0. */
    static Halide::Expr logarithm(const Halide::Expr &top, const Halide::Expr &sum) {
        return select(is_zero_f32(sum), Halide::Float(32).min(), top + log_f32(sum));
    }

private:
    Halide::GeneratorInput<Halide::Buffer<>> *mask_ = nullptr, *bias_ = nullptr, *slopes_ = nullptr, *lengths_ = nullptr, *sinks_ = nullptr;
    Halide::GeneratorInput<int> *window_left_ = nullptr, *window_right_ = nullptr;
    Halide::GeneratorInput<float> *softcap_ = nullptr, *bias_fill_ = nullptr;
    Halide::GeneratorOutput<Halide::Buffer<>> *lse_ = nullptr;
};

}  // namespace halyard

#endif
