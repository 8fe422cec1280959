#ifndef HALYARD_COMMAND_EXPLORE_COMPARE_H
#define HALYARD_COMMAND_EXPLORE_COMPARE_H

/** \file
 * halyard explore --compare: given schedules side by side.
 */

#include <string>
#include <vector>

#include "explore/compare/compare.h"
#include "command/explore_options.h"

namespace halyard {

/** The schedules, named as --schedule takes them, as contenders of a task. */
std::vector<explore::Contender> contenders_of(const CommonOptions &options, const explore::Task &task,
                                              const std::vector<std::string> &schedules);

/** Prints a comparison: as a table, or as JSON, or the name of the page that it wrote. */
void show_comparison(const explore::Comparison &comparison, bool json, const std::string &html);

/** Compares the schedules of --compare, prints, and keeps what was measured in the database of the options, unless they say
 * otherwise. For CUDA a folder of --export gets them too, for a machine with a GPU. */
void explore_compare(const ExploreOptions &options, explore::Task task);

}  // namespace halyard

#endif
