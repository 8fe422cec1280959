#include "lowering/cuda/print/compile.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "lowering/cuda/print/nvidia.h"
#include "lowering/cuda/print/texts.h"

extern char **environ;

namespace halyard {

namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "halyard-XXXXXX").string();
        if (!mkdtemp(&name[0])) {
            throw std::runtime_error("no temporary folder could be made in " + fs::temp_directory_path().string());
        }
        path = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    fs::path path;
};

std::string read(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
}

// Runs a command in a folder. What it writes to its standard error goes to a file there.
int run(const std::vector<std::string> &command, const fs::path &folder, const std::string &log) {
    std::vector<char *> argv;
    for (const auto &c : command) {
        argv.push_back(const_cast<char *>(c.c_str()));
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
    posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    int status = 0;
    if (failed != 0 || waitpid(child, &status, 0) < 0) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Each takes memory, of which a generator may have so much.
constexpr size_t kMostThreads = 8;

// Does tasks 0 to count - 1, as many at a time as there are processors. Throws what the first task that failed threw.
void in_threads(size_t count, const std::function<void(size_t)> &task) {
    std::atomic<size_t> next{0};
    std::vector<std::exception_ptr> failures(count);
    std::vector<std::thread> threads;
    const auto work = [&] {
        for (size_t i = next++; i < count; i = next++) {
            try {
                task(i);
            } catch (...) {
                failures[i] = std::current_exception();
            }
        }
    };
    const size_t most = std::min({count, size_t(std::thread::hardware_concurrency()), kMostThreads});
    try {
        while (threads.size() + 1 < most) {
            threads.emplace_back(work);
        }
    } catch (const std::system_error &) {
        // No more threads are to be had: these do it.
    }
    work();
    for (auto &t : threads) {
        t.join();
    }
    for (const auto &failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
}

// CXX; else clang, where it is installed, or c++.
std::string emulator_compiler() {
    const char *given = std::getenv("CXX"), *path = std::getenv("PATH");
    if (given && *given) {
        const std::string cxx = given;
        return cxx.find('/') != std::string::npos ? fs::absolute(cxx).string() : cxx;  // it is started in another folder
    }
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (access((fs::path(folder) / "clang++").c_str(), X_OK) == 0) {
            return "clang++";
        }
    }
    return "c++";
}

}  // namespace

const std::vector<std::string> &default_architectures() {
    // Machine code runs on its own major version alone, from its minor version on; 90a on 9.0 alone.
    static const std::vector<std::string> all = {"sm_80", "sm_90a", "sm_100", "sm_120"};
    return all;
}

bool is_hopper(const std::string &architecture) {
    return architecture == "sm_90a";
}

std::vector<std::string> compile_to_fatbins(const std::vector<DeviceProgram> &programs, const std::vector<std::string> &architectures) {
    // PTX of an architecture with a letter runs on that one alone.
    const auto last = std::find_if(architectures.rbegin(), architectures.rend(),
                                   [](const std::string &a) { return std::isdigit(static_cast<unsigned char>(a.back())); });
    const std::string &with_ptx = last == architectures.rend() ? architectures.back() : *last;
    std::vector<std::vector<Piece>> pieces(programs.size(), std::vector<Piece>(architectures.size()));
    in_threads(programs.size() * architectures.size(), [&](size_t i) {
        const DeviceProgram &program = programs[i / architectures.size()];
        const std::string &a = architectures[i % architectures.size()];
        if (program.source.empty()) {
            return;
        }
        // Kernels of few rows are made of the same instructions for all, but no other kernel for sm_80 is compiled for sm_90a.
        const std::string header =
            !program.tensor_cores
                ? ""
                : kAmpereHeader + kSkinnyHeader + (is_hopper(a) ? "#undef HALYARD_AMPERE\n" + kHopperHeader : "") + kTilesHeader;
        const MachineCode code = compile_with_nvrtc(kDeviceHeader + header + program.source, a);
        pieces[i / architectures.size()][i % architectures.size()] = {a, code.cubin, a == with_ptx ? code.ptx : ""};
    });
    std::vector<std::string> images;
    for (size_t i = 0; i < programs.size(); i++) {
        images.push_back(programs[i].source.empty() ? "" : pack_fatbin(pieces[i]));
    }
    return images;
}

std::string compile_for_emulator(const DeviceProgram &program) {
    const TemporaryFolder folder;
    fs::create_directory(folder.path / "emulator");
    for (const Header &h : kEmulatorHeaders) {
        std::ofstream(folder.path / h.name) << h.text;
    }
    std::ofstream(folder.path / "device.h") << kDeviceHeader;
    std::ofstream(folder.path / "compiled.o", std::ios::binary) << emulator_object();
    std::ofstream(folder.path / "kernels.cpp") << "#include \"device.h\"\n"
                                               << (program.tensor_cores ? kAmpereHeader + kSkinnyHeader + kHopperHeader + kTilesHeader : "")
                                               << "\n#line 1 \"the printed kernels\"\n"  // as --emit cuda writes them
                                               << program.source;
    // Names without a folder, and no random ones: equal kernels give equal bytes.
    const std::string object = "kernels.so", log = "log";
    // Most kernels run for a moment: the compiler takes longer than they do. What takes time when they run are the checks behind their
    // accesses, which are optimised in compiled.o. Without optimising the kernels and without what only exceptions need the compiler takes
    // half of the time; clang takes half of what GCC takes.
    const int code = run({emulator_compiler(),
                          "-std=c++17",
                          "-O0",
                          "-w",
                          "-fno-strict-aliasing",
                          "-fno-exceptions",
                          "-fno-asynchronous-unwind-tables",
                          "-fPIC",
                          "-shared",
                          "-nodefaultlibs",
                          "-DHALYARD_EMULATOR",
                          "-frandom-seed=halyard",
                          "-Wl,--gc-sections",
                          "-o",
                          object,
                          "compiled.o",  // first: of functions that both have, the linker takes the first
                          "kernels.cpp",
                          "-lm",
                          "-lc",
                          "-Wl,--as-needed",  // compiled.o may have something of it
                          "-lstdc++",
                          "-lgcc"},
                         folder.path, log);
    if (code != 0) {
        throw std::runtime_error("the printed kernels do not compile for the emulator:\n" + read(folder.path / log));
    }
    return read(folder.path / object);
}

}  // namespace halyard
