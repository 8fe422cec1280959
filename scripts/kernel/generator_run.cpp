#include "kernel/generator_run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "kernel/confine.h"
#include "kernel/failure.h"
#include "kernel/param_value.h"
#include "kernel/paths.h"
#include "kernel/program_files.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

const char *const kRequest = ".request.json";  // in the folder of a run

// A last look, so that no later change lets a text become an option or another setting: this is a fault of ours.
void assert_harmless(const std::string &name, const std::string &value) {
    const size_t dot = name.find('.');
    if (!is_param_name(name.substr(0, dot)) || (dot != std::string::npos && !is_param_name(name.substr(dot + 1))) || !is_harmless(value)) {
        throw Failure(fmt::format("internal error: \"{}\" was about to become a word of a generator's command line", name));
    }
}

bool is_plain(const std::string &word) {
    return !word.empty() && word[0] != '-' && is_harmless(word);
}

// What is not a path: names that we made or checked before.
void assert_plain(const std::string &word) {
    if (!is_plain(word)) {
        throw Failure(fmt::format("internal error: \"{}\" was about to become a word of a generator's command line", word));
    }
}

// NVRTC and the packer of what it makes, as the plugin finds them (nvidia.cpp).
std::vector<std::string> cuda_compilers() {
    std::vector<std::string> libraries = {HALYARD_NVRTC, HALYARD_NVFATBIN};
    for (const char *variable : {"HALYARD_NVRTC", "HALYARD_NVFATBIN"}) {
        if (const char *given = std::getenv(variable)) {
            libraries.emplace_back(given);
        }
    }
    return libraries;
}

bool is_emulated(const GeneratorRun &run) {
    return run.request.is_object() && run.request.value("devices", "").find("emulator") != std::string::npos;
}

// What a compile needs to read: libraries, and the Lua files that a script may require. It writes its own folder.
Confinement confinement(const GeneratorRun &run) {
    const bool plugin = !run.request.is_null();
    Confinement c = confinement_of(run.executable, plugin ? std::vector<std::string>{paths().plugin} : std::vector<std::string>{});
    c.writes = {run.directory};
    if (!plugin) {
        return c;
    }
    // They bring libraries of their own, beside them.
    for (const std::string &library : cuda_compilers()) {
        for (const auto &file : libraries_in(fs::path(library).parent_path().string())) {
            c.reads.push_back(file);
        }
    }
    c.starts_programs = c.starts_programs || is_emulated(run);
    const auto files = files_of_script(run.request.value("script", ""), run.request.value("lib", std::vector<std::string>()));
    c.reads.insert(c.reads.end(), files.begin(), files.end());
    return c;
}

// For LLVM. What a CUDA library does on the host is to choose a version and to start its kernels: one long function, for which passes that
// look at pairs of its blocks took minutes, and gain nothing.
// For the emulator it runs a few times, and its machine code is made the quick way (quick_host_code.c): without any pass that may be
// left out, as of machine instructions, where one that looks for equal ones takes a quarter of a minute of what no pass made simpler.
std::string for_llvm(bool emulated) {
    const char *given = std::getenv("HL_LLVM_ARGS");
    return std::string("HL_LLVM_ARGS=-enable-misched=false -tail-merge-threshold=8 -large-interval-size-threshold=10 "
                       "-large-interval-freq-threshold=4") +
           (emulated ? " -fast-isel -disable-cgp -regalloc=fast -optimize-regalloc=0 -opt-bisect-limit=0 -opt-bisect-verbose=0" : "") +
           (given ? std::string(" ") + given : "");
}

std::string default_blame(const std::string &name, const std::string &value) {
    return fmt::format("--param {}={}", name, value);
}

}  // namespace

ProcessResult run_generator(const GeneratorRun &run) {
    if (!is_plain(run.generator)) {
        throw UsageError(fmt::format("\"{}\" is not the name of a generator", run.generator));
    }
    for (const auto &words : {std::vector<std::string>{run.function}, run.emit, run.targets}) {
        for (const auto &word : words) {
            assert_plain(word);
        }
    }
    check_params(run.executable, run.generator, run.params, run.blame ? run.blame : default_blame);

    // The folder may have any name, but Halide's main takes one = an argument, and LLVM's writer of archives puts a digit where a path has %.
    std::vector<std::string> command = {run.executable, "-g", run.generator, "-f", run.function,       "-n",
                                        run.function,   "-o", kOwnFolder,    "-e", join(run.emit, ",")};
    if (!run.request.is_null()) {
        command.insert(command.end(), {"-p", require_piece(paths().plugin, "the Halide plugin")});
    }
    command.push_back("target=" + join(run.targets, ","));
    const fs::path request = fs::path(run.directory) / kRequest;
    for (const auto &p : run.params) {
        assert_harmless(p.first, p.second);
        command.push_back(p.first + "=" + p.second);
    }
    if (!run.request.is_null()) {
        write_file(request.string(), run.request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        command.insert(command.end(), {"autoscheduler=Lua", fmt::format("autoscheduler.request={}/{}", kOwnFolder, kRequest)});
    }
    ProcessOptions options = run.options;
    options.folder = run.directory;
    if (std::any_of(run.targets.begin(), run.targets.end(), is_cuda)) {
        options.environment.push_back(for_llvm(is_emulated(run)));
    }
    const ProcessResult result = run_confined(command, options, confinement(run));
    if (!run.request.is_null()) {
        std::error_code ignored;
        fs::remove(request, ignored);
    }
    return result;
}

}  // namespace halyard
