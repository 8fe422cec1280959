#ifndef HALYARD_COMMAND_CONFINE_H
#define HALYARD_COMMAND_CONFINE_H

/** \file
 * What a child process may reach: the files that are named here and nothing else of the machine.
 *
 * By Landlock (files, TCP, signals) and seccomp (system calls) where the kernel has them; without, processes run as ever,
 * and `halyard doctor` says so. docs/SECURITY.md has the whole profile.
 */

#include <memory>
#include <string>
#include <vector>

#include "kernel/process.h"

namespace halyard {

/** Besides the system's libraries and what the kernel tells of the processor, which all may read. */
struct Confinement {
    std::string program;              // the executable file itself
    std::vector<std::string> reads;   // files, and folders with all that is below them
    std::vector<std::string> writes;  // folders of its own; the first is for temporary files
    bool starts_programs = false;     // a compiler, for which it may start what the system has
    bool device = false;              // a CUDA device and its driver
};

/** Adds the program, and the libraries that it and `loads` need, to what may be read. */
Confinement confinement_of(const std::string &program, const std::vector<std::string> &loads);

/** What a script may require: the library that ships, and the Lua files in its own folder, in the one above and in `lib`, to a
 * small depth: a schedule's folder may be somebody's home. */
std::vector<std::string> files_of_script(const std::string &script, const std::vector<std::string> &lib);

/** As run_process, for a child that reaches no more than that; a program that cannot be started is a failed run. */
ProcessResult run_confined(const std::vector<std::string> &command, const ProcessOptions &options, const Confinement &confinement);

/** "Landlock 7 and seccomp", or what is missing; HALYARD_CONFINE=off turns both off. */
std::string confinement_state();

/** Whether files are out of reach for a confined process here. */
bool confines();

/** Made before fork, put to use between fork and exec. */
class Confiner {
public:
    explicit Confiner(const Confinement &confinement);
    ~Confiner();

    /** NAME=VALUE, for the environment of the child. */
    const std::vector<std::string> &environment() const;

    /** False and errno where the kernel refused. Safe between fork and exec. */
    bool apply();

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace halyard

#endif
