#ifndef HALYARD_PEERS_MULTIPLY_H
#define HALYARD_PEERS_MULTIPLY_H

/** \file
 * The roof of arithmetic on narrow types: what the processor's own dot products of bf16 and of
 * u8 x s8 reach, in vectors or in AMX tiles, whichever is faster.
 */

#include <string>

namespace halyard {

/** Operations (two a multiply-add) per second with so many threads; 0 for a type or a processor
 * without such instructions. */
double multiply_peak(const std::string &type, int threads);

}  // namespace halyard

#endif
