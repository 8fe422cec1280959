#ifndef HALYARD_TESTS_FUZZ_DRAW_H
#define HALYARD_TESTS_FUZZ_DRAW_H

/** \file
 * Draws schedule scripts from the table of words: any word, said of anything that there is, with values
 * from inside and outside of the domains of its arguments.
 */

#include <cstdint>
#include <string>

#include <Halide.h>

namespace fuzz {

/** A script for this pipeline; the same seed gives the same script everywhere. */
std::string draw_script(const Halide::Pipeline &pipeline, uint64_t seed);

}  // namespace fuzz

#endif
