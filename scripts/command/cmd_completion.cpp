// halyard completion: the script by which a shell completes command lines of ours.

#include <map>
#include <memory>

#include <fmt/format.h>

#include "command/commands.h"
#include "command/completion_scripts.h"
#include "kernel/failure.h"
#include "language/diagnostics.h"

namespace halyard {

void add_completion(CLI::App &app) {
    auto shell = std::make_shared<std::string>();
    CLI::App *cmd = app.add_subcommand("completion", "The script that makes a shell complete command lines of halyard");
    cmd->add_option("shell", *shell, "bash, zsh or fish")->required()->type_name("SHELL");
    cmd->footer("\nIt completes subcommands, options, ops, schedules, targets, parameters and their values.\n"
                "\nExamples:\n"
                "  source <(halyard completion bash)     in ~/.bashrc\n"
                "  source <(halyard completion zsh)      in ~/.zshrc, after compinit\n"
                "  halyard completion fish | source      in ~/.config/fish/config.fish");
    cmd->callback([shell] {
        const std::map<std::string, const char *> scripts = {{"bash", kBashCompletion}, {"zsh", kZshCompletion}, {"fish", kFishCompletion}};
        const auto script = scripts.find(*shell);
        if (script == scripts.end()) {
            const std::string hint = did_you_mean(*shell, {"bash", "zsh", "fish"});
            throw UsageError(fmt::format("there is no completion for \"{}\"; there is one for \"bash\", \"zsh\", \"fish\"{}", *shell,
                                         hint.empty() ? "" : "\n  " + hint));
        }
        fmt::print("{}", script->second);
    });
}

}  // namespace halyard
