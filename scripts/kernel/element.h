#ifndef HALYARD_COMMAND_ELEMENT_H
#define HALYARD_COMMAND_ELEMENT_H

/** \file
 * One element of any type that a kernel takes, as a double.
 */

#include <string>

#include <HalideRuntime.h>

namespace halyard {

/** Throws Failure for a type that is not among f16, bf16, f32, f64, i8..i64 and u1..u64. */
double load_element(const halide_type_t &type, const void *from);

/** Rounds to nearest even (f16, bf16) or towards zero (integers, which saturate). */
void store_element(const halide_type_t &type, void *to, double value);

/** "f32", "bf16", "i32", ... */
std::string type_name(const halide_type_t &type);

}  // namespace halyard

#endif
