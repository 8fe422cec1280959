#ifndef HALYARD_MODELS_BUILD_MODEL_H
#define HALYARD_MODELS_BUILD_MODEL_H

/** \file
 * An ONNX model becomes a library: what reads it is a Python program (__main__.py) in a process of its own, which leaves the groups of
 * nodes as graphs, a schedule for each, and the C that calls them. Here they are built, into the cache, and put together.
 */

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace halyard {

struct ModelRequest {
    std::string model, name;
    std::map<std::string, std::pair<int64_t, int64_t>> dims;  // the least and the most
    std::string schedule;                                     // a NAME.lua, or ""
    std::string target;
    std::string type;      // of weights and of arrays between groups: bfloat16 or float16, "" for that of the model
    std::string devices;   // of CUDA kernels, with commas; "" for all that are usual
    double timeout = 300;  // of the reader, and of each kernel
    int jobs = 0;          // 0: as many as there are processors
    bool shared = false;   // a shared object, too, over the shared runtime
    // Of a search: what to change of `schedule`, and whether to say what may be changed (moves.py). `folder` is where schedules of groups
    // are, "" for that of `schedule`.
    nlohmann::json edits = nlohmann::json::array();
    bool wants_moves = false;
    std::string folder;
    std::function<void(const nlohmann::json &report)> check = nullptr;  // of what was read, before anything is built
};

struct BuiltModel {
    nlohmann::json report;
    std::vector<std::string> inputs;  // what the outputs depend on
    int built = 0, cached = 0;        // kernels
    nlohmann::json moves = nlohmann::json::array();
};

/** Leaves libNAME.a, NAME.h, NAME.weights, NAME.lua and NAME.json in `work`, and NAME.so where it is wanted. `progress` is told what is being done. Throws Failure,
 * UsageError and Interrupted. */
BuiltModel build_model(const ModelRequest &request, const std::string &work, const std::function<void(const std::string &)> &progress);

}  // namespace halyard

#endif
