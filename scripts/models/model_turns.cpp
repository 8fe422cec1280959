#include "models/model_turns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "kernel/confine.h"
#include "kernel/failure.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Sums in another order differ by some epsilons of the largest; what is computed wrongly by far more.
constexpr double kTolerance = 1.0 / 1024;
constexpr double kBlock = 0.02;  // seconds of calls at a time: threads of another build wait a little before they sleep
constexpr int kLeastRounds = 5;

template<typename T>
std::string compared(const uint8_t *a, const uint8_t *b, size_t bytes) {
    double most = 0, off = 0;
    for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T x, y;
        std::memcpy(&x, a + i, sizeof(T));
        std::memcpy(&y, b + i, sizeof(T));
        if (std::isnan(double(x)) != std::isnan(double(y))) {
            return "a NaN is a number, or a number a NaN";
        }
        if (std::isfinite(double(x)) && std::isfinite(double(y))) {
            most = std::max(most, std::abs(double(x)));
            off = std::max(off, std::abs(double(x) - double(y)));
        }
    }
    return off > kTolerance * most ? fmt::format("it differs by {:.3g}, and its largest element is {:.3g}", off, most) : "";
}

// Whole numbers may be the places of what is the largest, and two may be as large.
std::string compared_bytes(const uint8_t *a, const uint8_t *b, size_t bytes) {
    size_t other = 0;
    for (size_t i = 0; i < bytes; i++) {
        other += a[i] != b[i];
    }
    return other * 50 > bytes ? fmt::format("{} of {} bytes differ", other, bytes) : "";
}

std::string difference(const LoadedModel &first, const LoadedModel &model, const json &report) {
    for (size_t i = 0; i < first.outputs(); i++) {
        const std::string type = report["outputs"][i].at("type"), name = report["outputs"][i].at("name");
        const uint8_t *a = first.output(i), *b = model.output(i);
        const size_t bytes = first.output_bytes(i);
        const std::string wrong = type == "float32"   ? compared<float>(a, b, bytes)
                                  : type == "float64" ? compared<double>(a, b, bytes)
                                                      : compared_bytes(a, b, bytes);
        if (!wrong.empty()) {
            return fmt::format("{}: {}", name, wrong);
        }
    }
    return "";
}

}  // namespace

json run_model_turns(const json &job) {
    const int threads = job.at("threads");
    const double seconds = job.at("seconds");
    const ModelDims dims = job.at("dims").get<ModelDims>();
    std::vector<std::unique_ptr<LoadedModel>> models;
    json report;
    for (const std::string path : job.at("models")) {
        report = read_model_report(path);
        models.push_back(std::make_unique<LoadedModel>(path, report, dims, threads));
    }
    std::vector<ModelTimes> times(models.size());
    std::vector<double> used, call;
    for (size_t m = 0; m < models.size(); m++) {
        used.push_back(models[m]->run());
        times[m].whole = used.back();
        times[m].calls.assign(models[m]->calls(), 1e30);
        times[m].wrong = difference(*models[0], *models[m], report);
    }
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (int round = 0; round < kLeastRounds || std::chrono::duration<double>(Clock::now() - begin).count() < seconds; round++) {
        for (size_t i = 0; i < models.size(); i++) {
            const size_t m = (i + size_t(round)) % models.size();
            const int count = std::clamp(int(kBlock / times[m].whole), 1, 200);
            for (int c = 0; c < count; c++) {
                if (c % 2 == round % 2) {
                    times[m].whole = std::min(times[m].whole, models[m]->run());
                } else {
                    models[m]->time(call);
                    for (size_t k = 0; k < call.size(); k++) {
                        times[m].calls[k] = std::min(times[m].calls[k], call[k]);
                    }
                }
            }
        }
    }
    json result = json::array();
    for (const auto &t : times) {
        result.push_back({{"whole", t.whole}, {"calls", t.calls}, {"wrong", t.wrong}});
    }
    return result;
}

std::vector<ModelTimes> model_turns(const std::vector<std::string> &reports, const ModelDims &dims, int threads, double seconds) {
    const TemporaryDirectory folder(temporary_root());
    const std::string job = (fs::path(folder.path()) / "turns.json").string();
    write_file(job, json{{"step", "model"}, {"models", reports}, {"dims", dims}, {"threads", threads}, {"seconds", seconds}}.dump());
    ProcessOptions options;
    options.timeout = 60 + 20 * seconds;
    options.end_group = true;
    const std::string command = (fs::path(paths().root) / "bin/halyard").string();
    // Its files are in a folder of ours, so that they go with it however it ends. It links what it loads.
    Confinement c = confinement_of(require_piece(command, "the command itself"), {});
    c.reads.push_back(require_piece(paths().runtime, "the runtime"));
    for (const std::string &report : reports) {
        c.reads.push_back(fs::absolute(report).parent_path().string());
    }
    c.writes = {folder.path()};
    c.starts_programs = true;
    const ProcessResult r = run_confined({command, "candidate", job}, options, c);
    const json said = json::parse(r.out, nullptr, false);
    if (!r.ok() || !said.is_array()) {
        throw Failure(trim(r.err).empty() ? fmt::format("the model, while it was timed, {}", describe_end(r, options.timeout))
                                          : trim(r.err));
    }
    std::vector<ModelTimes> times;
    for (const auto &t : said) {
        times.push_back({t.at("whole"), t.at("calls").get<std::vector<double>>(), t.at("wrong")});
    }
    return times;
}

}  // namespace halyard
