#ifndef HALYARD_MODELS_MODEL_TURNS_H
#define HALYARD_MODELS_MODEL_TURNS_H

/** \file
 * Builds of one model, timed in turns and compared by what they compute. In a process of its own, as a search does not want to end with
 * one of them.
 */

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/loaded_model.h"

namespace halyard {

struct ModelTimes {
    double whole = 0;           // least seconds of a call
    std::vector<double> calls;  // least seconds of each call of a kernel
    std::string wrong;          // how its outputs differ from the first one's, "" where they agree
};

/** The work of that process: a job as JSON, its result as JSON. */
nlohmann::json run_model_turns(const nlohmann::json &job);

/** Starts it: `reports` are of builds of the same model. Throws Failure where one of them cannot run, and Interrupted. */
std::vector<ModelTimes> model_turns(const std::vector<std::string> &reports, const ModelDims &dims, int threads, double seconds);

}  // namespace halyard

#endif
