// The `halyard` command.

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "command/commands.h"
#include "command/complete.h"
#include "command/help.h"
#include "command/option_table.h"
#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/process.h"
#include "kernel/terminal.h"
#include "kernel/terminal_guard.h"

namespace {

using namespace halyard;

constexpr int kFailed = 1, kUsage = 2;

int output_error = 0;  // why standard output could not be written, as errno has it

std::string with_hint(const std::string &message, const std::string &name, const std::vector<std::string> &candidates) {
    const std::string hint = did_you_mean(name, candidates);
    return hint.empty() ? message : message + "\n  " + hint;
}

std::vector<std::string> option_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options()) {
        for (const auto &name : option->get_lnames()) {
            names.push_back("--" + name);
        }
        for (const auto &name : option->get_snames()) {
            names.push_back("-" + name);
        }
    }
    return names;
}

const CLI::App &chosen(const CLI::App &app) {
    const auto subcommands = app.get_subcommands();
    return subcommands.empty() ? app : chosen(*subcommands.front());
}

std::vector<std::string> subcommand_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *s : visible_subcommands(app)) {
        names.push_back(s->get_name());
    }
    return names;
}

// Of what CLI11 could not place the first that looks like an option, else the first, with the nearest name that exists.
std::string unknown_argument(const CLI::App &app, bool only_options) {
    const CLI::App &command = chosen(app);
    std::string other;
    for (const auto &argument : app.remaining(true)) {
        const std::string name = argument.substr(0, argument.find('='));
        if (name.size() > 1 && name[0] == '-') {
            return with_hint(fmt::format("{} has no option {}", full_name(command), name), name, option_names(command));
        }
        other = other.empty() ? argument : other;
    }
    if (other.empty() || only_options) {
        return "";
    }
    const auto names = subcommand_names(command);
    if (names.empty()) {
        return fmt::format("{} takes no argument \"{}\" there", full_name(command), other);
    }
    return with_hint(fmt::format("{} has no subcommand \"{}\"; there are {}", full_name(command), other, quoted_list(names)), other, names);
}

// "op is required" in the words of --help.
std::string missing_argument(const CLI::App &app, const std::string &message) {
    const std::string name = message.substr(0, message.find(" is required"));
    for (const CLI::Option *option : chosen(app).get_options()) {
        if (option->get_positional() && option->get_required() && option->get_name(true) == name) {
            std::string text = option->get_description();
            text[0] = char(std::tolower(text[0]));
            return fmt::format("{} is required: {}", option->get_type_name(), text);
        }
    }
    return message;
}

int usage_error(const CLI::App &app, const std::string &message) {
    print_error(message);
    std::fputs(fmt::format("  for help: {} --help\n", full_name(chosen(app))).c_str(), stderr);
    return kUsage;
}

// "--gpu requires --shape", and why of two one has to go.
std::string beside_each_other(const CLI::Error &e) {
    const std::string text = e.what(), excludes = " excludes ";
    const size_t at = text.find(excludes);
    return !dynamic_cast<const CLI::ExcludesError *>(&e) || at == std::string::npos
               ? text
               : fmt::format("{} and {} do not go together: the one would leave the other out", text.substr(0, at),
                             text.substr(at + excludes.size()));
}

// A misspelt option first: its value was taken for an argument, or the argument that is missing is what it was to say.
int command_line_error(const CLI::App &app, const CLI::Error &e) {
    const auto subcommands = subcommand_names(chosen(app));
    const bool only_options = subcommands.empty() && !dynamic_cast<const CLI::ExtrasError *>(&e);
    const std::string unknown = unknown_argument(app, only_options);
    if (unknown.empty() && !subcommands.empty()) {
        return usage_error(app, fmt::format("{} needs a subcommand: {}", full_name(chosen(app)), quoted_list(subcommands)));
    }
    return usage_error(app, unknown.empty() ? missing_argument(app, beside_each_other(e)) : unknown);
}

// --help and --version. Not by CLI11, whose stream knows nothing of a guarded terminal.
int answer(const std::string &text) {
    std::fputs(text.c_str(), stdout);
    output_error = std::ferror(stdout) ? errno : 0;
    return 0;
}

int run(CLI::App &app, int argc, char **argv) {
    try {
        app.parse(argc, argv);
        check_signals();  // one that came when the work was done still ends what started the command
        if (app.get_subcommands().empty()) {
            fmt::print(stderr, "{}", app.help());
            return kUsage;
        }
        return 0;
    } catch (const ExitCode &e) {
        return e.code;
    } catch (const CLI::CallForHelp &) {
        return answer(app.help());
    } catch (const CLI::CallForVersion &) {
        return answer(version_text() + "\n");
    } catch (const CLI::Error &e) {
        return command_line_error(app, e);
    } catch (const UsageError &e) {
        return usage_error(app, e.what());
    } catch (const Interrupted &e) {
        std::signal(e.signal, SIG_DFL);
        std::fflush(stdout);  // what was said of what was done
        std::raise(e.signal);
        return 128 + e.signal;
    } catch (const std::system_error &e) {
        // Of fmt::print(), which calls it a file.
        if (std::ferror(stdout)) {
            output_error = e.code().value();
        } else {
            print_error(e.what());
        }
        return kFailed;
    } catch (const std::exception &e) {
        print_error(e.what());
        return kFailed;
    }
}

// What is still in the buffer may find the disk full, or have found it so before.
int flushed(int code) {
    if (std::fflush(stdout) != 0 && output_error == 0) {
        output_error = errno;
    }
    if (output_error == EPIPE) {  // whoever reads it has enough
        std::signal(SIGPIPE, SIG_DFL);
        std::raise(SIGPIPE);
    }
    if (output_error != 0 || std::ferror(stdout)) {
        print_error(fmt::format("standard output: error: cannot be written{}{}", output_error ? ": " : "",
                                output_error ? std::strerror(output_error) : ""));
        return code == 0 ? kFailed : code;
    }
    return code;
}

}  // namespace

int main(int argc, char **argv) {
    catch_signals();
    guard_terminal();
    CLI::App app("Kernels ahead of time: Halide algorithms, Lua schedules, static libraries.", "halyard");
    app.set_version_flag("--version", version_text(), "Print the version");
    app.set_help_flag("-h,--help", "Print this help");
    app.formatter(help_formatter());
    add_list(app);
    add_build(app);
    add_compile(app);
    add_library(app);
    add_show(app);
    add_check(app);
    add_bench(app);
    add_explain(app);
    add_explore(app);
    add_measure(app);
    add_db(app);
    add_candidate(app);
    add_worker(app);
    add_finish(app);
    add_doctor(app);
    add_version(app);
    add_completion(app);
    add_man(app);
    // Behind the subcommands, which would have it too.
    app.footer("\nExamples:\n"
               "  halyard list                          the ops; of a named one, its schedules\n"
               "  halyard build rms_norm -o out         out/rms_norm.a and out/rms_norm.h\n"
               "  halyard compile model.onnx -o out     a whole model as one library\n"
               "  halyard show rms_norm                 each Lua line beside the loops it made\n"
               "  halyard bench rms_norm --all-schedules\n"
               "  halyard explain rms_norm              bytes, flops, time: why fusing pays\n"
               "  halyard explore rms_norm --budget 2m  the fastest schedule, as Lua\n"
               "  halyard doctor                        what is installed, what is missing\n"
               "  halyard completion bash               what makes the tab key complete all of this");
    if (argc > 1 && std::string(argv[1]) == kComplete) {  // not a subcommand: no word behind it is an option of ours
        return flushed(answer(completions(app, {argv + 2, argv + argc})));
    }
    return flushed(run(app, argc, argv));
}
