#include "kernel/conversation.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/capture.h"
#include "kernel/failure.h"
#include "kernel/process.h"

extern char **environ;

namespace halyard {

// Sockets in place of pipes: a send to one whose reader is gone is an error and no signal.
struct Ends {
    Ends() {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) {
            throw Failure(fmt::format("no pipe for a child process: {}", std::strerror(errno)));
        }
    }
    ~Ends() {
        close_end(0);
        close_end(1);
    }
    Ends(const Ends &) = delete;
    Ends &operator=(const Ends &) = delete;
    void close_end(int i) {
        if (fd[i] >= 0) {
            close(fd[i]);
            fd[i] = -1;
        }
    }
    int fd[2] = {-1, -1};  // ours, the child's
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsToEnd = 10;
constexpr size_t kMostComplaints = 64 << 10;

std::vector<char *> pointers(const std::vector<std::string> &texts) {
    std::vector<char *> all;
    for (const auto &t : texts) {
        all.push_back(const_cast<char *>(t.c_str()));
    }
    return all;
}

}  // namespace

struct Conversation::Implementation {
    Ends in, out, err;
    pid_t pid = 0;
    std::string said;  // what has no end of a line yet, and lines that nobody has asked for
    Capture complaints{kMostComplaints};

    void start(const std::vector<std::string> &command, const std::vector<std::string> &environment) {
        std::vector<char *> argv = pointers(command), envp = pointers(environment);
        argv.push_back(nullptr);
        for (char **e = environ; *e; e++) {
            envp.push_back(*e);
        }
        envp.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        posix_spawn_file_actions_adddup2(&actions, in.fd[1], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out.fd[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, err.fd[1], STDERR_FILENO);
        sigset_t defaults;
        sigemptyset(&defaults);
        for (int number : {SIGINT, SIGTERM, SIGPIPE}) {
            sigaddset(&defaults, number);
        }
        posix_spawnattr_setsigdefault(&attributes, &defaults);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
        const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
        if (error != 0) {
            throw Failure(fmt::format("{} cannot be started: {}", command[0], std::strerror(error)));
        }
        for (Ends *ends : {&in, &out, &err}) {
            ends->close_end(1);
        }
    }

    // What came on one of its outputs; at the end that is closed.
    void read_some(Ends &ends) {
        char block[65536];
        const ssize_t n = recv(ends.fd[0], block, sizeof(block), 0);
        if (n > 0 && &ends == &out) {
            said.append(block, size_t(n));
        } else if (n > 0) {
            complaints.add(block, size_t(n));
        } else if (n == 0 || errno != EINTR) {
            ends.close_end(0);
        }
    }

    // Waits for something to read, for a moment.
    void listen(int milliseconds) {
        pollfd fds[2] = {{out.fd[0], POLLIN, 0}, {err.fd[0], POLLIN, 0}};
        if (poll(fds, 2, milliseconds) <= 0) {
            return;
        }
        if (fds[0].revents) {
            read_some(out);
        }
        if (fds[1].revents) {
            read_some(err);
        }
    }
};

Conversation::Conversation(const std::vector<std::string> &command, const std::vector<std::string> &environment)
    : implementation_(std::make_unique<Implementation>()) {
    check_signals();
    implementation_->start(command, environment);
}

Conversation::~Conversation() {
    Implementation &i = *implementation_;
    i.in.close_end(0);
    const auto begin = Clock::now();
    bool gone = false;
    while (!gone && std::chrono::duration<double>(Clock::now() - begin).count() < kSecondsToEnd) {
        i.listen(20);  // it may have something left to say, and wait until somebody reads it
        gone = waitpid(i.pid, nullptr, WNOHANG) != 0;
    }
    kill(-i.pid, SIGKILL);
    if (!gone) {
        waitpid(i.pid, nullptr, 0);
    }
}

bool Conversation::tell(const std::string &line) {
    const std::string text = line + "\n";
    for (size_t at = 0; at < text.size();) {
        const ssize_t n = send(implementation_->in.fd[0], text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            check_signals();
            continue;
        }
        if (n < 0) {
            return false;
        }
        at += size_t(n);
    }
    return true;
}

std::optional<std::string> Conversation::hear(double seconds) {
    Implementation &i = *implementation_;
    const auto begin = Clock::now();
    while (true) {
        check_signals();
        if (const size_t end = i.said.find('\n'); end != std::string::npos) {
            const std::string line = i.said.substr(0, end);
            i.said.erase(0, end + 1);
            return line;
        }
        if (ended() || std::chrono::duration<double>(Clock::now() - begin).count() > seconds) {
            return std::nullopt;
        }
        i.listen(50);
    }
}

bool Conversation::ended() const {
    return implementation_->out.fd[0] < 0;
}

std::string Conversation::complaints() const {
    return implementation_->complaints.text();
}

}  // namespace halyard
