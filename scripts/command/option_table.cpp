#include "command/option_table.h"

#include <algorithm>

#include "kernel/text.h"

namespace halyard {

namespace group {
const char *const kOp = "What is built", *const kSchedule = "Schedule", *const kTarget = "Target", *const kMeasurement = "Measurement",
                  *const kSearch = "Search", *const kDatabase = "Database", *const kOutput = "Output", *const kLimits = "Limits",
                  *const kHelp = "Help";
}

namespace {

// CLI11's name for the group of an option that was given none.
const char *const kNoGroup = "Options";

OptionRow row_of(const CLI::Option &option) {
    OptionRow row;
    if (!option.get_positional()) {
        for (const auto &name : option.get_snames()) {
            row.names.push_back("-" + name);
        }
        for (const auto &name : option.get_lnames()) {
            row.names.push_back("--" + name);
        }
    }
    if (option.get_items_expected_max() > 0) {
        const std::string type = option.get_type_name();  // validators add ":INT in [1 - 8]"
        row.value = type.substr(0, type.find(':'));
    }
    row.text = option.get_description();
    const std::string value = option.get_default_str();
    if (!row.value.empty() && !value.empty() && value != "\"\"") {
        row.text += " [" + value + "]";
    }
    row.required = option.get_required();
    row.repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
    return row;
}

}  // namespace

void put_in_group(CLI::App &cmd, const char *group, const std::vector<std::string> &names) {
    for (const auto &name : names) {
        cmd.get_option(name)->group(group);
    }
}

void needs(CLI::App &cmd, const std::string &name, const std::string &other) {
    cmd.get_option(name)->needs(cmd.get_option(other));
}

void leaves_out(CLI::App &cmd, const std::string &name, const std::vector<std::string> &others) {
    for (const auto &other : others) {
        cmd.get_option(name)->excludes(cmd.get_option(other));
    }
}

std::string OptionRow::head() const {
    if (positional()) {
        const std::string one = value + (repeated ? "..." : "");
        return required ? one : "[" + one + "]";
    }
    return join(names, ", ") + (value.empty() ? "" : " " + value);
}

std::vector<OptionGroup> option_groups(const CLI::App &cmd) {
    std::vector<OptionGroup> groups = {{"Arguments", {}}};
    for (const char *name : {group::kOp, group::kSchedule, group::kTarget, group::kMeasurement, group::kSearch, group::kDatabase,
                             group::kOutput, group::kLimits, kNoGroup, group::kHelp}) {
        groups.push_back({name, {}});
    }
    for (const CLI::Option *option : cmd.get_options()) {
        const bool about = option == cmd.get_help_ptr() || option == cmd.get_version_ptr();
        const std::string name = option->get_positional() ? "Arguments" : about ? group::kHelp : option->get_group();
        for (auto &g : groups) {
            if (g.name == name) {
                g.rows.push_back(row_of(*option));
            }
        }
    }
    groups.erase(std::remove_if(groups.begin(), groups.end(), [](const OptionGroup &g) { return g.rows.empty(); }), groups.end());
    return groups;
}

std::vector<const CLI::App *> visible_subcommands(const CLI::App &app) {
    return app.get_subcommands([](const CLI::App *s) { return !s->get_group().empty(); });
}

std::string full_name(const CLI::App &cmd) {
    return (cmd.get_parent() ? full_name(*cmd.get_parent()) + " " : "") + cmd.get_name();
}

std::string usage_line(const CLI::App &cmd) {
    std::string line = full_name(cmd);
    if (!visible_subcommands(cmd).empty()) {
        return line + " COMMAND ...";
    }
    for (const auto &g : option_groups(cmd)) {
        for (const auto &row : g.rows) {
            line += row.positional() ? " " + row.head() : "";
        }
    }
    return line + " [options]";
}

Footer footer_of(const CLI::App &cmd) {
    Footer footer;
    bool examples = false;
    const std::string text = cmd.get_footer();
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        if (line == "Examples:" || line == "Example:") {
            examples = true;
        } else if (examples) {
            footer.examples.push_back(trim(line));
        } else {
            footer.text += line + "\n";
        }
    }
    footer.text = trim(footer.text);
    return footer;
}

}  // namespace halyard
