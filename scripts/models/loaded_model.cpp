#include "models/loaded_model.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/kernel.h"
#include "kernel/paths.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A report may be anybody's; so may its JSON be of other types.
Failure no_report(const std::string &path) {
    return Failure(fmt::format("{}: error: this is no report of halyard compile, or one of an older version", path));
}

// Floats from -1 to 1; whole numbers are 0, as indices that every array has.
void fill(uint8_t *bytes, size_t count, const std::string &type) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> numbers(-1, 1);
    if (type == "float32") {
        for (size_t i = 0; i + 4 <= count; i += 4) {
            const float v = numbers(random);
            std::memcpy(bytes + i, &v, 4);
        }
    }
}

}  // namespace

json read_model_report(const std::string &path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        throw Failure(fmt::format("{}: error: there is no such file", path));
    }
    json report = json::parse(read_file(path), nullptr, false);
    const bool whole = report.is_object() && report.contains("groups") && report["groups"].is_array() && report.contains("dimensions") &&
                       report.contains("inputs") && report.contains("outputs") && report.contains("calls") && report.contains("model") &&
                       report["model"].is_string();
    const bool named = whole && std::all_of(report["groups"].begin(), report["groups"].end(),
                                            [](const json &g) { return g.contains("after") && g.contains("saved") && g.contains("kind"); });
    const auto plain = [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); };
    const std::string name = named ? report["model"].get<std::string>() : "";
    if (!named || !std::all_of(name.begin(), name.end(), plain)) {
        throw no_report(path);
    }
    return report;
}

ModelDims model_dims(const json &report, const std::string &path, const ModelDims &given) {
    ModelDims made;
    std::vector<std::string> names;
    for (const auto &d : report["dimensions"]) {
        for (const char *end : {"least", "most"}) {
            if (!d.at(end).is_number_integer() || d.at(end) < 1 || d.at(end) > std::numeric_limits<int32_t>::max()) {
                throw no_report(path);
            }
        }
        made[d.at("name")] = d.at("least");
        names.push_back(d.at("name"));
    }
    for (const auto &[name, size] : given) {
        const auto found =
            std::find_if(report["dimensions"].begin(), report["dimensions"].end(), [&](const json &d) { return d.at("name") == name; });
        if (found == report["dimensions"].end()) {
            throw UsageError(fmt::format("--shape {}: the model has no free dimension of this name; it has {}", name,
                                         names.empty() ? "none" : join(names, ", ")));
        }
        if (size < found->at("least").get<int64_t>() || size > found->at("most").get<int64_t>()) {
            throw UsageError(
                fmt::format("--shape {}={}: the model takes {} to {}", name, size, found->at("least").dump(), found->at("most").dump()));
        }
        made[name] = size;
    }
    return made;
}

LoadedModel::LoadedModel(const std::string &report_path, const json &report, const ModelDims &dims, int threads)
    : folder_(fs::temp_directory_path().string()), name_(report.at("model")) {
    const fs::path beside = fs::path(report_path).parent_path(), library = beside / ("lib" + name_ + ".a");
    std::error_code error;
    if (!fs::is_regular_file(library, error)) {
        throw Failure(fmt::format("{}: error: there is no such file; it is made together with {}", library.string(), report_path));
    }
    const std::string object = (fs::path(folder_.path()) / "model.so").string();
    ProcessOptions options;
    options.timeout = 120;
    const ProcessResult linked =
        run_process({system_compiler(), "-shared", "-o", object, "-Wl,--whole-archive", library.string(), "-Wl,--no-whole-archive",
                     require_piece(paths().runtime, "the runtime"), "-lpthread", "-ldl", "-lm"},
                    options);
    if (!linked.ok()) {
        throw Failure(
            fmt::format("the linker, for {}, {}:\n{}", library.string(), describe_end(linked, options.timeout), trim(linked.err)));
    }
    library_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        throw Failure(fmt::format("{}: error: cannot be loaded: {}", library.string(), dlerror()));
    }
    check(symbol<int (*)(const char *, void **)>(name_ + "_load")((beside / (name_ + ".weights")).c_str(), &model_));
    symbol<int (*)(int)>("halide_set_num_threads")(threads);
    for (const auto &d : report["dimensions"]) {
        sizes_.push_back(int32_t(dims.at(d.at("name"))));
    }
    sizes_.resize(std::max<size_t>(sizes_.size(), 1));
    inputs_ = report["inputs"].size();
    const size_t arrays = inputs_ + report["outputs"].size();
    const auto *counts = symbol<const int32_t *>(name_ + "_counts");
    if (sizes_.size() != std::max<size_t>(size_t(counts[0]), 1) || inputs_ != size_t(counts[1]) || arrays - inputs_ != size_t(counts[2]) ||
        report["calls"] != counts[3]) {
        throw Failure(
            fmt::format("{}: error: the library beside it has other dimensions, arrays or calls; compile the model again", report_path));
    }
    calls_ = size_t(counts[3]);
    bytes_.resize(arrays + 1);
    check(symbol<int (*)(const int32_t *, size_t *)>(name_ + "_measure")(sizes_.data(), bytes_.data()));
    for (size_t i = 0; i <= arrays; i++) {
        const size_t whole = (bytes_[i] + 64) / 64 * 64;
        arrays_.emplace_back(static_cast<uint8_t *>(std::aligned_alloc(64, whole)), &std::free);
        if (!arrays_.back()) {
            throw Failure(fmt::format("there is no memory for {} bytes", bytes_[i]));
        }
        std::memset(arrays_.back().get(), 0, whole);
        if (i > 0) {
            pointers_.push_back(arrays_.back().get());
        }
        if (i > 0 && i <= inputs_) {
            fill(arrays_.back().get(), bytes_[i], report["inputs"][i - 1].at("type"));
        }
    }
    run_ = symbol<decltype(run_)>(name_ + "_run");
    time_ = symbol<decltype(time_)>(name_ + "_time");
}

LoadedModel::~LoadedModel() {
    if (model_ != nullptr) {
        symbol<void (*)(void *)>(name_ + "_unload")(model_);
    }
}

void *LoadedModel::address(const std::string &what) const {
    void *const found = dlsym(library_, what.c_str());
    if (found == nullptr) {
        throw Failure(fmt::format("lib{}.a has no function {}", name_, what));
    }
    return found;
}

void LoadedModel::check(int code) const {
    if (code != 0) {
        throw Failure(symbol<const char *(*)()>("halyard_last_error")());
    }
}

double LoadedModel::run() {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    check(run_(model_, sizes_.data(), pointers_.data(), arrays_[0].get()));
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void LoadedModel::time(std::vector<double> &seconds) {
    seconds.resize(calls_);
    check(time_(model_, sizes_.data(), pointers_.data(), arrays_[0].get(), seconds.data()));
}

}  // namespace halyard
