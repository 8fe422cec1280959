#ifndef HALYARD_COMMAND_TARGETS_H
#define HALYARD_COMMAND_TARGETS_H

/** \file
 * Short names for Halide target strings. A level is named after the last of Halide's own features in it, and spells
 * out every feature below it, so that a schedule sees them all.
 */

#include <set>
#include <string>
#include <vector>

namespace halyard {

/** A library for every current x86 server and desktop: the best level first, the baseline last. */
extern const char *const kDefaultTargets;

/** The names of the levels, from the lowest to the highest. */
std::vector<std::string> level_names();

/** The highest level whose instructions are all among the flags of /proc/cpuinfo. */
std::string best_level(const std::set<std::string> &flags);

/** "avx512,avx2" or "host" or Halide's own strings as Halide target strings with no_runtime, the
 * one with the fewest features last, as Halide wants it. Throws UsageError. */
std::vector<std::string> resolve_targets(const std::string &text);

/** Features of a Halide target string. */
std::set<std::string> target_features(const std::string &target);

/** What the last of some targets, which runs where none before it does, needs and a processor of a level lacks: Halide's
 * features. */
std::vector<std::string> features_missing(const std::string &text, const std::string &level);

/** Whether the first of the targets is CUDA. */
bool is_cuda(const std::string &text);

/** "cuda-sm_80-sm_90a" is "cuda" with its architectures: "sm_80,sm_90a"; "" for any other. */
std::string devices_of(const std::string &text);

/** Those of --devices, else of the target, with commas. Throws UsageError where both say some, and not the same. */
std::string devices_to_build(const std::string &target, const std::string &devices);

/** "cuda" with architectures in its name. Throws UsageError for other targets that are not CUDA, or name other architectures. */
std::string with_devices(const std::string &text, const std::string &devices);

/** What a result depends on: the resolved targets, and the architectures where they are named. */
std::string target_key(const std::string &text);

}  // namespace halyard

#endif
