#include "command/pager.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/terminal_guard.h"

namespace halyard {

namespace {

bool fits(const std::string &text) {
    winsize size = {};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ||
           std::count(text.begin(), text.end(), '\n') < std::ptrdiff_t(size.ws_row);
}

// "" where there shall be none.
std::string pager() {
    const char *term = std::getenv("TERM"), *named = std::getenv("PAGER");
    if (!isatty(STDOUT_FILENO) || !term || std::string(term) == "dumb") {
        return "";
    }
    const std::string command = named ? named : "if command -v less >/dev/null 2>&1; then exec less; else exec cat; fi";
    return command == "cat" ? "" : command;
}

void write_all(int file, const std::string &text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t n = write(file, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) {
            return;  // who reads it has enough
        }
        done += n > 0 ? size_t(n) : 0;
    }
}

// Whether a pager showed it. The terminal is the pager's while it runs, and so is Control-C.
bool shown_by(const std::string &command, const std::string &text) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        setenv("LESS", "FRX", 0);
        setenv("LV", "-c", 0);
        execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char *>(nullptr));
        _exit(127);
    }
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return false;
    }
    const auto interrupt = std::signal(SIGINT, SIG_IGN), quit = std::signal(SIGQUIT, SIG_IGN);
    write_all(ends[1], text);
    close(ends[1]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    std::signal(SIGINT, interrupt);
    std::signal(SIGQUIT, quit);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

}  // namespace

void page(const std::string &text) {
    const std::string command = pager();
    if (command.empty() || fits(text) || !shown_by(command, as_on_terminal(text))) {
        fmt::print("{}", text);
    }
}

}  // namespace halyard
