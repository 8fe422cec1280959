#ifndef HALYARD_COMMAND_EXPLAIN_DEVICE_WORDS_H
#define HALYARD_COMMAND_EXPLAIN_DEVICE_WORDS_H

/** \file
 * Why a schedule for CUDA is as fast as it is, and why fusing pays or does not, in sentences; and the words that tables and
 * pages share.
 */

#include <string>
#include <vector>

#include "explain/explain_device.h"

namespace halyard {

/** What limits it, what it moves and launches, and what its kernels leave of the device. */
std::vector<std::string> about_schedule(const Explained &e, const GpuFigures &gpu);

/** The first schedule against another. */
std::vector<std::string> compare(const Explained &fused, const Explained &other, const GpuFigures &gpu);

/** "4.26 TB/s copied (documented), 989 TFLOP/s on tensor cores, 66.9 elsewhere, 132 multiprocessors" */
std::string device_text(const GpuFigures &gpu);

std::string grid_text(const std::array<int, 3> &extents);  // "128 x 4"
std::string resident_text(const ExplainedKernel &k);       // "2 (registers)"
std::string shared_text(const ExplainedKernel &k);         // "48.0 KiB"

}  // namespace halyard

#endif
