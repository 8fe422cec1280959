#ifndef MINILM_REFERENCE_OPS_H
#define MINILM_REFERENCE_OPS_H

/** \file
 * The encoder's kernels as plain loops with f64 sums, for any mins and strides:
 * a test double, so that the application's logic is tested without schedules.
 */

#include "kernels.h"

const minilm::Kernels &reference_kernels();

/** Calls of the reference attention since the program began. */
int reference_attention_calls();

#endif
