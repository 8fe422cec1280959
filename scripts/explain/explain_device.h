#ifndef HALYARD_COMMAND_EXPLAIN_DEVICE_H
#define HALYARD_COMMAND_EXPLAIN_DEVICE_H

/** \file
 * What a schedule for CUDA costs and why: the kernels that a call launches, as the library itself and its machine code say,
 * with the bytes and flops that the plugin counts in them, at the rates of a device.
 */

#include "explain/explain.h"

namespace halyard {

/** A kernel as it was launched. */
struct Launch {
    std::string kernel;
    std::array<int, 3> grid = {1, 1, 1}, block = {1, 1, 1};
    int shared_bytes = 0;  // asked for at the launch
    std::optional<KernelResources> resources;
};

/** Adds stages, kernels and what they move, from the plugin's report and the launches of a call. */
void read_device_report(Explained &e, const nlohmann::json &report, const std::vector<Launch> &launches);

/** Fills in seconds, limits and totals. */
void predict_on_device(Explained &e, const GpuFigures &gpu);

/** Of several schedules of one op: the floor of all, as what one of them multiplies on tensor cores all could. `flops` is what
 * the op takes at least. */
void set_device_floor(std::vector<Explained *> all, double flops, const GpuFigures &gpu);

/** Launches of a call. */
double launches_of(const Explained &e);

/** On tensor cores and elsewhere. */
double tensor_flops_of(const Explained &e);

}  // namespace halyard

#endif
