#ifndef HALYARD_COMMAND_PROGRAM_FILES_H
#define HALYARD_COMMAND_PROGRAM_FILES_H

/** \file
 * Which files the loader needs to start a program.
 */

#include <string>
#include <vector>

namespace halyard {

struct ProgramFiles {
    std::string interpreter;             // the loader that the program names; "" for one that is linked statically
    bool is_script = false;              // begins with #!
    std::vector<std::string> libraries;  // files in the folders that programs and libraries name themselves
};

/** Follows the RUNPATH of a program, LD_LIBRARY_PATH and what is found there. All libraries of those folders are listed, as
 * some load their neighbours later. What lies in the system's folders is not. */
ProgramFiles program_files(const std::string &program);

/** The shared libraries that lie in a folder. */
std::vector<std::string> libraries_in(const std::string &folder);

}  // namespace halyard

#endif
