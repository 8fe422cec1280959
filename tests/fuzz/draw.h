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

/** A script for this pipeline of the algorithm `op`; the same seed gives the same script everywhere. */
std::string draw_script(const std::string &op, const Halide::Pipeline &pipeline, uint64_t seed, bool cuda = false);

}  // namespace fuzz

#endif
