#include "command/build_record.h"

#include <algorithm>
#include <filesystem>

#include "kernel/generator_params.h"
#include "kernel/header_text.h"
#include "kernel/paths.h"
#include "kernel/text.h"

namespace halyard {

namespace {

using nlohmann::json;

// What the generator has by default, where nothing else was said.
Assignments all_params(const Plan &plan) {
    Assignments values = plan.params;
    for (const auto &p : generator_params(plan.executable, plan.op)) {
        values.insert({p.name, p.value});
    }
    return values;
}

// In the order of the function where its header was written, else by name and arrays only. Extents and strides that are free are null.
json arguments_of(const Plan &plan, const json &report, const std::vector<std::string> &files) {
    const json arrays = report.is_object() ? report.value("arguments", json::object()) : json::object();
    std::vector<HeaderArgument> order;
    for (const auto &file : files) {
        if (std::filesystem::path(file).filename() == plan.function + ".h") {
            order = header_arguments(read_file(file), plan.function);
        }
    }
    if (order.empty()) {
        for (const auto &a : arrays.items()) {
            order.push_back({"", a.key()});
        }
    }
    json list = json::array();
    for (const auto &a : order) {
        json record = a.type.empty() ? arrays.value(a.name, json::object()) : json{{"type", a.type}, {"output", false}};
        record["name"] = a.name;
        record["array"] = a.type.empty();
        list.push_back(record);
    }
    return list;
}

}  // namespace

json build_record(const Plan &plan, const Generated &generated, const std::vector<std::string> &files,
                  const std::vector<std::string> &notes, double seconds) {
    std::vector<std::string> paths_of_files;
    for (const auto &file : files) {
        paths_of_files.push_back(std::filesystem::path(file).lexically_normal().string());
    }
    const auto chosen = generated.report.is_object() ? generated.report.value("params", json::object()) : json::object();
    return {{"ok", true},
            {"op", plan.op},
            {"function", plan.function},
            {"files", paths_of_files},
            {"targets", plan.targets},
            {"devices", split(plan.devices, ',')},
            {"params", all_params(plan)},
            {"set", chosen},
            {"facts", plan.facts},
            {"arguments", arguments_of(plan, generated.report, files)},
            {"schedule", plan.script.empty() ? json(nullptr) : json(plan.script)},
            {"generator", plan.executable == paths().generators ? json(nullptr) : json(plan.executable)},
            {"notes", notes},
            {"seconds", seconds}};
}

json build_failure(const std::string &op, const std::string &text, const json &report) {
    json error = {{"text", text}};
    if (report.is_object() && report.contains("error") && report.at("error").is_object()) {
        error = report.at("error");
    }
    return {{"ok", false}, {"op", op}, {"error", error}};
}

}  // namespace halyard
