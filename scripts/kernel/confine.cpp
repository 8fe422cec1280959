#include "kernel/confine.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/landlock.h"
#include "kernel/paths.h"
#include "kernel/program_files.h"
#include "kernel/seccomp_filter.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using Access = LandlockRules::Access;

// Programs and libraries of the system, and what the loader and the C library read.
const char *const kSystem[] = {"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin"};
const char *const kSystemFiles[] = {"/etc/ld.so.cache", "/etc/ld.so.preload",  "/etc/ld.so.conf", "/etc/ld.so.conf.d",
                                    "/proc/cpuinfo",    "/proc/meminfo",       "/proc/stat",      "/proc/sys/vm",
                                    "/proc/sys/kernel", "/sys/devices/system", "/dev/urandom",    "/dev/random"};
const char *const kDeviceFiles[] = {"/sys", "/proc/driver", "/proc/devices", "/proc/modules", "/etc/OpenCL"};

// Where the user says what else a process needs, as a compiler in a folder of its own.
std::vector<std::string> folders_of_user() {
    const char *list = std::getenv("HALYARD_CONFINE_READS");
    return split(list ? list : "", ':');
}

bool turned_off() {
#if defined(__SANITIZE_ADDRESS__)
    return true;  // the sanitizer looks at its process from another
#else
    const char *value = std::getenv("HALYARD_CONFINE");
    return value && std::strcmp(value, "off") == 0;
#endif
}

// Halide makes temporary folders in /tmp, whatever the environment says: this library puts them elsewhere. It also ends a process
// that cannot write a file (whole_writes.c), and spares Halide the code that the finishing step makes (late_objects.c), and LLVM's
// passes over what starts emulated kernels (quick_host_code.c).
std::string temporary_library() {
    return (fs::path(paths().root) / "lib/halyard/libown_temporary.so").string();
}

bool exists(const std::string &path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

std::vector<std::string> device_nodes() {
    std::vector<std::string> nodes;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator("/dev", error)) {
        if (starts_with(entry.path().filename().string(), "nvidia")) {
            nodes.push_back(entry.path().string());
        }
    }
    return nodes;
}

// Root keeps what opens files of others, which Landlock bounds. Safe between fork and exec.
void drop_capabilities() {
    constexpr int kDacOverride = 1, kDacReadSearch = 2;
    for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++) {
        if (c != kDacOverride && c != kDacReadSearch) {
            prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
        }
    }
}

void add_lua_files(const fs::path &folder, int depth, size_t &left, std::vector<std::string> &files) {
    std::error_code error;
    std::vector<fs::path> below;
    for (auto entry = fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
         !error && entry != fs::directory_iterator() && left > 0; entry.increment(error), left--) {
        std::error_code ignored;
        // A link may name any file of the user; `require` follows none that leads out.
        if (entry->path().extension() == ".lua" && entry->is_regular_file(ignored) && !entry->is_symlink(ignored)) {
            files.push_back(entry->path().string());
        } else if (depth > 1 && entry->is_directory(ignored) && !entry->is_symlink(ignored) &&
                   entry->path().filename().string()[0] != '.') {
            below.push_back(entry->path());
        }
    }
    for (const auto &b : below) {
        add_lua_files(b, depth - 1, left, files);
    }
}

std::vector<std::string> lua_files(const std::string &folder) {
    std::vector<std::string> files;
    size_t left = 5000;
    add_lua_files(folder.empty() ? "." : folder, 3, left, files);
    return files;
}

}  // namespace

std::vector<std::string> files_of_script(const std::string &script, const std::vector<std::string> &lib) {
    std::vector<std::string> files = {paths().schedules};
    std::set<std::string> folders(lib.begin(), lib.end());
    if (!script.empty()) {
        const fs::path folder = fs::absolute(script).parent_path();
        files.push_back(script);
        folders.insert({folder.string(), (folder / "lib").string()});
        if (folder.parent_path() != folder.root_path()) {
            folders.insert(folder.parent_path().string());
        }
    }
    folders.erase(paths().schedules);
    for (const auto &folder : folders) {
        const auto more = lua_files(folder);
        files.insert(files.end(), more.begin(), more.end());
    }
    return files;
}

Confinement confinement_of(const std::string &program, const std::vector<std::string> &loads) {
    Confinement c;
    c.program = program;
    const ProgramFiles own = program_files(program);
    c.starts_programs = own.is_script;  // whose interpreter is one
    c.reads = own.libraries;
    if (!own.interpreter.empty()) {
        c.reads.push_back(own.interpreter);
    }
    for (const auto &l : loads) {
        const ProgramFiles more = program_files(l);
        c.reads.push_back(l);
        c.reads.insert(c.reads.end(), more.libraries.begin(), more.libraries.end());
    }
    return c;
}

std::string confinement_state() {
    if (turned_off()) {
        return "off, as HALYARD_CONFINE says";
    }
    const int version = landlock_version();
    return fmt::format("{}, {}", version > 0 ? fmt::format("Landlock {}", version) : "no Landlock in this kernel",
                       has_seccomp() ? "seccomp" : "no seccomp");
}

bool confines() {
    return !turned_off() && landlock_version() > 0;
}

struct Confiner::Implementation {
    explicit Implementation(const Confinement &c) : filter(c.starts_programs, c.device) {
        for (const char *folder : kSystem) {
            rules.allow(folder, c.starts_programs ? Access::kExecute : Access::kRead);
        }
        for (const char *file : kSystemFiles) {
            rules.allow(file, Access::kRead);
        }
        if (c.starts_programs) {
            rules.allow("/dev/zero", Access::kRead);  // of which mmap makes memory that no limit counts, as by MAP_SHARED
        }
        rules.allow("/dev/null", Access::kDevice);
        rules.allow(c.program.c_str(), Access::kExecute);
        // The kernel starts the loader that a program names.
        if (const std::string loader = program_files(c.program).interpreter; !loader.empty()) {
            rules.allow(loader.c_str(), Access::kExecute);
        }
        std::vector<std::string> reads = folders_of_user();
        reads.insert(reads.end(), c.reads.begin(), c.reads.end());
        for (const auto &r : reads) {
            rules.allow(r.c_str(), c.starts_programs ? Access::kExecute : Access::kRead);
        }
        if (c.device) {
            for (const char *file : kDeviceFiles) {
                rules.allow(file, Access::kRead);
            }
            for (const auto &node : device_nodes()) {
                rules.allow(node.c_str(), Access::kDevice);
            }
        }
        for (const auto &w : c.writes) {
            rules.allow(w.c_str(), Access::kWrite);
        }
        if (!c.writes.empty()) {
            environment.push_back("TMPDIR=" + fs::absolute(c.writes.front()).string());
            if (const std::string library = temporary_library(); exists(library)) {
                const char *others = std::getenv("LD_PRELOAD");
                std::string name = library;
                if (library.find_first_of(" :") != std::string::npos) {  // where the loader would end the name
                    const int opened = open(library.c_str(), O_RDONLY | O_CLOEXEC);
                    preload = fcntl(opened, F_DUPFD_CLOEXEC, kOwnFolderNumber + 1);
                    close(opened);
                    name = fmt::format("/proc/self/fd/{}", preload);
                }
                environment.push_back("LD_PRELOAD=" + name + (others && *others ? std::string(":") + others : ""));
                rules.allow(library.c_str(), Access::kRead);
            }
        }
    }

    ~Implementation() {
        if (preload >= 0) {
            close(preload);
        }
    }
    Implementation(const Implementation &) = delete;
    Implementation &operator=(const Implementation &) = delete;

    LandlockRules rules;
    SeccompFilter filter;
    std::vector<std::string> environment;
    int preload = -1;  // the library, where it is named by its number
};

Confiner::Confiner(const Confinement &confinement)
    : implementation_(turned_off() ? nullptr : std::make_unique<Implementation>(confinement)) {}

Confiner::~Confiner() = default;

const std::vector<std::string> &Confiner::environment() const {
    static const std::vector<std::string> none;
    return implementation_ ? implementation_->environment : none;
}

bool Confiner::apply() {
    if (!implementation_) {
        return true;
    }
    // What the parent has open besides is closed when the program starts.
#ifdef __NR_close_range
    constexpr unsigned kCloseOnExec = 1 << 2;
    syscall(__NR_close_range, 3U, ~0U, kCloseOnExec);
#endif
    if (implementation_->preload >= 0) {
        fcntl(implementation_->preload, F_SETFD, 0);
    }
    // Of this process, not of its parent; and not what it shows of the machine, as all connections.
    for (const char *file : {"/proc/self/auxv", "/proc/self/cgroup", "/proc/self/exe", "/proc/self/fd", "/proc/self/limits",
                             "/proc/self/maps", "/proc/self/stat", "/proc/self/statm", "/proc/self/status"}) {
        implementation_->rules.allow(file, Access::kRead);
    }
    implementation_->rules.allow("/proc/self/task", Access::kList);  // a process may count its threads
    drop_capabilities();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !implementation_->rules.restrict_self()) {
        return false;
    }
    return !has_seccomp() || implementation_->filter.install();
}

}  // namespace halyard
