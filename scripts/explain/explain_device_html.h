#ifndef HALYARD_COMMAND_EXPLAIN_DEVICE_HTML_H
#define HALYARD_COMMAND_EXPLAIN_DEVICE_HTML_H

/** \file
 * An explanation of schedules for CUDA as a page that needs nothing else: the roofline, the kernels, the loop nest.
 */

#include "explain/explain_device.h"

namespace halyard {

std::string explanation_html(const std::vector<Explained> &all, const GpuFigures &gpu);

/** What a call launches, and what each kernel takes. */
std::string kernel_table(const Explained &e);

}  // namespace halyard

#endif
