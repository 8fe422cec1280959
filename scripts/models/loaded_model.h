#ifndef HALYARD_MODELS_LOADED_MODEL_H
#define HALYARD_MODELS_LOADED_MODEL_H

/** \file
 * A compiled model in memory, with arrays for calls of one size.
 */

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/process.h"

namespace halyard {

/** The sizes of a call, by the names of free dimensions. */
using ModelDims = std::map<std::string, int64_t>;

/** What `halyard compile` wrote. Throws Failure where it is no such report. */
nlohmann::json read_model_report(const std::string &path);

/** All dimensions: those of `given`, the least of the others. Throws UsageError where one is not the model's. */
ModelDims model_dims(const nlohmann::json &report, const std::string &path, const ModelDims &given);

/** Its library as a shared object with a runtime of its own, and arrays: inputs from -1 to 1, whole numbers 0. */
class LoadedModel {
public:
    LoadedModel(const std::string &report_path, const nlohmann::json &report, const ModelDims &dims, int threads);
    ~LoadedModel();
    LoadedModel(const LoadedModel &) = delete;
    LoadedModel &operator=(const LoadedModel &) = delete;

    /** Seconds of a call. */
    double run();
    /** The same, and the seconds of each of its calls of kernels. */
    void time(std::vector<double> &seconds);

    size_t calls() const {
        return calls_;
    }
    size_t workspace() const {
        return bytes_[0];
    }
    size_t outputs() const {
        return bytes_.size() - 1 - inputs_;
    }
    /** The bytes of an output after a call. */
    const uint8_t *output(size_t i) const {
        return arrays_[1 + inputs_ + i].get();
    }
    size_t output_bytes(size_t i) const {
        return bytes_[1 + inputs_ + i];
    }

private:
    template<typename F>
    F symbol(const std::string &what) const {
        return reinterpret_cast<F>(address(what));
    }
    void *address(const std::string &what) const;
    void check(int code) const;

    using Bytes = std::unique_ptr<uint8_t, decltype(&std::free)>;
    TemporaryDirectory folder_;
    std::string name_;
    void *library_ = nullptr;  // stays: its threads run in it
    void *model_ = nullptr;
    size_t inputs_ = 0, calls_ = 0;
    std::vector<int32_t> sizes_;
    std::vector<size_t> bytes_;  // of the workspace, and of each array
    std::vector<Bytes> arrays_;
    std::vector<void *> pointers_;
    int (*run_)(const void *, const int32_t *, void *const *, void *) = nullptr;
    int (*time_)(const void *, const int32_t *, void *const *, void *, double *) = nullptr;
};

}  // namespace halyard

#endif
