// halyard compile: an ONNX model becomes one static library, its header, its weights and its groups as Lua.

#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "command/commands.h"
#include "command/model_request.h"
#include "command/option_table.h"
#include "command/options.h"
#include "kernel/failure.h"
#include "kernel/place.h"
#include "kernel/process.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "models/build_model.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

struct CompileOptions {
    std::string model, directory = ".", schedule, name, target = "host", type, devices, depfile;
    std::vector<std::string> dims;
    double timeout = 300;
    bool quiet = false, json = false, shared = false;
};

void compile(const CompileOptions &o) {
    ModelRequest request;
    request.model = o.model;
    request.name = model_name(o.name, o.model);
    request.schedule = o.schedule;
    request.target = o.target;
    request.type = o.type;
    request.timeout = o.timeout;
    for (const auto &d : o.dims) {
        add_dim(d, request);
    }
    resolve_targets(o.target);
    if (!o.devices.empty() && !is_cuda(o.target)) {
        throw UsageError("--devices is for CUDA; add --target cuda");
    }
    devices_to_build(o.target, o.devices);
    request.devices = o.devices;
    request.shared = o.shared;
    check_outputs({o.depfile});

    std::optional<Progress> progress;
    progress.emplace();
    const TemporaryDirectory work(o.directory);
    const BuiltModel built = build_model(request, work.path(), [&](const std::string &text) { progress->say(text); });
    check_signals();
    const auto files = place_model(work.path(), request.name, o.directory, o.depfile, built.inputs);
    progress.reset();
    if (o.json) {
        nlohmann::json record = built.report;
        record["ok"] = true;
        record["files"] = files;
        record["built"] = built.built;
        record["cached"] = built.cached;
        fmt::print("{}\n", record.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
        return;
    }
    if (o.quiet) {
        return;
    }
    for (const auto &file : files) {
        fmt::print("{}\n", fs::path(file).lexically_normal().string());
    }
    fmt::print(stderr, "{} groups: {} calls of {} kernels, {} of them built now\n", built.report.at("groups").size(),
               built.report.value("calls", 0), built.report.value("kernels", 0), built.built);
}

}  // namespace

void add_compile(CLI::App &app) {
    auto o = std::make_shared<CompileOptions>();
    CLI::App *cmd = app.add_subcommand("compile", "Compile an ONNX model into one library, its weights and its groups as Lua");
    cmd->add_option("model", o->model, "An ONNX file")->required()->type_name("MODEL.onnx");
    cmd->add_option("--schedule", o->schedule, "A NAME.lua that was written by this command, and edited: what is computed together")
        ->type_name("FILE");
    cmd->add_option("--target", o->target, "An instruction set, or several with commas, as of `halyard build`")
        ->type_name("TARGETS")
        ->capture_default_str();
    cmd->add_option("--type", o->type,
                    "Of weights and of what groups store for each other: bfloat16 or float16; sums stay f32 [the model's]")
        ->type_name("TYPE")
        ->check(CLI::IsMember({"float32", "bfloat16", "float16"}));
    cmd->add_option("--devices", o->devices, "With --target cuda: architectures, with commas, as of `halyard build`")->type_name("DEVICES");
    add_repeated(*cmd, "--dim", o->dims, "A free dimension of the model: its size, or the range that calls may have, as batch=1..64")
        ->type_name("NAME=SIZES");
    cmd->add_option("--name", o->name, "Name of the C functions and of the files [that of the model]")->type_name("NAME");
    add_output(*cmd, "-o,--output", o->directory, "Where the files go")->type_name("DIR")->capture_default_str();
    cmd->add_option("--timeout", o->timeout, "Seconds for the reading, and for each kernel")
        ->type_name("SECONDS")
        ->check(positive_seconds())
        ->capture_default_str();
    cmd->add_flag("--shared", o->shared, "Write NAME.so, too, over the shared runtime: for programs that load it while they run");
    cmd->add_flag("--json", o->json, "What was built as an object on standard output");
    cmd->add_flag("-q,--quiet", o->quiet, "Do not print the names of the files written");
    add_output(*cmd, "--depfile", o->depfile, "Write a make rule: the files depend on the model, the schedule, generators and plugin");
    put_in_group(*cmd, group::kOp, {"--name", "--dim", "--type"});
    put_in_group(*cmd, group::kSchedule, {"--schedule"});
    put_in_group(*cmd, group::kTarget, {"--target", "--devices"});
    put_in_group(*cmd, group::kOutput, {"--output", "--shared", "--json", "--quiet", "--depfile"});
    put_in_group(*cmd, group::kLimits, {"--timeout"});
    cmd->footer("\nWrites libNAME.a, NAME.h (load, measure, run), NAME.weights, NAME.lua (which nodes are computed together: edit it and\n"
                "give it back with --schedule) and NAME.json, a report. A failed or interrupted run leaves what was there before.\n"
                "Reading needs a Python with the onnx package, which scripts/setup installs; HALYARD_PYTHON names another.\n"
                "\nExamples:\n"
                "  halyard compile model.onnx -o out\n"
                "  halyard compile model.onnx -o out --dim batch=1..64 --dim tokens=128\n"
                "  halyard compile model.onnx -o out --schedule out/model.lua\n"
                "  halyard compile model.onnx --target avx512,avx2 --name encoder --json");
    cmd->callback([o] { compile(*o); });
}

}  // namespace halyard
