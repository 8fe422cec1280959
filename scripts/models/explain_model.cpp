#include "models/explain_model.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/process.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "models/loaded_model.h"
#include "models/size_text.h"

namespace halyard {

namespace {

using nlohmann::json;

void measure(const json &report, const ModelDims &dims, const ExplainModelRequest &request, ExplainedModel &explained) {
    LoadedModel model(request.report, report, dims, request.threads);
    explained.workspace = double(model.workspace());
    std::vector<double> best(model.calls(), 1e30), seconds;
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto used = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    explained.whole = 1e30;
    for (int i = 0; i < 3 || used() < request.seconds; i++) {
        check_signals();
        model.time(seconds);
        for (size_t c = 0; c < best.size(); c++) {
            best[c] = std::min(best[c], seconds[c]);
        }
        explained.whole = std::min(explained.whole, model.run());
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
    const ModelDims dims = model_dims(report, request.report, request.dims);
    ExplainedModel made;
    made.name = report.at("model");
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
    const json report = read_model_report(request.report);
    try {
        return explained_of(report, request, machine, progress);
    } catch (const json::exception &) {
        throw Failure(fmt::format("{}: error: this is no report of halyard compile, or one of an older version", request.report));
    }
}

}  // namespace halyard
