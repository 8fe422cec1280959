#include "kernel/cache_key.h"

#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

#include "kernel/finish.h"
#include "kernel/paths.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// What a wheel has was hashed when it was made (Paths::identity), and every environment with the same wheel takes the same libraries:
// its files are named from its root.
bool is_of_wheel(const std::string &path) {
    return !paths().identity.empty() && starts_with(path, paths().root + "/");
}

std::string name_of(const std::string &path) {
    return is_of_wheel(path) ? path.substr(paths().root.size()) : path;
}

// Executables by size and time, as hashing their bytes would take longer than the lookup saves.
std::string stamp(const std::string &path) {
    if (is_of_wheel(path)) {
        return name_of(path);
    }
    struct stat s = {};
    stat(path.c_str(), &s);
    if (!paths().identity.empty() && path == paths().llvm) {
        return fmt::format("{}:{}", std::filesystem::path(path).filename().string(), s.st_size);
    }
    return fmt::format("{}:{}:{}.{}", path, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

}  // namespace

std::string cache_key(const Plan &plan, const std::string &linker) {
    Hash hash;
    hash.add(plan.op)
        .add(plan.function)
        .add(join(plan.targets, ","))
        .add(plan.devices)
        .add(join(plan.constant, ","))
        .add(name_of(plan.script));
    hash.add(assignments_text(plan.set)).add(assignments_text(plan.facts)).add(assignments_text(plan.params));
    hash.add(paths().identity).add(stamp(paths().runtime)).add(linker).add(stamp(paths().llvm)).add(std::to_string(kFinishVersion));
    for (const auto &input : plan.inputs) {
        hash.add(ends_with(input, ".lua") ? name_of(input) + read_file(input) : stamp(input));
    }
    return hash.hex();
}

}  // namespace halyard
