#ifndef HALYARD_LOWERING_CUDA_LINEAR_H
#define HALYARD_LOWERING_CUDA_LINEAR_H

/** \file
 * An index as a sum of terms with constant factors.
 */

#include <functional>
#include <vector>

#include <Halide.h>

namespace halyard {

struct Linear {
    struct Term {
        Halide::Expr atom;  // not itself a sum, nor a multiple by a constant
        int64_t factor = 0;
    };
    std::vector<Term> terms;
    int64_t constant = 0;

    /** The factor of a variable; 0 where it is not among the terms. Terms that hold it otherwise do not count. */
    int64_t factor_of(const std::string &variable) const;

    /** Whether a variable stands inside a term that is more than the variable. */
    bool hides(const std::string &variable) const;

    Halide::Expr expr() const;
};

/** Names of lets that stand around an expression; the value of each, by the others. */
using Lets = Halide::Internal::Scope<Halide::Expr>;

/** An expression in which no variable of the lets is left. */
Halide::Expr expand(const Halide::Expr &e, const Lets &lets);

/** The other way round: what is the value of a let becomes its variable. */
Halide::Expr collapse(const Halide::Expr &e, const Lets &lets);

Linear linear(const Halide::Expr &e);

}  // namespace halyard

#endif
