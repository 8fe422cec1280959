// halyard candidate: what the explorer starts for each candidate, in a process of its own. Not for people.

#include <memory>

#include "command/commands.h"
#include "explore/measure/worker.h"

namespace halyard {

void add_candidate(CLI::App &app) {
    auto job = std::make_shared<std::string>();
    CLI::App *cmd = app.add_subcommand("candidate", "Build or run one candidate of a search");
    cmd->group("");  // hidden
    cmd->add_option("job", *job, "What to do, as JSON")->required()->type_name("FILE");
    cmd->callback([job] { explore::run_worker(*job); });
}

}  // namespace halyard
