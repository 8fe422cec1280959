#include "kernel/seccomp_filter.h"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/landlock.h"

namespace halyard {

namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;
#endif

constexpr unsigned kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr unsigned kDenied = SECCOMP_RET_ERRNO | EPERM;

// The low half of an argument: flags and numbers of processes have no more.
unsigned argument(int number) {
    return unsigned(offsetof(seccomp_data, args)) + 8U * unsigned(number);
}

// The network, other processes, the kernel's own settings, and ways around a filter.
const int kNever[] = {
    __NR_socket,
    __NR_socketpair,
    __NR_connect,
    __NR_sendto,
    __NR_sendmsg,
    __NR_sendmmsg,
    __NR_bind,
    __NR_listen,
    __NR_accept,
    __NR_accept4,
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_pidfd_open,
    __NR_pidfd_getfd,
    __NR_pidfd_send_signal,
    __NR_process_madvise,
    __NR_kcmp,
    __NR_rt_sigqueueinfo,
    __NR_rt_tgsigqueueinfo,
    __NR_tkill,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_move_mount,
    __NR_open_tree,
    __NR_fsopen,
    __NR_fsconfig,
    __NR_fsmount,
    __NR_fspick,
    __NR_mount_setattr,
    __NR_unshare,
    __NR_setns,
    __NR_name_to_handle_at,
    __NR_open_by_handle_at,
    __NR_quotactl,
    443,  // quotactl_fd, which older headers lack
    447,  // memfd_secret
    __NR_acct,
    __NR_swapon,
    __NR_swapoff,
    __NR_reboot,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kexec_load,
#ifdef __NR_kexec_file_load
    __NR_kexec_file_load,
#endif
    __NR_clock_settime,
    __NR_clock_adjtime,
    __NR_settimeofday,
    __NR_adjtimex,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_syslog,
    __NR_vhangup,
    // Which files others make and write.
    __NR_fanotify_init,
    __NR_inotify_init1,
    __NR_inotify_add_watch,
#ifdef __NR_inotify_init
    __NR_inotify_init,
#endif
    __NR_shmget,
    __NR_shmat,
    __NR_shmctl,
    __NR_msgget,
    __NR_msgsnd,
    __NR_msgrcv,
    __NR_msgctl,
    __NR_semget,
    __NR_semop,
    __NR_semtimedop,
    __NR_semctl,
    __NR_mq_open,
    __NR_mq_unlink,
    __NR_setpgid,
    __NR_setsid,
    __NR_setpriority,
    __NR_ioprio_set,
    __NR_sched_setscheduler,
    __NR_sched_setparam,
    __NR_sched_setattr,
};

// Landlock knows of no right to change or read what is said of a file: who owns it, when it was written.
const int kCallsOfFiles[] = {
    __NR_fchown,       __NR_fchownat, __NR_utimensat, __NR_setxattr,  __NR_lsetxattr, __NR_fsetxattr,  __NR_removexattr, __NR_lremovexattr,
    __NR_fremovexattr, __NR_getxattr, __NR_lgetxattr, __NR_fgetxattr, __NR_listxattr, __NR_llistxattr, __NR_flistxattr,
#ifdef __NR_chown
    __NR_chown,        __NR_lchown,   __NR_utime,     __NR_utimes,    __NR_futimesat,
#endif
};

// The same of who may read and write it. 452: fchmodat2, which older headers lack.
const int kModes[] = {
    __NR_fchmod,
    __NR_fchmodat,
    452,
#ifdef __NR_chmod
    __NR_chmod,
#endif
};

// What came to the kernel after this list was made has a number from here on, on every architecture: attributes of files by
// other calls (463 setxattrat), mounts (457 statmount). It is not there, as on an older kernel.
constexpr unsigned kFirstUnknown = 457;

// What a terminal, a pipe or a file is asked for. Others change files that may only be read (FS_IOC_SETFLAGS), put text into the
// input of a terminal (TIOCSTI), or stop a file system (FIFREEZE).
const std::vector<unsigned> kIoctls = {0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451, 0x802c542a};

// Those of a device have numbers of their driver.
const std::vector<unsigned> kNoIoctlsOfDevices = {
    0x5412,     0x541c,                              // TIOCSTI, TIOCLINUX
    0x40086602, 0x40046602, 0x401c5820, 0x40087602,  // FS_IOC_SETFLAGS, the same of 32 bits, FSSETXATTR, SETVERSION
    0x40806685, 0x800c6613,                          // FS_IOC_ENABLE_VERITY, SET_ENCRYPTION_POLICY
    0xc0045877, 0xc0045878, 0xc0185879,              // FIFREEZE, FITHAW, FITRIM
};

// F_SETLEASE and F_NOTIFY, which are no names without _GNU_SOURCE.
constexpr unsigned kSetLease = 1024, kNotify = 1026;

}  // namespace

SeccompFilter::SeccompFilter(bool starts_programs, bool has_device) {
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    // Calls of x32, which have numbers of their own.
    add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    add(BPF_RET | BPF_K, kDenied);
#endif
    add(BPF_JMP | BPF_JGE | BPF_K, kFirstUnknown, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    for (const int call : kNever) {
        deny(call, EPERM);
    }
    for (const int call : kCallsOfFiles) {
        deny(call, EPERM);
    }
    for (const int call : kModes) {
        deny(call, starts_programs ? 0 : EPERM);  // linkers make executable what nobody starts, and take no error
    }
    if (landlock_version() < 3) {
        deny(__NR_truncate, EPERM);
    }
    // Its flags stand in memory, where a filter cannot look; the C library goes on with clone.
    deny(__NR_clone3, ENOSYS);
    no_growing_memory();
    if (starts_programs) {
        no_namespaces();
    } else {
#ifdef __NR_fork
        deny(__NR_fork, EPERM);
        deny(__NR_vfork, EPERM);
#endif
        deny(__NR_execveat, EPERM);
        deny(__NR_memfd_create, EPERM);
        no_shared_memory();
        only_threads();
        only_own_process(__NR_kill, false);
        only_own_process(__NR_tgkill, false);
    }
    only_own_process(__NR_prlimit64, true);
    only_own_process(__NR_sched_setaffinity, true);
    if (has_device) {
        by_argument(__NR_ioctl, 1, kNoIoctlsOfDevices, kDenied, SECCOMP_RET_ALLOW);
    } else {
        by_argument(__NR_ioctl, 1, kIoctls, SECCOMP_RET_ALLOW, kDenied);
    }
    // Signals for another process; a lease, which holds up who writes a file; which files others make.
    by_argument(__NR_fcntl, 1, {F_SETOWN, F_SETSIG, F_SETOWN_EX, kSetLease, kNotify}, kDenied, SECCOMP_RET_ALLOW);
    // It ends with the command.
    by_argument(__NR_prctl, 0, {PR_SET_PDEATHSIG}, kDenied, SECCOMP_RET_ALLOW);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

void SeccompFilter::add(unsigned short code, unsigned k, unsigned char yes, unsigned char no) {
    program_.push_back({code, yes, no, k});
}

void SeccompFilter::deny(int call, int error) {
    add(BPF_JMP | BPF_JEQ | BPF_K, unsigned(call), 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned(error));
}

void SeccompFilter::only_own_process(int call, bool by_zero) {
    add(BPF_JMP | BPF_JEQ | BPF_K, unsigned(call), 0, by_zero ? 5 : 4);
    add(BPF_LD | BPF_W | BPF_ABS, argument(0));
    if (by_zero) {
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
    }
    own_process_.push_back(program_.size());
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    add(BPF_RET | BPF_K, kDenied);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

void SeccompFilter::only_threads() {
    add(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 5);
    add(BPF_LD | BPF_W | BPF_ABS, argument(0));
    add(BPF_JMP | BPF_JSET | BPF_K, kNamespaces, 1, 0);
    add(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    add(BPF_RET | BPF_K, kDenied);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

void SeccompFilter::no_namespaces() {
    add(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4);
    add(BPF_LD | BPF_W | BPF_ABS, argument(0));
    add(BPF_JMP | BPF_JSET | BPF_K, kNamespaces, 0, 1);
    add(BPF_RET | BPF_K, kDenied);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

void SeccompFilter::no_shared_memory() {
    constexpr unsigned kShared = MAP_SHARED | MAP_ANONYMOUS;
    add(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 5);
    add(BPF_LD | BPF_W | BPF_ABS, argument(3));
    add(BPF_ALU | BPF_AND | BPF_K, kShared);
    add(BPF_JMP | BPF_JEQ | BPF_K, kShared, 0, 1);
    add(BPF_RET | BPF_K, kDenied);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

void SeccompFilter::no_growing_memory() {
    add(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 4);
    add(BPF_LD | BPF_W | BPF_ABS, argument(3));
    add(BPF_JMP | BPF_JSET | BPF_K, MAP_GROWSDOWN, 0, 1);
    add(BPF_RET | BPF_K, kDenied);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
}

void SeccompFilter::by_argument(int call, int number, const std::vector<unsigned> &values, unsigned then, unsigned otherwise) {
    const size_t n = values.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, unsigned(call), 0, static_cast<unsigned char>(n + 3));
    add(BPF_LD | BPF_W | BPF_ABS, argument(number));
    for (size_t i = 0; i < n; i++) {
        add(BPF_JMP | BPF_JEQ | BPF_K, values[i], static_cast<unsigned char>(n - i), 0);
    }
    add(BPF_RET | BPF_K, otherwise);
    add(BPF_RET | BPF_K, then);
}

bool SeccompFilter::install() {
    const auto self = unsigned(getpid());
    for (const size_t i : own_process_) {
        program_[i].k = self;
    }
    const sock_fprog filter = {static_cast<unsigned short>(program_.size()), program_.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool has_seccomp() {
    const unsigned action = SECCOMP_RET_ERRNO;
    return kArchitecture != 0 && syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

}  // namespace halyard
