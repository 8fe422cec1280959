#ifndef HALYARD_MODELS_EXPLAIN_MODEL_H
#define HALYARD_MODELS_EXPLAIN_MODEL_H

/** \file
 * Where the time of a compiled model goes: of each group what it moves and computes at the sizes of a call, what fusing saved, the least
 * that this machine needs for it, and what it took.
 */

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "explain/machine.h"

namespace halyard {

struct ExplainedGroup {
    std::string name, kind, why;
    std::vector<std::string> nodes;  // of the model
    std::vector<size_t> after;       // groups that it reads of
    std::vector<double> shape;
    bool is_call = false;         // else it is the same memory as what it reads
    double moved = 0, saved = 0;  // bytes: read and written; that fusing keeps out of memory
    double operations = 0;
    double floor = 0;     // seconds
    double measured = 0;  // seconds; 0 where it was not run
};

struct ExplainedModel {
    std::string name, file, sizes, target;
    int threads = 1;
    std::vector<ExplainedGroup> groups;
    double workspace = 0, weights = 0;  // bytes
    double whole = 0;                   // seconds of a call, 0 where it was not run

    double sum(double ExplainedGroup::*what) const;
};

struct ExplainModelRequest {
    std::string report;                   // NAME.json, beside libNAME.a and NAME.weights
    std::map<std::string, int64_t> dims;  // those that are not named are 1, or the least that the model takes
    int threads = 1;
    double seconds = 1;
    bool measure = true;
};

/** Throws Failure and UsageError. */
ExplainedModel explain_model(const ExplainModelRequest &request, const Machine &machine,
                             const std::function<void(const std::string &)> &progress);

void print_model(const ExplainedModel &model);
nlohmann::json model_json(const ExplainedModel &model);
/** A page: the graph with groups coloured by what they are, and the table. */
std::string model_html(const ExplainedModel &model);

}  // namespace halyard

#endif
