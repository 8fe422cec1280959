#ifndef HALYARD_TESTS_COMMAND_SUPPORT_H
#define HALYARD_TESTS_COMMAND_SUPPORT_H

/** \file
 * What the tests of the command share: runs of the real binary, folders, schedules, a generator that obeys.
 */

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/process.h"
#include "kernel/text.h"

using halyard::ProcessResult;
using halyard::read_file;
using halyard::write_file;
using Arguments = std::vector<std::string>;

/** Runs the command to its end. */
ProcessResult run(const Arguments &arguments, const std::vector<std::string> &environment = {});

/** Runs a line of sh in which $halyard is the command. */
ProcessResult run_shell(const std::string &line);

/** Runs the command with all of its output on a terminal of 100 columns, and gives what arrived there. */
std::string run_on_terminal(const Arguments &arguments, const std::vector<std::string> &environment = {});

/** Runs the command with --json, which must end with this exit code. */
nlohmann::json run_json(const Arguments &arguments, int exit_code = 0);

/** An empty folder that goes away with the object. */
class Folder : public halyard::TemporaryDirectory {
public:
    Folder() : TemporaryDirectory(halyard::temporary_root()) {}
    /** The path of an entry, made or not. */
    std::string operator/(const std::string &name) const {
        return path() + "/" + name;
    }
};

/** The names in a folder, hidden ones too, sorted; none where there is no folder. */
std::vector<std::string> names_in(const std::string &folder);

/** Writes a schedule for rms_norm with one tune{} parameter "rows", and returns its path. */
std::string write_schedule(const std::string &path);

/** Writes one that says k.inv_rns in line 8. */
std::string write_wrong_schedule(const std::string &path);

/** The line of `text` with this number, from 1, without surrounding blanks. */
std::string line_of(const std::string &text, int number);

/** Whether a process group goes on to have a process that is not merely waiting to be waited for: one that is killed takes a moment. */
bool group_runs(int group);

bool contains(const std::string &text, const std::string &part);

/** How often `part` is in `text`. */
size_t count(const std::string &text, const std::string &part);

/** What headless Chromium made of an HTML page (its DOM, serialised anew, is the output); nothing where none is installed. */
std::optional<ProcessResult> shown_by_browser(const std::string &page);

#endif
