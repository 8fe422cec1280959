#include "command/man_page.h"

#include <fmt/format.h>

#include "command/option_table.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct Row {
    const char *name, *text;
};

const Row kExitCodes[] = {
    {"0", "All is well."},
    {"1", "The work could not be done: a script is wrong, a generator failed, a file cannot be written."},
    {"2", "The command line asks for something that does not exist."},
};

const Row kEnvironment[] = {
    {"HALYARD_CACHE", "The folder of built kernels and measured peaks; else $XDG_CACHE_HOME/halyard, else ~/.cache/halyard."},
    {"HALYARD_DB", "The database of schedules; else ~/.local/share/halyard/schedules.db."},
    {"HALYARD_ROOT", "The prefix or build tree whose pieces are used; else the one that the command lies in."},
    {"HALYARD_CUDA_DRIVER", "A CUDA driver in place of the system's, as that of the emulator."},
    {"COLUMNS", "How wide tables are, in place of the terminal's width."},
    {"NO_COLOR", "No colours, where it is not empty."},
    {"PAGER", "What shows lists that do not fit a terminal: less, by default, with LESS=FRX where that is not set."},
    {"TMPDIR", "The folder of temporary files."},
};

// A line of text: no request of roff, no escape, hyphens that can be copied.
std::string escaped(const std::string &text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-') {
            result += "\\-";
        } else if (c == '~') {
            result += "\\(ti";
        } else if (c == '^') {
            result += "\\(ha";
        } else if (c == '`') {
            result += "\\(ga";
        } else {
            result += c;
        }
    }
    return (!text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "") + result;
}

// What a user types in bold, what stands for something else in italics.
std::string head_of(const OptionRow &row) {
    std::vector<std::string> names;
    for (const auto &n : row.names) {
        names.push_back("\\fB" + escaped(n) + "\\fR");
    }
    const std::string value = row.positional() ? row.head() : row.value;
    return join(names, ", ") + (value.empty() ? "" : (names.empty() ? "" : " ") + ("\\fI" + escaped(value) + "\\fR"));
}

std::string item(const std::string &head, const std::string &text) {
    return fmt::format(".TP\n{}\n{}\n", head, escaped(text));
}

std::string examples(const std::vector<std::string> &lines) {
    std::string text;
    for (const auto &line : lines) {
        text += escaped(line) + "\n";
    }
    return text.empty() ? "" : ".RS 4\n.nf\n" + text + ".fi\n.RE\n";
}

std::string options(const CLI::App &cmd) {
    std::string text;
    for (const auto &g : option_groups(cmd)) {
        if (g.name == group::kHelp) {
            continue;  // said once, for all
        }
        text += fmt::format(".PP\n\\fI{}\\fR\n", g.name);
        for (const auto &row : g.rows) {
            text += item(head_of(row), row.text);
        }
    }
    return text;
}

std::string command(const CLI::App &cmd) {
    std::string text =
        fmt::format(".SS {}\n{}.\n.PP\n\\fB{}\\fR\n", escaped(full_name(cmd)), escaped(cmd.get_description()), escaped(usage_line(cmd)));
    text += options(cmd);
    const Footer footer = footer_of(cmd);
    if (!footer.text.empty()) {
        text += ".PP\n";
        for (const auto &line : split(footer.text, '\n')) {
            text += escaped(line) + "\n";
        }
    }
    text += footer.examples.empty() ? "" : ".PP\n" + examples(footer.examples);
    for (const CLI::App *s : visible_subcommands(cmd)) {
        text += command(*s);
    }
    return text;
}

template<typename Rows>
std::string table(const Rows &rows) {
    std::string text;
    for (const Row &row : rows) {
        text += item("\\fB" + escaped(row.name) + "\\fR", row.text);
    }
    return text;
}

}  // namespace

std::string man_page(const CLI::App &app) {
    const std::string version = HALYARD_VERSION;
    // The date is left empty: the same sources give the same page.
    std::string text = fmt::format(".TH HALYARD 1 \"\" \"halyard {}\" \"User Commands\"\n", version);
    text += fmt::format(".SH NAME\nhalyard \\- {}\n", escaped(app.get_description()));
    text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n.br\n\\fBhalyard \\-\\-help\\fR | \\fB\\-\\-version\\fR\n", escaped(usage_line(app)));
    text += ".SH DESCRIPTION\n"
            "A generator in C++ says what is computed, a schedule in Lua how: how loops are split, vectorised, fused and run in\n"
            "parallel. Halyard makes a static library of both, with a C header, for processors and for NVIDIA GPUs. The schedules\n"
            "that ship can be read, edited, measured, explained, and searched for anew.\n";
    text += ".SH OPTIONS\n";
    for (const auto &g : option_groups(app)) {
        for (const auto &row : g.rows) {
            text += item(head_of(row), row.text);
        }
    }
    text += ".SH COMMANDS\n";
    for (const CLI::App *s : visible_subcommands(app)) {
        text += command(*s);
    }
    text += ".SH EXIT STATUS\n" + table(kExitCodes);
    text += ".SH ENVIRONMENT\n" + table(kEnvironment);
    text += ".SH EXAMPLES\n" + examples(footer_of(app).examples);
    text += ".SH SEE ALSO\nThe guide in docs/guide, and the reference in docs/reference, of the sources of Halyard.\n";
    return text;
}

}  // namespace halyard
