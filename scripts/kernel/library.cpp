#include "kernel/library.h"

#include <cerrno>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "kernel/cache_key.h"
#include "kernel/failure.h"
#include "kernel/generator_params.h"
#include "kernel/outputs.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/registry.h"
#include "kernel/shared_object.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

// Of several processes that want the same file, one makes it and the others wait. The kernel takes the lock from a process that
// ends in whatever way. Where a file system has no locks, each makes its own, and the last rename stays.
class Turn {
public:
    explicit Turn(std::string path) : path_(std::move(path)), file_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
        while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) {
            check_signals();
        }
    }
    ~Turn() {
        if (file_ >= 0) {
            unlink(path_.c_str());  // who waits for it finds what was made
            close(file_);
        }
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

private:
    std::string path_;
    int file_;
};

Assignments values_of_params(const Plan &plan) {
    Assignments values;
    for (const auto &p : generator_params(plan.executable, plan.op)) {
        values[p.name] = p.value;
    }
    for (const auto &p : plan.params) {
        values[p.first] = p.second;
    }
    return values;
}

nlohmann::json record_of(const Plan &plan) {
    nlohmann::json record = {{"function", plan.function},
                             {"op", plan.op},
                             {"params", values_of_params(plan)},
                             {"targets", plan.targets},
                             {"devices", plan.devices}};
    for (const auto &op : registry()) {
        if (op.name == plan.op && plan.executable == paths().generators) {
            record["arguments"] = op.signature;
        }
    }
    return record;
}

void build(const Plan &plan, const fs::path &path) {
    const TemporaryDirectory work(path.parent_path().string());
    const Generated result = generate(plan, work.path());
    if (!result.ok) {
        throw Failure(result.error);
    }
    const fs::path folder = work.path();
    const std::string library = (folder / (plan.function + ".a")).string();
    const auto archives = outputs_in(work.path(), plan.function, ".a");
    if (archives.size() != 1 || archives.front() != library) {
        throw Failure(fmt::format("{}: error: what the generator left as {}.a is no library", plan.executable, plan.function));
    }
    try {
        const std::string runtime = require_piece(paths().shared_runtime, "the shared runtime library");
        write_file((folder / "library.so").string(), shared_object(read_file(library), {fs::path(runtime).filename().string()}));
    } catch (const Failure &) {
        throw;
    } catch (const std::runtime_error &e) {
        throw Failure(fmt::format("{}.a: error: cannot be made a shared object: {}", plan.function, e.what()));
    }
    write_file((folder / "library.json").string(), record_of(plan).dump());
    check_signals();
    // The record first: where the library is, so is its record.
    fs::rename(folder / "library.json", fs::path(path).replace_extension(".json"));
    fs::rename(folder / "library.so", path);
}

}  // namespace

nlohmann::json cached_library(const Plan &plan) {
    const fs::path directory = fs::path(paths().cache) / "libraries";
    const fs::path path = directory / fmt::format("{}-{}.so", plan.function, cache_key(plan, "shared object"));
    if (!fs::exists(path)) {
        std::error_code error;
        fs::create_directories(directory, error);  // an error shows where the library is built
        const Turn turn(fs::path(path).replace_extension(".lock").string());
        if (!fs::exists(path)) {
            build(plan, path);
        }
    }
    nlohmann::json record = nlohmann::json::parse(read_file(fs::path(path).replace_extension(".json").string()));
    record["path"] = path.string();
    record["script"] = plan.script;  // which may be a copy of the one that it was built by
    return record;
}

}  // namespace halyard
