#ifndef HALYARD_APPS_CUT_OFF_FILE_H
#define HALYARD_APPS_CUT_OFF_FILE_H

/** \file
 * Mapped files that become shorter while they are read, as where another is copied over one.
 */

#include <csignal>
#include <cstring>

#include <unistd.h>

namespace halyard_apps {

/** Has the program end with this line, which has to live as long as it, and with this code, where it reads behind the end of a file that it has
 * mapped: without it, by SIGBUS. */
inline void end_where_a_file_is_cut_off(const char *line, int code) {
    static const char *said;
    static int with;
    said = line;
    with = code;
    struct sigaction action = {};
    action.sa_handler = [](int) {
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, said, std::strlen(said));
        _exit(with);
    };
    sigaction(SIGBUS, &action, nullptr);
}

}  // namespace halyard_apps

#endif
