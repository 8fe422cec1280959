#ifndef HALYARD_LOWERING_EMPTY_CALLS_H
#define HALYARD_LOWERING_EMPTY_CALLS_H

/** \file
 * Calls with arrays that have no elements.
 */

#include <memory>
#include <vector>

#include <Halide.h>

namespace halyard {

/** A pass for Pipeline::add_custom_lowering_pass, to be the last one: a call none of whose outputs has an element does nothing and
 * succeeds, whatever its inputs hold; types, numbers of dimensions, fixed extents and requirements are checked as ever. And an
 * array without elements may have no memory: it is no bounds query, and no error. What read_only_if() says in a generator
 * (generators/math/unread.h) is no requirement but says when an input has to have what is read, and is read at all
 * (unread_inputs.h). Folds are checked before all work (fold_checks.h).
 *
 *   assert(x has what y needs)                    assert(y is empty || x has what y needs)
 *   assert(host of x)                      ->     assert(x is empty || host of x)
 *   produce y ...                                 if (!(y is empty)) produce y ...
 */
std::unique_ptr<Halide::Internal::IRMutator> skip_empty_calls(const std::vector<Halide::Func> &outputs);

}  // namespace halyard

#endif
