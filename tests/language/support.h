#ifndef HALYARD_TESTS_ENGINE_SUPPORT_H
#define HALYARD_TESTS_ENGINE_SUPPORT_H

/** \file
 * What the tests of the schedule language share: scripts in a temporary folder, processes.
 */

#include <string>
#include <vector>

/** A folder that goes away with the object. */
class TempDir {
public:
    TempDir();
    ~TempDir();
    TempDir(const TempDir &) = delete;
    TempDir &operator=(const TempDir &) = delete;

    const std::string &path() const {
        return path_;
    }

    /** Writes a file, making the folders it needs, and returns its path. */
    std::string write(const std::string &name, const std::string &text) const;

private:
    std::string path_;
};

std::string read_file(const std::string &path);

/** The text with names that Halide counts up, as t411, counted from the first of the text on. */
std::string counted_anew(const std::string &text);

/** The names in a folder, sorted. */
std::vector<std::string> files_in(const std::string &dir);

struct Finished {
    int exit_code = -1;  // 128 + n after signal n
    std::string out, err;
};

/** Runs a program to its end; kills it after `seconds`. */
Finished run_program(const std::vector<std::string> &argv, double seconds = 60);

#endif
