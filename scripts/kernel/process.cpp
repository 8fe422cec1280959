#include "kernel/process.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/capture.h"
#include "kernel/confine.h"
#include "kernel/failure.h"
#include "kernel/process_limits.h"
#include "kernel/text.h"

extern char **environ;

namespace halyard {

const char *const kOwnFolder = "/proc/self/fd/64";

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t caught_signal = 0;
bool children_lead_groups = true;
std::array<std::atomic<pid_t>, 64> running{};  // for kill(): groups are negative; 0 is a free place

// A child that a second signal ends with the command.
class Running {
public:
    explicit Running(pid_t pid) {
        for (auto &place : running) {
            pid_t free = 0;
            if (place.compare_exchange_strong(free, pid)) {
                place_ = &place;
                break;
            }
        }
    }
    ~Running() {
        if (place_) {
            *place_ = 0;
        }
    }
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;

private:
    std::atomic<pid_t> *place_ = nullptr;
};

// What is called here may be called by a handler.
void on_signal(int number) {
    if (caught_signal == 0) {
        caught_signal = number;
        return;
    }
    if (number == SIGPIPE) {  // comes with each line, and not from the user
        return;
    }
    for (const auto &place : running) {
        if (const pid_t pid = place; pid != 0) {
            kill(pid, SIGKILL);
        }
    }
    std::signal(number, SIG_DFL);
    sigset_t this_one;
    sigemptyset(&this_one);
    sigaddset(&this_one, number);
    std::raise(number);
    pthread_sigmask(SIG_UNBLOCK, &this_one, nullptr);
}

// A file in memory with the child's standard input; -1 for none.
class Input {
public:
    explicit Input(const std::string &text) {
        if (text.empty()) {
            return;
        }
        fd_ = memfd_create("input", MFD_CLOEXEC);
        for (size_t at = 0; fd_ >= 0 && at < text.size();) {
            const ssize_t n = write(fd_, text.data() + at, text.size() - at);
            at += n > 0 ? size_t(n) : 0;
            if (n < 0 && errno != EINTR) {
                break;
            }
        }
        if (fd_ < 0 || lseek(fd_, 0, SEEK_CUR) != off_t(text.size()) || lseek(fd_, 0, SEEK_SET) != 0) {
            throw Failure(fmt::format("no input for a child process: {}", std::strerror(errno)));
        }
    }
    ~Input() {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    Input(const Input &) = delete;
    Input &operator=(const Input &) = delete;
    int fd() const {
        return fd_;
    }

private:
    int fd_ = -1;
};

struct Pipe {
    Pipe() {
        if (pipe2(ends, O_CLOEXEC) != 0) {
            throw Failure(fmt::format("no pipe for a child process: {}", std::strerror(errno)));
        }
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    void close_end(int i) {
        if (ends[i] >= 0) {
            close(ends[i]);
            ends[i] = -1;
        }
    }
    int ends[2] = {-1, -1};
};

// The child leads a process group of its own, so that whatever it starts is killed with it.
pid_t start(const std::vector<std::string> &command, const ProcessOptions &options, int in, int out, int err) {
    std::vector<char *> argv, envp;
    for (const auto &a : command) {
        argv.push_back(const_cast<char *>(a.c_str()));
    }
    argv.push_back(nullptr);
    for (const auto &e : options.environment) {
        envp.push_back(const_cast<char *>(e.c_str()));
    }
    for (char **e = environ; *e; e++) {
        envp.push_back(*e);
    }
    envp.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (in >= 0) {
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        throw Failure(fmt::format("{} cannot be started: {}", command[0], std::strerror(error)));
    }
    return pid;
}

// Opens a folder as the descriptor that it has for a child. Safe between fork and exec.
bool open_own_folder(const std::string &folder) {
    const int fd = folder.empty() ? -1 : open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder.empty() || (fd >= 0 && dup2(fd, kOwnFolderNumber) == kOwnFolderNumber);
}

// It stays open in the program that this process becomes, and in those that that one starts.
bool keep_own_folder(const std::string &folder) {
    return folder.empty() || fcntl(kOwnFolderNumber, F_SETFD, 0) == 0;
}

// The same between fork and exec by ourselves: for a child that is confined or bounded before it does anything, and for one of a
// process that only works for another, with which it ends, however that ends.
pid_t start_forked(const std::vector<std::string> &command, const ProcessOptions &options, const Confinement *confinement, int in, int out,
                   int err) {
    std::vector<char *> argv;
    for (const auto &a : command) {
        argv.push_back(const_cast<char *>(a.c_str()));
    }
    argv.push_back(nullptr);
    std::optional<Confiner> confiner;
    std::vector<std::string> environment = options.environment;
    if (confinement) {
        confiner.emplace(*confinement);
        environment.insert(environment.end(), confiner->environment().begin(), confiner->environment().end());
    }
    if (!options.folder.empty()) {
        environment.push_back(std::string("TMPDIR=") + kOwnFolder);
    }
    const pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        throw Failure(fmt::format("{} cannot be started: {}", command[0], std::strerror(errno)));
    }
    if (pid > 0) {
        if (children_lead_groups) {
            setpgid(pid, pid);  // as the child does: whoever comes first, the group is there
        }
        return pid;
    }
    if (children_lead_groups) {
        setpgid(0, 0);
    }
    // The thread that is here waits for it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {  // it ended before that
        _exit(127);
    }
    dup2(in >= 0 ? in : open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (const auto &e : environment) {
        putenv(const_cast<char *>(e.c_str()));
    }
    for (int number : {SIGINT, SIGTERM, SIGQUIT, SIGPIPE}) {
        std::signal(number, SIG_DFL);
    }
    if (!children_lead_groups) {
        std::signal(SIGHUP, SIG_DFL);
    }
    // Before the working directory changes, as it may be relative.
    const bool has_folder = open_own_folder(options.folder);
    const bool is_there = options.directory.empty() || chdir(options.directory.c_str()) == 0;
    if (has_folder && is_there && (!confiner || confiner->apply()) && keep_own_folder(options.folder)) {  // what it confines it closes
        limit_this_process(options.memory_bytes, options.processor_seconds);  // last: what is above takes memory as the parent did
        execvp(argv[0], argv.data());
    }
    const std::string message = fmt::format("{} cannot be started: {}\n", command[0], std::strerror(errno));
    _exit(write(STDERR_FILENO, message.data(), message.size()) > 0 ? 127 : 126);
}

// Reads what is there; closes the end at the end of the data.
void drain(Pipe &pipe, Capture &into) {
    char block[65536];
    const ssize_t n = read(pipe.ends[0], block, sizeof(block));
    if (n > 0) {
        into.add(block, size_t(n));
    } else if (n == 0 || errno != EINTR) {
        pipe.close_end(0);
    }
}

int reap(pid_t pid, rusage &used) {
    int status = 0;
    while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR) {
    }
    return status;
}

ProcessResult run(const std::vector<std::string> &command, const ProcessOptions &options, const Confinement *confinement) {
    check_signals();
    Pipe out, err;
    const Input in(options.input);
    const bool forked = !children_lead_groups || confinement || options.memory_bytes > 0 || options.processor_seconds > 0 ||
                        !options.directory.empty() || !options.folder.empty();
    const pid_t pid = forked ? start_forked(command, options, confinement, in.fd(), out.ends[1], err.ends[1])
                             : start(command, options, in.fd(), out.ends[1], err.ends[1]);
    const Running known(children_lead_groups ? -pid : pid);
    out.close_end(1);
    err.close_end(1);

    ProcessResult result;
    Capture printed(options.output_bytes), complained(options.output_bytes);
    rusage used = {};
    const auto begin = Clock::now();
    int status = 0;
    bool ended = false;
    while (!ended || out.ends[0] >= 0 || err.ends[0] >= 0) {
        const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
        if (caught_signal || (options.timeout > 0 && elapsed > options.timeout)) {
            result.timed_out = !caught_signal;
            kill(children_lead_groups ? -pid : pid, SIGKILL);
            status = ended ? status : reap(pid, used);
            check_signals();
            break;
        }
        // Short naps: a signal may arrive just before poll, and a child may end with its pipes held open.
        pollfd fds[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
        const bool open = out.ends[0] >= 0 || err.ends[0] >= 0;
        const int ready = poll(fds, 2, open && !ended ? 50 : 1);
        if (ready > 0 && fds[0].revents) {
            drain(out, printed);
        }
        if (ready > 0 && fds[1].revents) {
            drain(err, complained);
        }
        if (ended && ready <= 0) {
            break;  // a grandchild holds the pipes
        }
        ended = ended || wait4(pid, &status, WNOHANG, &used) == pid;
    }
    if (options.end_group) {
        kill(-pid, SIGKILL);
    }
    result.out = printed.text();
    result.err = complained.text();
    result.peak_bytes = int64_t(used.ru_maxrss) << 10;
    if (result.timed_out) {
        result.exit_code = -1;
    } else if (WIFSIGNALED(status)) {
        result.exit_code = -1;
        result.signal = WTERMSIG(status);
    } else {
        result.exit_code = WEXITSTATUS(status);
    }
    return result;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string> &command, const ProcessOptions &options) {
    return run(command, options, nullptr);
}

ProcessResult run_confined(const std::vector<std::string> &command, const ProcessOptions &options, const Confinement &confinement) {
    return run(command, options, &confinement);
}

void bind_children() {
    children_lead_groups = false;
}

std::string describe_end(const ProcessResult &result, double timeout) {
    if (result.timed_out) {
        return fmt::format("ran longer than {:g} s and was stopped", timeout);
    }
    if (result.signal != 0) {
        return fmt::format("was ended by signal {} ({})", result.signal, strsignal(result.signal));
    }
    return fmt::format("failed with exit code {}", result.exit_code);
}

void catch_signals() {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
        struct sigaction old = {};
        sigaction(number, nullptr, &old);
        if (old.sa_handler != SIG_IGN) {  // nohup stays nohup
            sigaction(number, &action, nullptr);
        }
    }
}

bool interrupted() {
    return caught_signal != 0;
}

void check_signals() {
    if (caught_signal) {
        throw Interrupted(caught_signal);
    }
}

namespace {

const char *const kTemporaryPrefix = ".halyard-";

// Opens a directory and takes its lock, which a live owner holds; -1 if it is taken.
int lock_directory(const std::string &path) {
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

class OpenFolder {
public:
    OpenFolder(int parent, const std::string &name) {
        // One that its maker may not enter is let in first; what the name leads to is never touched.
        const int place = openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (place >= 0) {
            chmod(fmt::format("/proc/self/fd/{}", place).c_str(), S_IRWXU);
            const int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            folder_ = fd >= 0 ? fdopendir(fd) : nullptr;
            close(place);
        }
    }
    ~OpenFolder() {
        if (folder_) {
            closedir(folder_);
        }
    }
    OpenFolder(const OpenFolder &) = delete;
    OpenFolder &operator=(const OpenFolder &) = delete;

    int fd() const {
        return folder_ ? dirfd(folder_) : -1;
    }

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const dirent *entry; folder_ && (entry = readdir(folder_));) {
            if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) {
                all.emplace_back(entry->d_name);
            }
        }
        return all;
    }

private:
    DIR *folder_ = nullptr;
};

// Removes what is in a folder of `top`; folders in that become folders of `top`, to be done after it. So neither the stack nor a path
// grows with the depth, and the work with more than the number of entries. Whether anything is gone from it.
bool empty_folder(int top, const std::string &name, size_t &number) {
    bool progress = false;
    const OpenFolder folder(top, name);
    for (const auto &below : folder.names()) {
        if (unlinkat(folder.fd(), below.c_str(), 0) == 0) {
            progress = true;
            continue;
        }
        { const OpenFolder let_in(folder.fd(), below); }  // a folder that moves is written to
        const std::string place = fmt::format("{}removed-{}", kTemporaryPrefix, number++);
        progress = renameat(folder.fd(), below.c_str(), top, place.c_str()) == 0 || progress;
    }
    return progress;
}

// Removes what a killed process left in `parent`: the lock of its directory went with it. One made
// just now may be on its way to its lock.
void sweep(const std::string &parent) {
    std::error_code ignored;
    const auto recent = fs::file_time_type::clock::now() - std::chrono::seconds(2);
    for (const auto &entry : fs::directory_iterator(parent, ignored)) {
        if (starts_with(entry.path().filename().string(), kTemporaryPrefix) && entry.last_write_time(ignored) < recent) {
            const int fd = lock_directory(entry.path().string());
            if (fd >= 0) {
                remove_folder(entry.path().string());
                close(fd);
            }
        }
    }
}

}  // namespace

TemporaryDirectory::TemporaryDirectory(const std::string &parent) {
    constexpr int kTries = 3;  // another process may remove an empty parent that it made
    std::error_code error;
    for (fs::path above = parent; !above.empty() && !fs::exists(above, error); above = above.parent_path()) {
        made_.push_back(above.string());
    }
    int reason = 0;
    for (int i = 0; i < kTries; i++) {
        fs::create_directories(parent, error);
        sweep(parent);
        std::string pattern = (fs::path(parent) / (std::string(kTemporaryPrefix) + "XXXXXX")).string();
        if (!error && mkdtemp(pattern.data())) {
            path_ = pattern;
            lock_ = lock_directory(path_);
            return;
        }
        reason = errno;
        if (error || reason != ENOENT) {
            break;
        }
    }
    throw Failure(fmt::format("{}: error: no directory can be made there: {}\n  name another place", parent,
                              error ? error.message() : std::strerror(reason)));
}

TemporaryDirectory::~TemporaryDirectory() {
    if (!remove_folder(path_)) {
        fmt::print(stderr, "{}: warning: cannot be removed: {}\n", path_, std::strerror(errno));
    }
    for (const auto &folder : made_) {
        if (rmdir(folder.c_str()) != 0) {
            break;
        }
    }
    if (lock_ >= 0) {
        close(lock_);
    }
}

bool remove_folder(const std::string &path) {
    size_t number = 0;
    for (bool progress = true; progress;) {
        const OpenFolder top(AT_FDCWD, path);
        progress = false;
        for (const auto &name : top.names()) {
            if (unlinkat(top.fd(), name.c_str(), 0) == 0) {
                progress = true;
                continue;
            }
            const bool less = empty_folder(top.fd(), name, number);
            progress = unlinkat(top.fd(), name.c_str(), AT_REMOVEDIR) == 0 || less || progress;
        }
    }
    return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

std::string temporary_root() {
    std::error_code error;
    const fs::path path = fs::temp_directory_path(error);
    return error ? "/tmp" : path.string();
}

}  // namespace halyard
