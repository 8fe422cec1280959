// halyard list: the ops of the registry and their schedules.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "paths.h"
#include "registry.h"
#include "schedules.h"
#include "script.h"
#include "terminal.h"
#include "text.h"

namespace halyard {

namespace {

// A script that does not load is listed too; `halyard check` says what is wrong with it.
std::string summary_of(const ScheduleFile &schedule) {
    try {
        ScriptOptions options;
        options.lib_dirs = {paths().schedules};
        return read_header(schedule.path, options).summary;
    } catch (const ScriptError &) {
        return "(does not load: halyard check " + schedule.path + ")";
    }
}

nlohmann::json to_json(const Op &op) {
    nlohmann::json schedules = nlohmann::json::array();
    for (const auto &s : schedules_of(op.name)) {
        schedules.push_back({{"name", s.name}, {"target", s.place}, {"file", s.path}, {"summary", summary_of(s)}});
    }
    nlohmann::json shapes = nlohmann::json::array();
    for (const auto &shape : op.shapes) {
        shapes.push_back(shape);
    }
    return {{"op", op.name}, {"summary", op.summary}, {"arguments", op.signature}, {"flops", op.flops},
            {"shapes", shapes}, {"schedules", schedules}};
}

// docs/ops.md: a section an op. File names are relative, so that the page is the same everywhere.
void print_markdown(const Op &op) {
    fmt::print("## {}\n\n{}.\n\n    {}\n\n", op.name, op.summary, op.signature);
    fmt::print("Floating-point operations: `{}`.\n\n| schedule | target | plan |\n| --- | --- | --- |\n", op.flops);
    for (const auto &s : schedules_of(op.name)) {
        fmt::print("| [{0}](../schedules/{1}/{0}.lua) | {1} | {2} |\n", s.name, s.place, summary_of(s));
    }
    fmt::print("\n");
}

std::string first_sentence(const std::string &text) {
    const size_t end = text.find(". ");
    return end == std::string::npos ? text : text.substr(0, end + 1);
}

void print(const Op &op) {
    const size_t width = output_width();
    fmt::print("{}  {}\n", paint(Colour::kBold, op.name), op.summary);
    for (const auto &s : schedules_of(op.name)) {
        const std::string line = fmt::format("  {:<5} {:<26} {}", s.place, s.name, first_sentence(summary_of(s)));
        fmt::print("{}\n", width > 0 && columns(line) > width ? fit(line, width) : line);
    }
}

}  // namespace

void add_list(CLI::App &app) {
    auto json = std::make_shared<bool>(false);
    auto markdown = std::make_shared<bool>(false);
    CLI::App *cmd = app.add_subcommand("list", "The ops and their schedules");
    cmd->add_flag("--markdown", *markdown, "The page docs/ops.md on standard output");
    cmd->add_flag("--json", *json, "A list of records on standard output");
    cmd->footer("\nExamples:\n  halyard list\n  halyard list --json");
    cmd->callback([json, markdown] {
        if (*markdown) {
            fmt::print("# Ops\n\nMade by `scripts/halyard list --markdown` from generators/ops.inc and the schedules. "
                       "Extents are given innermost first;\n`?` marks what only some variants have.\n\n");
            for (const auto &op : registry()) {
                print_markdown(op);
            }
            return;
        }
        if (*json) {
            nlohmann::json ops = nlohmann::json::array();
            for (const auto &op : registry()) {
                ops.push_back(to_json(op));
            }
            fmt::print("{}\n", ops.dump(1));
            return;
        }
        for (const auto &op : registry()) {
            print(op);
        }
    });
}

}  // namespace halyard
