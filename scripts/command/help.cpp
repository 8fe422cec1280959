#include "command/help.h"

#include <fmt/format.h>

#include "command/option_table.h"
#include "command/wrapped_text.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

constexpr size_t kLeft = 26;  // where the text of an option begins

std::string title(const std::string &name) {
    return "\n" + paint(Colour::kBold, name + ":") + "\n";
}

std::string help_of(const CLI::App *cmd, const std::string &, CLI::AppFormatMode) {
    const size_t width = prose_width();
    std::string text = join(wrapped(cmd->get_description(), width), "\n") + "\n\n";
    text += beside(paint(Colour::kBold, "Usage:") + " " + usage_line(*cmd), "", 0, width);
    const auto subcommands = visible_subcommands(*cmd);
    if (!subcommands.empty()) {
        text += title("Commands");
        for (const CLI::App *s : subcommands) {
            text += beside("  " + s->get_name(), s->get_description(), 14, width);
        }
    }
    for (const auto &g : option_groups(*cmd)) {
        text += title(g.name);
        for (const auto &row : g.rows) {
            text += beside("  " + row.head(), row.text, kLeft, width);
        }
    }
    const Footer footer = footer_of(*cmd);
    for (size_t begin = 0; begin < footer.text.size();) {  // paragraphs
        const size_t end = std::min(footer.text.find("\n\n", begin), footer.text.size());
        text += "\n" + join(wrapped(join(split(footer.text.substr(begin, end - begin), '\n'), " "), width), "\n") + "\n";
        begin = end + 2;
    }
    if (!footer.examples.empty()) {
        text += title("Examples");
        for (const auto &example : footer.examples) {
            text += "  " + example + "\n";
        }
    }
    return text;
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
    return std::make_shared<CLI::FormatterLambda>(help_of);
}

}  // namespace halyard
