#ifndef HALYARD_COMMAND_EXPLORE_OPTIONS_H
#define HALYARD_COMMAND_EXPLORE_OPTIONS_H

/** \file
 * What `halyard explore` is asked for.
 */

#include "command/options.h"

namespace halyard {

struct ExploreOptions : CommonOptions {
    std::string op, shape, schedule, output, html, report, translate, folder, machine, workers, workers_kind, budget = "10m", name, type;
    std::vector<std::string> with, compare, beside, dims;
    double until = 0;
    uint64_t seed = 1;
    int threads = 0;
    size_t most = 100000, candidates = 16;
    bool guess = false, again = false, halide = false, json = false, keep = true;
};

}  // namespace halyard

#endif
