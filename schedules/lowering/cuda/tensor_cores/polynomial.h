#ifndef HALYARD_LOWERING_CUDA_POLYNOMIAL_H
#define HALYARD_LOWERING_CUDA_POLYNOMIAL_H

/** \file
 * An index as a sum of products: what takes it apart again where the strides are products themselves.
 *
 *   (n * e1 + row) * e0 + col  ->  n * e0 * e1 + row * e0 + col  ->  quotient n of e0 * e1, row of e0, and col
 */

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

class Polynomial {
public:
    /** A product: a factor, and what is neither a sum nor a product, in one order for all. */
    struct Term {
        int64_t factor = 1;
        std::vector<Halide::Expr> atoms;
    };

    Polynomial() = default;
    explicit Polynomial(const Halide::Expr &e);

    /** The quotient by another one, which is not 0; what is left of this stays here. */
    Polynomial divide(const Polynomial &by);

    /** Takes out the terms in which one of the variables is. */
    Polynomial take_out(const std::vector<std::string> &variables);

    void add(const Polynomial &other, int64_t factor = 1);
    Polynomial times(const Polynomial &other) const;

    const std::vector<Term> &terms() const {
        return terms_;
    }
    bool is_zero() const {
        return terms_.empty();
    }
    bool is_one() const;
    Halide::Expr expr() const;

private:
    void add(Term t);

    std::vector<Term> terms_;  // of more atoms first, no two with the same ones
};

/** Whether a has more atoms in its first term than b, or a greater factor: strides in the order of their sizes. */
bool is_smaller(const Polynomial &a, const Polynomial &b);

}  // namespace halyard

#endif
