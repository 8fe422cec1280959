// halyard version

#include <fmt/format.h>

#include "commands.h"

namespace halyard {

std::string version_text() {
    return "halyard " HALYARD_VERSION;
}

void add_version(CLI::App &app) {
    CLI::App *cmd = app.add_subcommand("version", "Print the version");
    cmd->footer("\nExample:\n  halyard version");
    cmd->callback([] { fmt::print("{}\n", version_text()); });
}

}  // namespace halyard
