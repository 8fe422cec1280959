#include "models/explain_model.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/kernel.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "models/size_text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Dimensions = std::map<std::string, int64_t>;

// A report may be anybody's; so may its JSON be of other types.
Failure no_report(const std::string &path) {
    return Failure(fmt::format("{}: error: this is no report of halyard compile, or one of an older version", path));
}

json read_report(const std::string &path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        throw Failure(fmt::format("{}: error: there is no such file", path));
    }
    json report = json::parse(read_file(path), nullptr, false);
    const bool whole = report.is_object() && report.contains("groups") && report["groups"].is_array() && report.contains("dimensions") &&
                       report.contains("inputs") && report.contains("outputs") && report.contains("calls");
    const bool named = whole && std::all_of(report["groups"].begin(), report["groups"].end(),
                                            [](const json &g) { return g.contains("after") && g.contains("saved") && g.contains("kind"); });
    if (!named) {
        throw no_report(path);
    }
    return report;
}

Dimensions dimensions_of(const json &report, const ExplainModelRequest &request) {
    Dimensions made;
    std::vector<std::string> names;
    for (const auto &d : report["dimensions"]) {
        for (const char *end : {"least", "most"}) {
            if (!d.at(end).is_number_integer() || d.at(end) < 1 || d.at(end) > std::numeric_limits<int32_t>::max()) {
                throw no_report(request.report);
            }
        }
        made[d.at("name")] = d.at("least");
        names.push_back(d.at("name"));
    }
    for (const auto &[name, size] : request.dims) {
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

// The model in memory: its library as a shared object with a runtime of its own.
class LoadedModel {
public:
    LoadedModel(const std::string &report_path, const std::string &name) : folder_(fs::temp_directory_path().string()), name_(name) {
        const fs::path beside = fs::path(report_path).parent_path(), library = beside / ("lib" + name + ".a");
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
        check(function<int (*)(const char *, void **)>("load")((beside / (name + ".weights")).c_str(), &model_));
    }
    ~LoadedModel() {
        if (model_ != nullptr) {
            function<void (*)(void *)>("unload")(model_);
        }
    }
    LoadedModel(const LoadedModel &) = delete;
    LoadedModel &operator=(const LoadedModel &) = delete;

    template<typename F>
    F function(const std::string &what) const {
        return symbol<F>(name_ + "_" + what);
    }
    template<typename F>
    F symbol(const std::string &what) const {
        void *const found = dlsym(library_, what.c_str());
        if (found == nullptr) {
            throw Failure(fmt::format("lib{}.a has no function {}", name_, what));
        }
        return reinterpret_cast<F>(found);
    }
    void check(int code) const {
        if (code != 0) {
            throw Failure(symbol<const char *(*)()>("halyard_last_error")());
        }
    }
    const void *model() const {
        return model_;
    }

private:
    TemporaryDirectory folder_;
    std::string name_;
    void *library_ = nullptr;  // stays: its threads run in it
    void *model_ = nullptr;
};

std::unique_ptr<uint8_t, decltype(&std::free)> memory(size_t bytes) {
    const size_t whole = (bytes + 64) / 64 * 64;
    std::unique_ptr<uint8_t, decltype(&std::free)> made(static_cast<uint8_t *>(std::aligned_alloc(64, whole)), &std::free);
    if (!made) {
        throw Failure(fmt::format("there is no memory for {} bytes", bytes));
    }
    std::memset(made.get(), 0, whole);
    return made;
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

void measure(const json &report, const Dimensions &dims, const ExplainModelRequest &request, ExplainedModel &explained) {
    const LoadedModel model(request.report, explained.name);
    model.symbol<int (*)(int)>("halide_set_num_threads")(request.threads);
    std::vector<int32_t> sizes;
    for (const auto &d : report["dimensions"]) {
        sizes.push_back(int32_t(dims.at(d.at("name"))));
    }
    sizes.resize(std::max<size_t>(sizes.size(), 1));
    const size_t inputs = report["inputs"].size(), arrays = inputs + report["outputs"].size();
    const auto *counts = model.symbol<const int32_t *>(explained.name + "_counts");
    if (sizes.size() != std::max<size_t>(size_t(counts[0]), 1) || inputs != size_t(counts[1]) || arrays - inputs != size_t(counts[2]) ||
        report["calls"] != counts[3]) {
        throw Failure(
            fmt::format("{}: error: the library beside it has other dimensions, arrays or calls; compile the model again", request.report));
    }
    std::vector<size_t> bytes(arrays + 1);
    model.check(model.function<int (*)(const int32_t *, size_t *)>("measure")(sizes.data(), bytes.data()));
    explained.workspace = double(bytes[0]);
    std::vector<std::unique_ptr<uint8_t, decltype(&std::free)>> kept;
    std::vector<void *> pointers;
    for (size_t i = 0; i <= arrays; i++) {
        kept.push_back(memory(bytes[i]));
        if (i > 0) {
            pointers.push_back(kept.back().get());
        }
        if (i > 0 && i <= inputs) {
            fill(kept.back().get(), bytes[i], report["inputs"][i - 1].at("type"));
        }
    }
    using Run = int (*)(const void *, const int32_t *, void *const *, void *);
    using Time = int (*)(const void *, const int32_t *, void *const *, void *, double *);
    const auto run = model.function<Run>("run");
    const auto time = model.function<Time>("time");
    std::vector<double> best(size_t(counts[3]), 1e30), seconds(best.size());
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
    explained.whole = 1e30;
    for (int i = 0; i < 3 || since(begin) < request.seconds; i++) {
        check_signals();
        model.check(time(model.model(), sizes.data(), pointers.data(), kept[0].get(), seconds.data()));
        for (size_t c = 0; c < best.size(); c++) {
            best[c] = std::min(best[c], seconds[c]);
        }
        const auto start = Clock::now();
        model.check(run(model.model(), sizes.data(), pointers.data(), kept[0].get()));
        explained.whole = std::min(explained.whole, since(start));
    }
    size_t call = 0;
    for (auto &g : explained.groups) {
        if (g.is_call && call < best.size()) {
            g.measured = best[call++];
        }
    }
}

// The level that has what a group moves; weights and what was made long before come from further away.
double bandwidth(const Machine &machine, double bytes) {
    for (const auto &level : machine.levels) {
        if (level.name != "L1" && double(level.bytes) >= bytes) {
            return level.read;
        }
    }
    return machine.levels.empty() ? 1e10 : machine.levels.back().read;
}

}  // namespace

double ExplainedModel::sum(double ExplainedGroup::*what) const {
    double total = 0;
    for (const auto &g : groups) {
        total += g.is_call ? g.*what : 0;
    }
    return total;
}

static ExplainedModel explained_of(const json &report, const ExplainModelRequest &request, const Machine &machine,
                                   const std::function<void(const std::string &)> &progress) {
    const Dimensions dims = dimensions_of(report, request);
    ExplainedModel made;
    made.name = report.at("model");
    const bool plain =
        std::all_of(made.name.begin(), made.name.end(), [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); });
    if (!plain) {
        throw no_report(request.report);
    }
    made.file = report.value("file", "");
    made.target = report.value("target", "");
    made.threads = request.threads;
    made.weights = report.value("weights_bytes", 0.0);
    std::vector<std::string> sizes;
    for (const auto &d : report["dimensions"]) {
        sizes.push_back(fmt::format("{}={}", d.at("name").get<std::string>(), dims.at(d.at("name"))));
    }
    made.sizes = sizes.empty() ? "fixed sizes" : join(sizes, ",");
    for (const auto &g : report["groups"]) {
        ExplainedGroup e;
        e.name = g.at("name");
        e.kind = g.at("kind");
        e.why = g.value("why", "");
        e.nodes = g.at("nodes").get<std::vector<std::string>>();
        e.is_call = !g.value("kernel", "").empty();
        for (const size_t from : g.at("after").get<std::vector<size_t>>()) {
            if (from < made.groups.size()) {
                e.after.push_back(from);
            }
        }
        for (const auto &s : g.at("shape")) {
            e.shape.push_back(value_of_size(s, dims));
        }
        for (const auto &s : g.at("reads")) {
            e.moved += value_of_size(s, dims);
        }
        e.moved += value_of_size(g.at("writes"), dims);
        e.saved = value_of_size(g.at("saved"), dims);
        e.operations = value_of_size(g.at("operations"), dims);
        e.floor = e.is_call ? std::max(e.moved / bandwidth(machine, e.moved), machine.flops > 0 ? e.operations / machine.flops : 0) : 0;
        made.groups.push_back(std::move(e));
    }
    if (is_cuda(made.target)) {
        throw UsageError(fmt::format("{} was compiled for CUDA, and this explains what processors do: NAME_time of its header says how "
                                     "long each call takes, in the order of the groups that have a kernel",
                                     made.name));
    }
    if (request.measure) {
        progress(fmt::format("{}: measuring at {}", made.name, made.sizes));
        measure(report, dims, request, made);
    }
    return made;
}

ExplainedModel explain_model(const ExplainModelRequest &request, const Machine &machine,
                             const std::function<void(const std::string &)> &progress) {
    const json report = read_report(request.report);
    try {
        return explained_of(report, request, machine, progress);
    } catch (const json::exception &) {
        throw no_report(request.report);
    }
}

}  // namespace halyard
