// halyard list: the ops of the registry, a line each; of named ones, arguments, parameters and schedules.

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command/commands.h"
#include "kernel/generate.h"
#include "kernel/generator_params.h"
#include "kernel/heads.h"
#include "command/ops_page.h"
#include "command/option_table.h"
#include "command/pager.h"
#include "command/wrapped_text.h"
#include "kernel/paths.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// The opening comment of every schedule of some ops, by file. A script that does not load is listed too; `halyard
// check` says what is wrong with it.
using Summaries = std::map<std::string, std::string>;

Summaries summaries_of(const std::vector<Op> &ops) {
    std::vector<std::string> files;
    for (const auto &op : ops) {
        for (const auto &s : schedules_of(op.name)) {
            files.push_back(s.path);
        }
    }
    const std::vector<Head> heads = read_heads(files);
    Summaries summaries;
    for (size_t i = 0; i < files.size(); i++) {
        summaries[files[i]] = heads[i].ok ? heads[i].header.summary : "(does not load: halyard check " + files[i] + ")";
    }
    return summaries;
}

// "type=float32|float16|bfloat16", the default first; "panel=48"
std::string with_values(const GeneratorParam &p) {
    std::string text = p.name + "=" + p.value;
    for (const auto &c : p.choices) {
        text += c == p.value ? "" : "|" + c;
    }
    return text;
}

std::vector<GeneratorParam> params_of(const Op &op) {
    return generator_params(require_piece(paths().generators, "the generator of every op"), op.name);
}

nlohmann::json to_json(const Op &op, const Summaries &summaries, bool with_params) {
    nlohmann::json schedules = nlohmann::json::array();
    for (const auto &s : schedules_of(op.name)) {
        schedules.push_back({{"name", s.name}, {"target", s.place}, {"file", s.path}, {"summary", summaries.at(s.path)}});
    }
    nlohmann::json shapes = nlohmann::json::array();
    for (const auto &shape : op.shapes) {
        shapes.push_back(shape);
    }
    nlohmann::json record = {{"op", op.name},     {"summary", op.summary}, {"arguments", op.signature},
                             {"flops", op.flops}, {"shapes", shapes},      {"schedules", schedules}};
    if (with_params) {
        record["params"] = nlohmann::json::array();
        for (const auto &p : params_of(op)) {
            record["params"].push_back({{"name", p.name}, {"choices", p.choices}, {"default", p.value}});
        }
    }
    return record;
}

// docs/reference/ops.md: a section an op. File names are relative, so that the page is the same everywhere.
void print_markdown(const Op &op, const Summaries &summaries) {
    fmt::print("## {}\n\n{}.\n\n    {}\n\n", op.name, op.summary, op.signature);
    std::vector<std::string> params;
    for (const auto &p : params_of(op)) {
        params.push_back("`" + with_values(p) + "`");
    }
    fmt::print("Parameters: {}.\n\n", join(params, ", "));
    fmt::print("Floating-point operations: `{}`.\n\n| schedule | target | plan |\n| --- | --- | --- |\n", op.flops);
    for (const auto &s : schedules_of(op.name)) {
        fmt::print("| [{0}](../../schedules/{1}/{0}.lua) | {1} | {2} |\n", s.name, s.place, summaries.at(s.path));
    }
    fmt::print("\n");
}

// A line an op, as wide as the terminal.
std::string short_list(const std::vector<Op> &ops) {
    size_t longest = 0;
    for (const auto &op : ops) {
        longest = std::max(longest, op.name.size());
    }
    const size_t width = output_width();
    std::string text;
    for (const auto &op : ops) {
        const std::string blanks(longest - op.name.size() + 2, ' ');
        const size_t left = longest + 2;
        const bool cut = width > left + 10 && left + columns(op.summary) > width;
        text += paint(Colour::kBold, op.name) + blanks + (cut ? fit(op.summary, width - left) : op.summary) + "\n";
    }
    if (width > 0) {
        text += paint(Colour::kDim, "`halyard list OP` says what an op takes, and which schedules it has.") + "\n";
    }
    return text;
}

// One op with all that there is to say.
std::string whole(const Op &op, const Summaries &summaries) {
    const size_t width = prose_width();
    const auto title = [](const std::string &name) { return paint(Colour::kBold, name) + "\n"; };
    std::string text = beside(paint(Colour::kBold, op.name) + "  " + op.summary, "", 0, width);
    text += title("arguments, extents of the innermost dimension first");
    for (const auto &line : wrapped(op.signature, width - 2)) {
        text += "  " + line + "\n";
    }
    text += title("sizes that bench and explain take by default");
    for (const auto &shape : op.shapes) {
        text += "  " + shape_text(op, shape) + "\n";
    }
    text += title("parameters of the generator, the default first");
    for (const auto &p : params_of(op)) {
        text += "  " + with_values(p) + "\n";
    }
    text += title("schedules");
    for (const auto &s : schedules_of(op.name)) {
        text += beside(fmt::format("  {:<5} {}", s.place, s.name), summaries.at(s.path), 30, width);
    }
    return text;
}

}  // namespace

void add_list(CLI::App &app) {
    auto named = std::make_shared<std::vector<std::string>>();
    auto json = std::make_shared<bool>(false);
    auto markdown = std::make_shared<bool>(false);
    CLI::App *cmd = app.add_subcommand("list", "The ops; of named ones, also their arguments, parameters and schedules");
    cmd->add_option("ops", *named, "Ops [all]")->type_name("OP");
    cmd->add_flag("--markdown", *markdown, "The page docs/reference/ops.md on standard output");
    cmd->add_flag("--json", *json, "A list of records on standard output");
    leaves_out(*cmd, "--markdown", {"--json"});
    put_in_group(*cmd, group::kOutput, {"--markdown", "--json"});
    cmd->footer("\nOn a terminal what does not fit is shown by $PAGER (less).\n"
                "\nExamples:\n  halyard list\n  halyard list softmax\n  halyard list --json");
    cmd->callback([named, json, markdown] {
        std::vector<Op> ops;
        for (const auto &name : *named) {
            ops.push_back(find_op(name));
        }
        if (ops.empty()) {
            ops = registry();
        }
        if (named->empty() && !*markdown && !*json) {
            page(short_list(ops));
            return;
        }
        const Summaries summaries = summaries_of(ops);
        if (*markdown) {
            fmt::print("{}", kOpsPageHead);
            for (const auto &op : ops) {
                print_markdown(op, summaries);
            }
        } else if (*json) {
            nlohmann::json records = nlohmann::json::array();
            for (const auto &op : ops) {
                records.push_back(to_json(op, summaries, !named->empty()));
            }
            fmt::print("{}\n", records.dump(1));
        } else {
            std::string text;
            for (const auto &op : ops) {
                text += (text.empty() ? "" : "\n") + whole(op, summaries);
            }
            page(text);
        }
    });
}

}  // namespace halyard
