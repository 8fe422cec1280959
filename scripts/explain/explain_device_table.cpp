#include "explain/explain_device_table.h"

#include <fmt/format.h>

#include "explain/explain_device_words.h"
#include "explain/explain_sentences.h"
#include "explain/explain_version.h"
#include "explain/explain_words.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

std::string work_text(double flops) {
    return flops < 0.5 ? "-" : flops_text(flops);
}

void print_stages(const Explained &e) {
    std::vector<Row> rows = {{"stage", "computed at", "kernel", "again", "flops"}};
    for (const auto &s : e.stages) {
        std::string kernel = "-";
        for (const auto &k : e.kernels) {
            for (const auto &name : k.stages) {
                kernel = name == s.name ? k.name : kernel;
            }
        }
        rows.push_back({s.name, place_text(s), kernel, s.recomputed ? fmt::format("{:.2f}", *s.recomputed) : "-",
                        work_text(s.flops) + (s.product ? " tensor" : "")});
    }
    print_rows(rows, 3);
}

json bytes_json(const Bytes &b) {
    return {{"read", b.read}, {"written", b.written}};
}

json to_json(const ExplainedKernel &k) {
    json arrays = json::array();
    for (const auto &a : k.arrays) {
        arrays.push_back({{"name", a.name},
                          {"argument", a.argument},
                          {"bytes", a.bytes},
                          {"memory", bytes_json(a.once)},
                          {"l2", bytes_json(a.blocks)},
                          {"stays_in_l2", a.in_l2}});
    }
    json j = {{"name", k.name},
              {"func", k.func},
              {"launches", k.launches},
              {"grid", k.grid},
              {"block", k.block},
              {"blocks", k.blocks()},
              {"threads", k.threads()},
              {"dynamic_shared_bytes", k.dynamic_shared_bytes},
              {"resources", nullptr},
              {"arrays", arrays},
              {"stages", k.stages},
              {"memory", bytes_json(k.memory)},
              {"l2", bytes_json(k.l2)},
              {"flops", k.flops},
              {"tensor_flops", k.tensor_flops},
              {"seconds",
               {{"memory", k.memory_seconds},
                {"l2", k.l2_seconds},
                {"flops", k.flops_seconds},
                {"tensor", k.tensor_seconds},
                {"launch", k.launch_seconds}}},
              {"busy", k.busy},
              {"predicted_seconds", k.predicted},
              {"limit", k.limit}};
    if (k.resources) {
        j["resources"] = {{"registers", k.resources->registers},     {"shared_bytes", k.resources->shared_bytes},
                          {"local_bytes", k.resources->stack_bytes}, {"code_bytes", k.resources->code_bytes},
                          {"resident_blocks", k.occupancy.blocks},   {"limited_by", k.occupancy.limit}};
    }
    return j;
}

}  // namespace

void print_kernels(const Explained &e) {
    std::vector<Row> rows = {{"kernel", "launches", "blocks", "threads", "registers", "shared", "stay", "memory r/w", "L2 r/w",
                              "tensor flops", "flops", "predicted", "limit"}};
    for (const auto &k : e.kernels) {
        rows.push_back({k.name, fmt::format("{:g}", k.launches), grid_text(k.grid), grid_text(k.block),
                        k.resources ? std::to_string(k.resources->registers) : "-", shared_text(k), resident_text(k), moved_text(k.memory),
                        moved_text(k.l2), work_text(k.tensor_flops), work_text(k.flops), seconds_text(k.predicted), k.limit});
    }
    rows.push_back({"all", fmt::format("{:g}", launches_of(e)), "", "", "", "", "", moved_text(e.warm.bytes[kDram]),
                    moved_text(e.warm.bytes[kL2]), work_text(tensor_flops_of(e)), work_text(e.flops - tensor_flops_of(e)),
                    seconds_text(e.warm.predicted), e.device_limit});
    print_rows(rows);
}

void print_explanation(const std::vector<Explained> &all, const GpuFigures &gpu) {
    for (const auto &e : all) {
        fmt::print("{}\n", paint(Colour::kBold, fmt::format("{}  {}  {}", e.schedule, e.shape, e.type)));
        print_kernels(e);
        fmt::print("\n");
        print_stages(e);
        print_about(e, about_schedule(e, gpu));
    }
    print_comparisons(all, [&](const Explained &other) { return compare(all.front(), other, gpu); });
    fmt::print("{}\n", paint(Colour::kDim, device_text(gpu)));
}

json schedule_json(const Explained &e, const GpuFigures &gpu) {
    json kernels = json::array(), stages = json::array(), inlined = json::array();
    for (const auto &k : e.kernels) {
        kernels.push_back(to_json(k));
    }
    for (const auto &s : e.stages) {
        json j = {{"stage", s.name},      {"func", s.func},         {"computed_at", s.place},
                  {"flops", s.flops},     {"elements", s.elements}, {"tensor_cores", s.product},
                  {"recomputed", nullptr}};
        if (s.recomputed) {
            j["recomputed"] = *s.recomputed;
        }
        if (s.line > 0) {
            j.update({{"file", s.file}, {"line", s.line}, {"source", s.source}});
        }
        stages.push_back(j);
    }
    for (const auto &i : e.inlined) {
        inlined.push_back({{"func", i.func}, {"computed", i.times}, {"free", i.free}});
    }
    json j = {{"op", e.op},
              {"schedule", e.schedule},
              {"script", e.script},
              {"shape", e.shape},
              {"type", e.type},
              {"target", e.target},
              {"kernels", kernels},
              {"stages", stages},
              {"inlined", inlined},
              {"nest", e.nest},
              {"notes", e.notes},
              {"launches", launches_of(e)},
              {"memory", bytes_json(e.warm.bytes[kDram])},
              {"l2", bytes_json(e.warm.bytes[kL2])},
              {"argument_bytes", e.needed_bytes},
              {"allocated_bytes", e.allocated},
              {"flops", e.flops - tensor_flops_of(e)},
              {"tensor_flops", tensor_flops_of(e)},
              {"predicted_seconds", e.warm.predicted},
              {"limit", e.device_limit},
              {"floor_seconds", e.warm_floor},
              {"measured_seconds", nullptr},
              {"measured", e.measured_where},
              {"version", nullptr},
              {"about", about_schedule(e, gpu)}};
    if (e.warm.measured) {
        j["measured_seconds"] = *e.warm.measured;
    }
    if (!e.version.is_null()) {
        j["version"] = {{"number", e.version.at("taken").get<int>() + 1}, {"why", about_version(e)}, {"all", e.version.at("versions")}};
    }
    return j;
}

json device_json(const GpuFigures &g) {
    return {{"name", g.name},
            {"assumed", g.assumed},
            {"architecture", g.architecture()},
            {"multiprocessors", g.multiprocessors},
            {"memory_bytes_a_second", g.memory},
            {"copy_bytes_a_second", g.copy},
            {"copy_measured", g.copy_measured},
            {"l2_bytes", g.l2_bytes},
            {"l2_bytes_a_second", g.l2},
            {"flops", g.flops},
            {"tensor_flops", g.tensor_flops},
            {"tensor_ops_8_bits", g.tensor_ops}};
}

json explanation_json(const std::vector<Explained> &all, const GpuFigures &gpu) {
    json schedules = json::array(), comparison = json::array();
    for (const auto &e : all) {
        schedules.push_back(schedule_json(e, gpu));
    }
    for (size_t i = 1; i < all.size(); i++) {
        comparison.push_back(
            {{"schedule", all.front().schedule}, {"against", all[i].schedule}, {"sentences", compare(all.front(), all[i], gpu)}});
    }
    return {{"device", device_json(gpu)}, {"schedules", schedules}, {"comparison", comparison}};
}

}  // namespace halyard
