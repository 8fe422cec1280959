#ifndef HALYARD_MATH_DRAW_H
#define HALYARD_MATH_DRAW_H

/** \file
 * A token of the largest logits of each row, by temperature, top-k, top-p, min-p and a uniform number: what the op `sample` draws of all
 * logits with the same parameters, where its top-k is at least 1 and at most the length of the list. Where it is not, all of the list is
 * what top-k leaves.
 */

#include <limits>
#include <string>

#include <Halide.h>

#include "math/order.h"
#include "math/sampling.h"

namespace halyard {

class ListDraw {
public:
    /** Adds uniform, temperature, row_top_k, top_p, min_p and token, all [rows]. */
    void add_to(Halide::Internal::GeneratorBase &generator) {
        using namespace Halide;
        uniform_ = generator.add_input<Buffer<>>("uniform", Float(32), 1);
        temperature_ = generator.add_input<Buffer<>>("temperature", Float(32), 1);
        top_k_ = generator.add_input<Buffer<>>("row_top_k", Int(32), 1);
        top_p_ = generator.add_input<Buffer<>>("top_p", Float(32), 1);
        min_p_ = generator.add_input<Buffer<>>("min_p", Float(32), 1);
        token_ = generator.add_output<Buffer<>>("token", Int(32), 1);
    }

    /** list [length, rows]: rank_key() of the largest, the first first. vocab: how many logits a row has */
    void define(const Halide::Func &list, int length, const Halide::Var &row, const Halide::Expr &vocab, bool min_p_first,
                bool temperature_last, const Halide::Target &target) {
        using namespace Halide;
        const SamplingRow asked((*temperature_)(row), (*top_k_)(row), (*min_p_)(row), (*uniform_)(row), vocab, rank_order(list(0, row)));
        of_row(row) = Tuple(select(asked.wanted > 0, min(asked.wanted, length), length), asked.inverse, cast<int32_t>(asked.has_any),
                            asked.top, asked.least, asked.log_min_p);
        const Expr kept = of_row(row)[0], inverse = of_row(row)[1], has_any = of_row(row)[2] != 0, top = of_row(row)[3],
                   least = of_row(row)[4], log_min_p = of_row(row)[5];
        const Expr scale = temperature_last ? Expr(1.0f) : inverse, zero = cast<uint64_t>(0);
        const Expr key = rank_order(list(i, row)), distance = sampling_distance(key, top, scale), passes = distance >= log_min_p;
        const Expr exists = i < kept && key >= least;
        weight(i, row) = select(min_p_first ? exists && passes : exists, sampling_weight(distance, target), zero);
        RDom n(0, length, "n"), m(0, length, "n"), o(0, length, "n"), s(0, length, "n"), t(0, length, "n");
        all(row) += weight(n, row);
        goal(row) = sampling_goal((*top_p_)(row), all(row));
        m.where(m < i);
        before(i, row) += weight(m, row);
        const Expr inside = exists && passes && (goal(row) >= all(row) || before(i, row) < goal(row));
        const Expr drawn_weight = temperature_last ? sampling_weight(sampling_distance(key, top, inverse), target) : weight(i, row);
        left(i, row) = select(inside, drawn_weight, zero);
        total(row) += left(o, row);
        // In the order of the vocabulary.
        share(i, row) += select(rank_index(list(s, row)) <= rank_index(list(i, row)), left(s, row), zero);
        const Expr beyond = sampling_share(sampling_uniform((*uniform_)(row)), total(row)), none = std::numeric_limits<int32_t>::max();
        drawn(row) = none;
        drawn(row) = min(drawn(row), select(share(t, row) > beyond, rank_index(list(t, row)) & std::numeric_limits<int32_t>::max(), none));
        (*token_)(row) = select(has_any, drawn(row), -1);
        for (Func *f : {&weight, &before, &left, &share}) {
            f->bound(i, 0, length);
        }
    }

    explicit operator bool() const {
        return token_ != nullptr;
    }
    /** The rows of token are those of another output. */
    void bound_rows(const Halide::Expr &min, const Halide::Expr &extent) {
        token_->dim(0).set_bounds(min, extent);
    }

private:
    using In = Halide::GeneratorInput<Halide::Buffer<>>;

    In *uniform_ = nullptr, *temperature_ = nullptr, *top_k_ = nullptr, *top_p_ = nullptr, *min_p_ = nullptr;
    Halide::GeneratorOutput<Halide::Buffer<>> *token_ = nullptr;
    Halide::Var i{"i"};
    Halide::Func of_row{"draw_terms"}, weight{"draw_weight"}, all{"draw_all"}, goal{"draw_goal"}, before{"draw_before"}, left{"draw_left"},
        total{"draw_total"}, share{"draw_share"}, drawn{"drawn"};
};

}  // namespace halyard

#endif
