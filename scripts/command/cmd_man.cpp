// halyard man: the manual page.

#include <fmt/format.h>

#include "command/commands.h"
#include "command/man_page.h"

namespace halyard {

void add_man(CLI::App &app) {
    CLI::App *cmd = app.add_subcommand("man", "The manual page halyard(1), for `man -l`");
    cmd->footer("\nAn installed Halyard has it in share/man.\n"
                "\nExamples:\n  halyard man | man -l -\n  halyard man >halyard.1");
    cmd->callback([&app] { fmt::print("{}", man_page(app)); });
}

}  // namespace halyard
