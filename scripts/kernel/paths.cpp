#include "kernel/paths.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

const char *const kSharedRuntime = "libhalyard_runtime.so.0";  // runtime/CMakeLists.txt

bool present(const fs::path &path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

fs::path find_root() {
    const std::string forced = environment("HALYARD_ROOT");
    if (!forced.empty()) {
        const fs::path root = fs::absolute(forced);
        // A source tree is taken as well: its pieces are under build/.
        return !present(root / "bin") && present(root / "build/bin") ? root / "build" : root;
    }
    std::error_code error;
    const fs::path executable = fs::read_symlink("/proc/self/exe", error);
    fs::path root = executable.parent_path();
    for (int level = 0; level < 5 && root.has_relative_path(); level++, root = root.parent_path()) {
        if (present(root / "bin/halyard-generators") || present(root / "lib/libhalyard.so")) {
            return root;
        }
    }
    return executable.parent_path().parent_path();
}

// Of the build tree; "" where the root is none.
std::string cached_setting(const fs::path &root, const std::string &name) {
    std::ifstream cache(root / "CMakeCache.txt");
    for (std::string line; std::getline(cache, line);) {
        if (starts_with(line, name + "=")) {
            return line.substr(name.size() + 1);
        }
    }
    return "";
}

std::string user_cache() {
    if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
        return xdg + "/halyard";
    }
    if (const std::string home = environment("HOME"); !home.empty()) {
        return home + "/.cache/halyard";
    }
    return (fs::temp_directory_path() / "halyard-cache").string();
}

// A wheel has it as its neighbour of PyPI, or wherever the Python package has found it.
fs::path installed_llvm(const fs::path &root) {
    if (const std::string given = environment("HALYARD_LLVMLITE"); !given.empty()) {
        return given;
    }
    const fs::path own = root / "lib/halyard/libllvmlite.so", neighbour = root.parent_path() / "llvmlite/binding/libllvmlite.so";
    return !present(own) && present(neighbour) ? neighbour : own;
}

Paths find_paths() {
    const fs::path root = find_root();
    Paths p;
    p.root = root.string();
    p.generators = (root / "bin/halyard-generators").string();
    p.heads = (root / "bin/halyard-heads").string();
    p.plugin = (root / "lib/libhalyard.so").string();
    p.runtime = (root / "lib/libhalyard_runtime.a").string();
    p.shared_runtime = (root / "lib/halyard" / kSharedRuntime).string();
    p.recorder = (root / "lib/halyard/liblaunch_recorder.so").string();
    const std::string source = cached_setting(root, "Halyard_SOURCE_DIR:STATIC");
    p.build_tree = !source.empty();
    p.llvm = p.build_tree ? cached_setting(root, "HALYARD_LLVMLITE:FILEPATH") : installed_llvm(root).string();
    if (std::ifstream identity(root / "lib/halyard/identity"); identity) {
        std::getline(identity, p.identity);
    }
    p.schedules = p.build_tree ? source + "/schedules" : (root / "share/halyard/schedules").string();
    p.workers = p.build_tree ? source + "/scripts/workers" : (root / "share/halyard/workers").string();
    p.models = p.build_tree ? source + "/scripts/models" : (root / "share/halyard/models").string();
    p.headers = p.build_tree ? cached_setting(root, "HALYARD_HEADERS:INTERNAL") : (root / "include/halyard").string();
    p.cache = environment("HALYARD_CACHE");
    if (p.cache.empty()) {
        p.cache = p.build_tree ? (root / "cache").string() : user_cache();
    }
    return p;
}

}  // namespace

const Paths &paths() {
    static const Paths found = find_paths();
    return found;
}

std::string how_to_build() {
    return paths().build_tree ? fmt::format("build it: cmake --build {}", paths().root)
                              : "reinstall Halyard, or name its prefix or build tree in HALYARD_ROOT";
}

const std::string &require_piece(const std::string &path, const std::string &what) {
    if (!present(path)) {
        throw Failure(fmt::format("{}: error: {} is missing\n  {}", path, what, how_to_build()));
    }
    return path;
}

}  // namespace halyard
