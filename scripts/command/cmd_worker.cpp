// halyard worker: what `halyard explore --workers` starts on other machines. Not for people.

#include <memory>

#include "command/commands.h"
#include "explore/workers/station.h"

namespace halyard {

namespace {

struct WorkerOptions {
    std::string folder;
    int parent = 0;
};

}  // namespace

void add_worker(CLI::App &app) {
    auto o = std::make_shared<WorkerOptions>();
    CLI::App *cmd = app.add_subcommand("worker", "Measure what another machine's search sends");
    cmd->group("");  // hidden
    cmd->add_option("folder", o->folder, "Where it was put")->required()->type_name("FOLDER");
    cmd->add_option("parent", o->parent, "The process that started it")->required()->type_name("PID");
    cmd->callback([o] { explore::run_station(o->folder, o->parent); });
}

}  // namespace halyard
