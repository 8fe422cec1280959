// halyard candidate: what the explorer starts for each candidate, in a process of its own. Not for people.

#include <memory>

#include <fmt/format.h>

#include "command/commands.h"
#include "explore/measure/worker.h"
#include "kernel/process.h"
#include "kernel/text.h"
#include "models/model_turns.h"

namespace halyard {

namespace {

void run_job(const std::string &file) {
    const auto job = nlohmann::json::parse(read_file(file), nullptr, false);
    if (job.is_object() && job.value("step", "") == "model") {
        bind_children();  // which its confinement allows
        fmt::print("{}\n", run_model_turns(job).dump());
        return;
    }
    explore::run_worker(file);
}

}  // namespace

void add_candidate(CLI::App &app) {
    auto job = std::make_shared<std::string>();
    CLI::App *cmd = app.add_subcommand("candidate", "Build or run one candidate of a search");
    cmd->group("");  // hidden
    cmd->add_option("job", *job, "What to do, as JSON")->required()->type_name("FILE");
    cmd->callback([job] { run_job(*job); });
}

}  // namespace halyard
