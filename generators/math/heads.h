#ifndef HALYARD_MATH_HEADS_H
#define HALYARD_MATH_HEADS_H

/** \file
 * Grouped queries: several heads of q share one of k and v. Ainslie et al. 2023.
 */

#include <string>

#include <Halide.h>

namespace halyard {

/** How many heads of q share one of k and v; what does not divide is an error of a call of `op`. Where q has none, any number
 * of the others will do. */
inline Halide::Expr heads_of_group(Halide::Internal::GeneratorBase &generator, const std::string &op, const Halide::Expr &heads,
                                   const Halide::Expr &key_heads) {
    using namespace Halide;
    generator.add_requirement(heads == 0 || (key_heads > 0 && heads % max(key_heads, 1) == 0), op + ": q has", heads, "heads, which the",
                              key_heads, "of k and v must divide");
    return max(heads / key_heads, 1);
}

}  // namespace halyard

#endif
