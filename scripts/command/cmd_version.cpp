// halyard version

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command/commands.h"
#include "command/option_table.h"
#include "explore/store/entry.h"

namespace halyard {

std::string version_text() {
    return "halyard " HALYARD_VERSION;
}

void add_version(CLI::App &app) {
    CLI::App *cmd = app.add_subcommand("version", "Print the version");
    auto json = std::make_shared<bool>(false);
    cmd->add_flag("--json", *json, "With the machine and the compilers, by which measurements are kept");
    put_in_group(*cmd, group::kOutput, {"--json"});
    cmd->footer("\nExamples:\n  halyard version\n  halyard version --json");
    cmd->callback([json] {
        if (*json) {
            const nlohmann::json all = {
                {"version", HALYARD_VERSION}, {"machine", explore::this_machine()}, {"compilers", explore::these_compilers()}};
            fmt::print("{}\n", all.dump(1));
        } else {
            fmt::print("{}\n", version_text());
        }
    });
}

}  // namespace halyard
