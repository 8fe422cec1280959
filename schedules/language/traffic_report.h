#ifndef HALYARD_TRAFFIC_REPORT_H
#define HALYARD_TRAFFIC_REPORT_H

/** \file
 * The traffic of a pipeline as the plugin reports it: autoscheduler.sizes and autoscheduler.caches.
 */

#include <functional>
#include <memory>

#include <nlohmann/json.hpp>

#include "language/binding.h"
#include "language/index_value.h"
#include "language/needed_work.h"
#include "language/traffic.h"

namespace halyard {

class TrafficReport {
public:
    /** `sizes` as x:4096x64,weight:4096 and `caches` as l1:32768,l2:1048576,l3:33554432. To be made
     * before the schedule is applied. Throws std::invalid_argument. */
    TrafficReport(const Halide::Pipeline &pipeline, const Halide::Target &target, const std::string &sizes, const std::string &caches);

    /** Hands the report to `done` when Halide has lowered the pipeline in this same compile. */
    void attach(const Halide::Pipeline &pipeline, const PipelineView &view, const std::vector<Touch> &touches,
                std::function<void(nlohmann::json)> done);

private:
    Halide::Target target_;
    BufferSizes sizes_;
    CacheSizes caches_;
    NeededWork needed_;
};

}  // namespace halyard

#endif
