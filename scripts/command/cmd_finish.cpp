// halyard finish: what a build starts to finish the code of a generator, in a process of its own. Not for people.

#include <memory>

#include "command/commands.h"
#include "kernel/finish.h"

namespace halyard {

void add_finish(CLI::App &app) {
    struct Arguments {
        std::string directory, function;
    };
    auto a = std::make_shared<Arguments>();
    CLI::App *cmd = app.add_subcommand("finish", "Finish the code that a generator wrote");
    cmd->group("");  // hidden
    cmd->add_option("directory", a->directory, "Its folder")->required()->type_name("FOLDER");
    cmd->add_option("function", a->function, "The name of its function")->required()->type_name("NAME");
    cmd->callback([a] { finish(a->directory, a->function); });
}

}  // namespace halyard
