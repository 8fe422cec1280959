#ifndef HALYARD_KERNEL_GENERATOR_NOTES_H
#define HALYARD_KERNEL_GENERATOR_NOTES_H

/** \file
 * What a person is told of a generator that did its work.
 */

#include <string>

#include "kernel/generate.h"

namespace halyard {

/** The warnings of the generator without those of Halide that a reader can do nothing about, one for each kind, and a line where the
 * library is made by Halide alone. */
std::string generator_notes(const Plan &plan, const std::string &standard_error);

}  // namespace halyard

#endif
