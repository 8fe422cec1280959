#ifndef HALYARD_COMMAND_EXPLAIN_DEVICE_TABLE_H
#define HALYARD_COMMAND_EXPLAIN_DEVICE_TABLE_H

/** \file
 * An explanation of schedules for CUDA, for a terminal and for programs.
 */

#include <nlohmann/json.hpp>

#include "explain/explain_device.h"

namespace halyard {

/** The kernels and the stages of every schedule, then the sentences. */
void print_explanation(const std::vector<Explained> &all, const GpuFigures &gpu);

/** The kernels alone. */
void print_kernels(const Explained &e);

/** {device, schedules: [{kernels, stages, nest, about, ...}], comparison: [sentences]} */
nlohmann::json explanation_json(const std::vector<Explained> &all, const GpuFigures &gpu);

/** One of its schedules. */
nlohmann::json schedule_json(const Explained &e, const GpuFigures &gpu);
nlohmann::json device_json(const GpuFigures &gpu);

}  // namespace halyard

#endif
