#ifndef HALYARD_COMMAND_EXPLAIN_TABLE_H
#define HALYARD_COMMAND_EXPLAIN_TABLE_H

/** \file
 * An explanation for a terminal and for programs.
 */

#include "explain/explain.h"

namespace halyard {

/** The stages of every schedule with the data in the cache (or not), then the sentences. */
void print_explanation(const std::vector<Explained> &all, const Machine &machine, bool cold);

/** {machine, schedules: [{stages, loops, warm, cold, sentences, ...}], comparison: [sentences]} */
nlohmann::json explanation_json(const std::vector<Explained> &all, const Machine &machine);

}  // namespace halyard

#endif
