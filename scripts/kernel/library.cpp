#include "kernel/library.h"

#include <cerrno>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "kernel/cache_file.h"
#include "kernel/cache_key.h"
#include "kernel/failure.h"
#include "kernel/generator_params.h"
#include "kernel/json_text.h"
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

// The seals in a record: of its library, and of the record with that.
constexpr const char *kLibrary = "library_seal", *kRecord = "seal";

nlohmann::json sealed(nlohmann::json record, const std::string &library) {
    record[kLibrary] = seal_of(library);
    record[kRecord] = seal_of(record.dump());
    return record;
}

std::string record_path(const fs::path &library) {
    return fs::path(library).replace_extension(".json").string();
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
    std::string object;
    try {
        const std::string runtime = require_piece(paths().shared_runtime, "the shared runtime library");
        object = shared_object(read_file(library), {fs::path(runtime).filename().string()});
    } catch (const Failure &) {
        throw;
    } catch (const std::runtime_error &e) {
        throw Failure(fmt::format("{}.a: error: cannot be made a shared object: {}", plan.function, e.what()));
    }
    write_file((folder / "library.so").string(), object);
    write_file((folder / "library.json").string(), sealed(record_of(plan), object).dump());
    check_signals();
    put_in_cache((folder / "library.json").string(), record_path(path));
    put_in_cache((folder / "library.so").string(), path);
}

// The record of a library that is whole, both of them as they were written; null where it has to be made.
nlohmann::json whole_record(const fs::path &path) {
    nlohmann::json record = parse_if_json(beginning_of_file(record_path(path), size_t(1) << 20));
    if (!record.is_object() || !record.value(kLibrary, nlohmann::json()).is_string() ||
        !record.value(kRecord, nlohmann::json()).is_string()) {
        return nullptr;
    }
    const std::string of_library = record[kLibrary], of_record = record[kRecord];
    record.erase(kRecord);
    if (seal_of(record.dump()) != of_record || !has_seal(path.string(), of_library)) {
        return nullptr;
    }
    record.erase(kLibrary);
    return record;
}

}  // namespace

nlohmann::json cached_library(const Plan &plan) {
    const fs::path directory = fs::path(paths().cache) / "libraries";
    const fs::path path = directory / fmt::format("{}-{}.so", plan.function, cache_key(plan, "shared object"));
    nlohmann::json record = whole_record(path);
    if (record.is_null()) {
        std::error_code error;
        fs::create_directories(directory, error);  // an error shows where the library is built
        const Turn turn(fs::path(path).replace_extension(".lock").string());
        record = whole_record(path);
        if (record.is_null()) {
            build(plan, path);
            record = record_of(plan);
        }
    }
    record["path"] = path.string();
    record["script"] = plan.script;  // which may be a copy of the one that it was built by
    return record;
}

}  // namespace halyard
