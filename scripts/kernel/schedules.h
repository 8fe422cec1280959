#ifndef HALYARD_COMMAND_SCHEDULES_H
#define HALYARD_COMMAND_SCHEDULES_H

/** \file
 * The schedules on disk: schedules/<cpu|cuda>/OP.lua is the one that ships, OP.NAME.lua a variant.
 */

#include <string>
#include <vector>

namespace halyard {

struct ScheduleFile {
    std::string name;   // "rms_norm" or "rms_norm.unfused"
    std::string place;  // "cpu" or "cuda"
    std::string path;
};

/** No script: the generator's own schedule, or Halide's default where it has none. */
extern const char *const kNoSchedule;

/** Every schedule of an op, the shipped one first. */
std::vector<ScheduleFile> schedules_of(const std::string &op);

/** The script that `wanted` means: a file, or the name of a schedule of the op ("unfused" is short
 * for "rms_norm.unfused", "" means the shipped one). "" for kNoSchedule. Throws UsageError that
 * names the nearest. */
std::string find_schedule(const std::string &op, const std::string &wanted, const std::string &place);

/** What tables call a script: its file name without .lua; kNoSchedule for "". */
std::string schedule_name(const std::string &path);

}  // namespace halyard

#endif
