#include "explore/task.h"

#include <filesystem>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

const char *const kStatusNames[] = {"ok", "build error", "crash", "timeout", "out of memory", "wrong result", "worker lost", "pending"};

}  // namespace

std::string Candidate::id() const {
    Hash hash;
    hash.add(own ? "own" : lua).add(assignments_text(params)).add(assignments_text(set));
    return hash.hex().substr(0, 16);
}

std::vector<std::string> Candidate::module_folders() const {
    if (folder.empty()) {
        return {};
    }
    const fs::path above = fs::path(folder).parent_path();
    return above == above.root_path() ? std::vector<std::string>{folder} : std::vector<std::string>{folder, above.string()};
}

const char *status_name(Status status) {
    return kStatusNames[static_cast<int>(status)];
}

Status status_of(const std::string &name) {
    for (int i = 0; i <= static_cast<int>(Status::kPending); i++) {
        if (name == kStatusNames[i]) {
            return static_cast<Status>(i);
        }
    }
    throw Failure(fmt::format("\"{}\" is no status of a candidate", name));
}

void Measured::refuse(int code, const std::string &text) {
    constexpr int kOutOfMemoryCode = -11;  // halide_error_code_out_of_memory
    status = code == kOutOfMemoryCode ? Status::kOutOfMemory : Status::kWrongResult;
    message = fmt::format("the kernel answered with error {}: {}", code, text);
}

nlohmann::json to_json(const Task &t) {
    return {{"op", t.op},
            {"generator", t.generator},
            {"shape", t.shape},
            {"params", t.params},
            {"target", t.target},
            {"threads", t.threads},
            {"run_seconds", t.limits.run_seconds},
            {"memory_bytes", t.limits.memory_bytes}};
}

Task task_from_json(const nlohmann::json &j) {
    Task t;
    t.op = j.at("op");
    t.generator = j.at("generator");
    t.shape = j.at("shape").get<Dims>();
    t.params = j.at("params").get<Assignments>();
    t.target = j.at("target");
    t.threads = j.at("threads");
    t.limits.run_seconds = j.at("run_seconds");
    t.limits.memory_bytes = j.at("memory_bytes");
    return t;
}

nlohmann::json to_json(const Measured &m) {
    return {{"status", status_name(m.status)},
            {"message", m.message},
            {"least", m.least},
            {"median", m.median},
            {"lower", m.lower},
            {"upper", m.upper},
            {"samples", m.samples},
            {"whole", m.whole},
            {"error", m.error},
            {"reference", m.reference},
            {"library_bytes", m.library_bytes},
            {"build_seconds", m.build_seconds},
            {"run_seconds", m.run_seconds}};
}

Measured measured_from_json(const nlohmann::json &j) {
    Measured m;
    m.status = status_of(j.at("status"));
    m.message = j.value("message", "");
    m.least = j.value("least", 0.0);
    m.median = j.value("median", 0.0);
    m.lower = j.value("lower", 0.0);
    m.upper = j.value("upper", 0.0);
    m.samples = j.value("samples", 0);
    m.whole = j.value("whole", false);
    m.error = j.value("error", 0.0);
    m.reference = j.value("reference", "");
    m.library_bytes = j.value("library_bytes", int64_t(0));
    m.build_seconds = j.value("build_seconds", 0.0);
    m.run_seconds = j.value("run_seconds", 0.0);
    return m;
}

}  // namespace halyard::explore
