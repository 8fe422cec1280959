#ifndef HALYARD_EXPLORE_TOLERANCE_H
#define HALYARD_EXPLORE_TOLERANCE_H

/** \file
 * How far two right schedules of an op may be apart. They compute the same sums in another order; tests/ops holds ops
 * against a float64 reference, and more tightly.
 */

#include <string>

#include "kernel/kernel.h"

namespace halyard::explore {

struct Tolerance {
    double epsilons = 0;   // of f32, of an element or of the root mean square of all, whichever is larger
    double storage = 0;    // the epsilon of the coarsest float type among the arguments, for the same
    double steps = 0;      // of rounding, for integers of 8 and 16 bits that are made of floats
    double jumps = 0;      // the part of those that may differ by more: what is looked up by a rounded index
    double strangers = 0;  // the part of 32-bit integers that may differ
};

/** `flops_an_element` is what one element of the output takes: the sums are at most as long. `floats`: what is computed between the
 * arguments is of floats, too, where those are not. */
Tolerance tolerance_of(const std::string &op, const CompiledKernel &kernel, double flops_an_element, bool floats = false);

}  // namespace halyard::explore

#endif
