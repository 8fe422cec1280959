// A generator that does all that it should not, and says what came of it: a line for each attempt, in the header that it
// writes into its own folder. What it gets: -o FOLDER, and in the environment HALYARD_SECRET (a file to read),
// HALYARD_VICTIM (a file to write) and HALYARD_PREY (a process to disturb).

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace {

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

bool opens(const std::string &path, int flags) {
    const int fd = open(path.c_str(), flags, 0600);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

// Whether a child of ours ended as it should.
bool child(const std::function<void()> &body) {
    const pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(1);
    }
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool connects() {
    // A server of our own is as good as any.
    const int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto *const any = reinterpret_cast<sockaddr *>(&address);
    const bool ok = server >= 0 && client >= 0 && bind(server, any, size) == 0 && listen(server, 1) == 0 &&
                    getsockname(server, any, &size) == 0 && connect(client, any, size) == 0;
    close(server);
    close(client);
    return ok;
}

// A datagram socket of a pair takes any address.
bool has_socket_pair() {
    int ends[2];
    const bool made = socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0;
    if (made) {
        close(ends[0]);
        close(ends[1]);
    }
    return made;
}

// On a descriptor that may only read, of a file that it may read: its own program.
bool sets_flags() {
    const int fd = open("/proc/self/exe", O_RDONLY);
    int flags = 0;
    constexpr unsigned long kGet = 0x80086601, kSet = 0x40086602;
    const bool set = fd >= 0 && ioctl(fd, kGet, &flags) == 0 && ioctl(fd, kSet, &flags) == 0;
    close(fd);
    return set;
}

// By a system call that is newer than lists of them: setxattrat, whose attributes are of no size and so always refused, but not
// as if they were not there.
bool knows_new_calls() {
    return syscall(463, AT_FDCWD, ".", 0, "user.x", nullptr, 0) == 0 || errno != ENOSYS;
}

// Whoever opens its file to write it waits till the lease is given back.
bool takes_lease() {
    const int fd = open("/proc/self/exe", O_RDONLY);
    const bool taken = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    close(fd);
    return taken;
}

bool is_told_of_files(const std::string &folder) {
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
    const bool told = fcntl(fd, F_NOTIFY, DN_CREATE) == 0;
    close(fd);
    return told;
}

// Memory that a limit on data does not count, as it is a stack or a file.
bool maps(int flags, int fd = -1) {
    return mmap(nullptr, 4096, PROT_READ, flags, fd, 0) != MAP_FAILED;
}

bool has_stack_of(rlim_t bytes) {
    const rlimit limit = {bytes, bytes};
    return setrlimit(RLIMIT_STACK, &limit) == 0;
}

bool gives_signals(pid_t prey) {
    int ends[2];
    const bool given = pipe(ends) == 0 && fcntl(ends[0], F_SETOWN, prey) == 0;
    close(ends[0]);
    close(ends[1]);
    return given;
}

bool reads_memory(pid_t prey) {
    char byte = 0;
    const uintptr_t somewhere = 0;
    iovec here = {&byte, 1}, there = {reinterpret_cast<void *>(somewhere), 1};
    return process_vm_readv(prey, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;  // it was let in
}

}  // namespace

int main(int argc, char **argv) {
    std::string folder;
    for (int i = 1; i < argc; i++) {
        if (std::string(argv[i]) == "-o" && i + 1 < argc) {
            folder = argv[++i];
        } else if (std::string(argv[i]) == "cpp_stub") {
            return 1;
        } else if (std::string(argv[i]) == "--temporary") {  // says where one is made
            char temporary[] = "/tmp/XXXXXX";
            const char *made = mkdtemp(temporary);
            return made && std::puts(made) >= 0 && rmdir(made) == 0 ? 0 : 1;
        }
    }
    FILE *const header = std::fopen((folder + "/hostile.h").c_str(), "w");
    if (!header) {
        std::perror(folder.c_str());
        return 1;
    }
    const auto attempt = [&](const char *name, bool succeeded) {
        std::fprintf(header, "%s %s\n", name, succeeded ? "works" : "fails");
        std::fflush(header);
    };
    const std::string secret = environment("HALYARD_SECRET"), victim = environment("HALYARD_VICTIM");
    const pid_t prey = std::atoi(environment("HALYARD_PREY").c_str());

    // What it needs.
    attempt("own_file", opens(folder + "/own", O_RDWR | O_CREAT) && unlink((folder + "/own").c_str()) == 0);
    attempt("own_folder", mkdir((folder + "/below").c_str(), 0700) == 0 && rmdir((folder + "/below").c_str()) == 0);
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    attempt("thread", ran);
    char temporary[] = "/tmp/XXXXXX";
    const char *made = mkdtemp(temporary);
    attempt("temporary", made && rmdir(made) == 0);

    // What it does not.
    attempt("write", opens(victim, O_WRONLY | O_CREAT));
    attempt("truncate", truncate(secret.c_str(), 100) == 0);
    attempt("read", opens(secret, O_RDONLY));
    attempt("list", opens(secret.substr(0, secret.rfind('/')), O_RDONLY | O_DIRECTORY));
    attempt("link", symlink(secret.c_str(), (folder + "/link").c_str()) == 0 && opens(folder + "/link", O_RDONLY));
    unlink((folder + "/link").c_str());
    attempt("rename",
            rename(secret.c_str(), (folder + "/stolen").c_str()) == 0 && rename((folder + "/stolen").c_str(), secret.c_str()) == 0);
    attempt("mode", chmod(secret.c_str(), 0666) == 0);
    attempt("times", utimensat(AT_FDCWD, secret.c_str(), nullptr, 0) == 0);
    attempt("owner", chown(secret.c_str(), getuid(), getgid()) == 0);
    attempt("pipe", mkfifo((folder + "/pipe").c_str(), 0600) == 0 && unlink((folder + "/pipe").c_str()) == 0);
    const rlimit limit = {100, 100};
    attempt("limit_of_others", prlimit(prey, RLIMIT_CPU, &limit, nullptr) == 0);
    attempt("priority_of_others", setpriority(PRIO_PROCESS, id_t(prey), 19) == 0);
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(0, &processors);
    attempt("processors_of_others", sched_setaffinity(prey, sizeof(processors), &processors) == 0);
    attempt("owner_of_signals", gives_signals(prey));
    attempt("environment_of_others", opens("/proc/" + std::to_string(prey) + "/environ", O_RDONLY));
    attempt("network", connects());
    attempt("udp", close(socket(AF_INET6, SOCK_DGRAM, 0)) == 0);
    attempt("local_socket", close(socket(AF_UNIX, SOCK_STREAM, 0)) == 0);
    attempt("socket_pair", has_socket_pair());
    attempt("flags", sets_flags());
    attempt("new_calls", knows_new_calls());
    attempt("watch", inotify_add_watch(inotify_init1(0), secret.substr(0, secret.rfind('/')).c_str(), IN_CREATE) >= 0);
    attempt("attributes", getxattr(secret.c_str(), "user.x", nullptr, 0) >= 0 || errno == ENODATA || errno == ENOTSUP);
    attempt("connections", opens("/proc/self/net/unix", O_RDONLY));
    attempt("mounts_by_task", opens("/proc/self/task/" + std::to_string(getpid()) + "/mounts", O_RDONLY));
    attempt("lease", takes_lease());
    attempt("told_of_files", is_told_of_files(folder));
    attempt("shared_memory", maps(MAP_SHARED | MAP_ANONYMOUS));
    attempt("shared_zeros", maps(MAP_SHARED, open("/dev/zero", O_RDONLY)));
    attempt("growing_memory", maps(MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN));
    attempt("long_stack", has_stack_of(rlim_t(1) << 30));
    attempt("addresses", mmap(nullptr, size_t(1) << 46, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
    attempt("secret_memory", close(int(syscall(447, 0))) == 0);
    attempt("program_in_memory", close(memfd_create("program", 0)) == 0);
    attempt("outlive", prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0);
    attempt("signal", kill(prey, 0) == 0);
    attempt("memory_of_others", reads_memory(prey));
    attempt("ptrace", ptrace(PTRACE_SEIZE, prey, nullptr, nullptr) == 0 && ptrace(PTRACE_INTERRUPT, prey, nullptr, nullptr) == 0 &&
                          waitpid(prey, nullptr, __WALL) == prey && ptrace(PTRACE_DETACH, prey, nullptr, nullptr) == 0);
    attempt("fork", child([] { _exit(0); }));
    attempt("shell", child([] { execl("/bin/sh", "sh", "-c", "exit 0", nullptr); }));
    attempt("namespace", child([] { _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1); }));
    std::fclose(header);
    // Last, since where it works nothing is left of this process; it is said what it would have been.
    execl("/bin/sh", "sh", "-c", ("echo exec works >>" + folder + "/hostile.h; echo >" + folder + "/hostile.a").c_str(), nullptr);
    FILE *const again = std::fopen((folder + "/hostile.h").c_str(), "a");
    std::fprintf(again, "exec fails\n");
    std::fclose(again);
    std::fclose(std::fopen((folder + "/hostile.a").c_str(), "w"));
    return 0;
}
