#include "kernel/landlock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/failure.h"

// The same numbers on every architecture; older headers lack them.
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

namespace halyard {

namespace {

// linux/landlock.h of a kernel of today, since the header of the machine may be older than its kernel.
struct RulesetAttributes {
    uint64_t files, network, scoped;
};

struct __attribute__((packed)) PathAttributes {
    uint64_t allowed;
    int32_t folder;
};

constexpr unsigned kVersionFlag = 1;
constexpr int kPathRule = 1;
constexpr uint64_t kExecuteFile = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3,
                   kChangeFolder = 0x1ff0,  // make and remove anything
    kKeepFiles = 0x1b0,                     // files and folders: no devices, sockets, pipes and links
    kRefer = 1 << 13, kTruncate = 1 << 14, kIoctl = 1 << 15;
constexpr uint64_t kOfFiles = kExecuteFile | kWriteFile | kReadFile | kTruncate | kIoctl;
constexpr uint64_t kTcp = 3;     // bind and connect
constexpr uint64_t kScopes = 3;  // abstract sockets and signals

}  // namespace

int landlock_version() {
    const long version = syscall(__NR_landlock_create_ruleset, nullptr, size_t(0), kVersionFlag);
    return version > 0 ? int(version) : 0;
}

LandlockRules::LandlockRules() {
    const int version = landlock_version();
    if (version == 0) {
        return;
    }
    handled_ = kExecuteFile | kWriteFile | kReadFile | kReadFolder | kChangeFolder;
    handled_ |= version >= 2 ? kRefer : 0;
    handled_ |= version >= 3 ? kTruncate : 0;
    handled_ |= version >= 5 ? kIoctl : 0;
    const RulesetAttributes attributes = {handled_, version >= 4 ? kTcp : 0, version >= 6 ? kScopes : 0};
    rules_ = int(syscall(__NR_landlock_create_ruleset, &attributes, sizeof(attributes), 0U));
    if (rules_ < 0) {
        throw Failure(fmt::format("no Landlock rules for a child process: {}", std::strerror(errno)));
    }
}

LandlockRules::~LandlockRules() {
    if (rules_ >= 0) {
        close(rules_);
    }
}

void LandlockRules::allow(const char *path, Access access) const {
    const int fd = rules_ < 0 ? -1 : open(path, O_PATH | O_CLOEXEC);
    struct stat s = {};
    if (fd < 0) {
        return;
    }
    uint64_t allowed = access == Access::kList ? kReadFolder : kReadFile | kReadFolder;
    allowed |= access == Access::kExecute ? kExecuteFile : 0;
    allowed |= access == Access::kWrite ? kWriteFile | kTruncate | kKeepFiles | kRefer : 0;
    allowed |= access == Access::kDevice ? kWriteFile | kIoctl : 0;
    allowed &= handled_;
    if (fstat(fd, &s) == 0) {
        const PathAttributes attributes = {S_ISDIR(s.st_mode) ? allowed : allowed & kOfFiles, fd};
        syscall(__NR_landlock_add_rule, rules_, kPathRule, &attributes, 0U);
    }
    close(fd);
}

bool LandlockRules::restrict_self() const {
    return rules_ < 0 || syscall(__NR_landlock_restrict_self, rules_, 0U) == 0;
}

}  // namespace halyard
