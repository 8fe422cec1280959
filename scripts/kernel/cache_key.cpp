#include "kernel/cache_key.h"

#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

#include "kernel/finish.h"
#include "kernel/paths.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// Executables by size and time, as hashing their bytes would take longer than the lookup saves. Those of a wheel were hashed when
// it was made, so that every environment that has it takes the same libraries.
std::string stamp(const std::string &path) {
    struct stat s = {};
    stat(path.c_str(), &s);
    const Paths &p = paths();
    if (!p.identity.empty() && starts_with(path, p.root + "/")) {
        return path.substr(p.root.size());
    }
    if (!p.identity.empty() && path == p.llvm) {
        return fmt::format("{}:{}", std::filesystem::path(path).filename().string(), s.st_size);
    }
    return fmt::format("{}:{}:{}.{}", path, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

}  // namespace

std::string cache_key(const Plan &plan, const std::string &linker) {
    Hash hash;
    hash.add(plan.op).add(plan.function).add(join(plan.targets, ",")).add(plan.devices).add(plan.script);
    hash.add(assignments_text(plan.set)).add(assignments_text(plan.facts)).add(assignments_text(plan.params));
    hash.add(paths().identity).add(stamp(paths().runtime)).add(linker).add(stamp(paths().llvm)).add(std::to_string(kFinishVersion));
    for (const auto &input : plan.inputs) {
        hash.add(ends_with(input, ".lua") ? input + read_file(input) : stamp(input));
    }
    return hash.hex();
}

}  // namespace halyard
