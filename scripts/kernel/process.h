#ifndef HALYARD_COMMAND_PROCESS_H
#define HALYARD_COMMAND_PROCESS_H

/** \file
 * Child processes and temporary directories, neither of which outlives an interrupted command.
 */

#include <cstdint>
#include <string>
#include <vector>

namespace halyard {

struct ProcessResult {
    int exit_code = 0;  // -1 where a signal or the timeout ended it
    int signal = 0;     // the signal that ended it
    bool timed_out = false;
    std::string out, err;    // of more than output_bytes, the beginning and the end
    int64_t peak_bytes = 0;  // of memory that it had at once

    bool ok() const {
        return exit_code == 0;
    }
};

/** Where a child finds `ProcessOptions::folder`: a path without characters that a tool would take for something else. So do programs that
 * it starts, in whatever folder they run. */
extern const char *const kOwnFolder;

/** Its descriptor, which no other may have in a child. */
constexpr int kOwnFolderNumber = 64;

struct ProcessOptions {
    double timeout = 0;                      // seconds; 0 waits for ever
    std::vector<std::string> environment;    // NAME=VALUE, added to ours
    bool end_group = false;                  // what it left running is killed when it ended
    std::string input = "";                  // its standard input
    int64_t memory_bytes = 0;                // that it may take; 0 for no bound
    double processor_seconds = 0;            // likewise
    std::string directory = "";              // where it runs; "" where we do
    std::string folder = "";                 // of its own: it is at kOwnFolder, and named by TMPDIR; "" for none
    size_t output_bytes = size_t(16) << 20;  // that are kept of each, standard output and error
};

/** Runs a program (searched in PATH where it has no slash) and captures what it prints.
 * Throws Failure where it cannot be started, Interrupted after SIGINT or SIGTERM. */
ProcessResult run_process(const std::vector<std::string> &command, const ProcessOptions &options = {});

/** From here on children stay in this process's group, and are killed when it ends: for a process that only works for
 * another, which kills the group. */
void bind_children();

/** "was killed by signal 11 (Segmentation fault)", "ran longer than 5 s", "failed with exit code 3". */
std::string describe_end(const ProcessResult &result, double timeout);

/** From here on SIGINT, SIGTERM and SIGHUP are noted instead of ending the program at once. A second one ends it, and the
 * children of run_process with it. */
void catch_signals();

/** Whether one of them came. */
bool interrupted();

/** Throws Interrupted if one of them came. */
void check_signals();

/** A new directory in `parent`, removed with all it holds; parents that it had to make, too, where nothing else came into them. One that
 * a killed process left there is removed too. */
class TemporaryDirectory {
public:
    explicit TemporaryDirectory(const std::string &parent);
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory &) = delete;
    TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

    const std::string &path() const {
        return path_;
    }

private:
    std::string path_;
    std::vector<std::string> made_;  // folders above it that were not there, the innermost first
    int lock_ = -1;                  // held while this process lives
};

/** Removes a folder with all that it holds, which may be anything that a process could make there. Whether it is gone. */
bool remove_folder(const std::string &path);

/** The system's folder for temporary files. */
std::string temporary_root();

}  // namespace halyard

#endif
