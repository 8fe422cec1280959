#ifndef HALYARD_TESTS_ENGINE_SMALL_PIPELINE_H
#define HALYARD_TESTS_ENGINE_SMALL_PIPELINE_H

/** \file
 * A pipeline of a few lines, scheduled by a script through the plugin and lowered, in process.
 */

#include <string>

/** Loads the plugin, once. */
void load_small_plugin();

/** Schedules and lowers the pipeline; "" if all is well, else the message that a user would read.
 * Throws what is not a Halide::Error.
 *
 *   x     [col, row] an input buffer; scale an input scalar
 *   f     f(col, row) = x + 1
 *   sum   sum(row) += f(r, row), r over the columns
 *   hist  hist(i) += sum over an RDom of two dimensions, rx and ry
 *   g     g(col, row) = f * sum * scale + hist
 *   y     the output, y(col, row) = g(col, row) * 2
 */
std::string schedule_small_pipeline(const std::string &script);

#endif
