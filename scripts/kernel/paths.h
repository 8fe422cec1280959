#ifndef HALYARD_COMMAND_PATHS_H
#define HALYARD_COMMAND_PATHS_H

/** \file
 * Where the pieces of Halyard lie, in a build tree and after installation.
 *
 * The root is HALYARD_ROOT where that is set, otherwise the nearest folder above the executable
 * that has bin/halyard-generators. A build tree (it has a CMakeCache.txt) takes its schedules from
 * the source tree that the cache names; an installed one from share/halyard/schedules.
 */

#include <string>

namespace halyard {

struct Paths {
    std::string root;
    std::string generators;      // the executable that holds every op of the registry
    std::string heads;           // the executable that reads the heads of scripts
    std::string plugin;          // libhalyard.so
    std::string runtime;         // libhalyard_runtime.a
    std::string shared_runtime;  // libhalyard_runtime.so, for programs that load libraries while they run
    std::string llvm;            // libllvmlite.so
    std::string recorder;        // a CUDA driver that writes launches down (launch_recorder.h)
    std::string schedules;       // the folder of cpu/, cuda/ and lib/
    std::string models;          // the Python program that reads models
    std::string headers;         // the folder of HalideRuntime.h
    std::string workers;         // the Python program that measures on other machines
    std::string cache;           // where built kernels and measured peaks are kept
    std::string identity;        // of a wheel: the hash of what it was made of; else ""
    bool build_tree = false;
};

/** Names every piece, whether it exists or not. */
const Paths &paths();

/** `path` where it exists; otherwise a Failure that says what is missing and how to get it. */
const std::string &require_piece(const std::string &path, const std::string &what);

/** How to get the pieces back, for messages. */
std::string how_to_build();

}  // namespace halyard

#endif
