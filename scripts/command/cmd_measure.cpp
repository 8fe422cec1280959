// halyard measure: checks and times on a machine with a GPU what `halyard explore --export` built on another.

#include <memory>

#include <fmt/format.h>

#include "command/commands.h"
#include "kernel/failure.h"
#include "kernel/gpu.h"
#include "explore/measure/pack.h"
#include "kernel/terminal.h"

namespace halyard {

namespace {

void measure_folder(const std::string &folder) {
    if (!gpu()) {
        throw Failure("there is no CUDA device here: no driver was found, or it lets this process use none");
    }
    const size_t right = explore::measure_pack(folder, [](const std::string &text) {
        fmt::print("{}\n", text);
        std::fflush(stdout);
    });
    fmt::print("{} of them right on {}: {}/results.jsonl is for `halyard db import`\n", right, gpu()->name, folder);
}

}  // namespace

void add_measure(CLI::App &app) {
    auto folder = std::make_shared<std::string>();
    CLI::App *cmd = app.add_subcommand("measure", "Check and time what `explore --export` built, on a machine with a GPU");
    cmd->add_option("folder", *folder, "The folder of --export")->required()->type_name("FOLDER");
    cmd->footer("\nThe folder holds this command too, and needs nothing else of Halyard: ./measure there.\n"
                "What was measured already is left out, so it can be stopped and go on.\n"
                "\nExample:\n  halyard measure pack && halyard db import pack/results.jsonl");
    cmd->callback([folder] { measure_folder(*folder); });
}

}  // namespace halyard
