// halyard library: an op and a schedule become a shared object in the cache, for programs that load it.

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "command/commands.h"
#include "command/option_table.h"
#include "command/options.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/library.h"
#include "kernel/registry.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct LibraryOptions : CommonOptions {
    std::string op, schedule, shape;
    bool json = false;
};

void library(const LibraryOptions &o) {
    o.check_database({o.schedule});
    if (!o.shape.empty() && o.schedule != "best") {
        throw UsageError("--shape says for which size --schedule best is meant; a library is for all sizes");
    }
    std::optional<Dims> shape;
    if (!o.shape.empty()) {
        shape = parse_shape(o.shape);
    }
    GenerateRequest request = o.request(o.op, o.schedule, shape ? &*shape : nullptr);
    request.emit = {"static_library"};
    if (request.target.empty()) {
        request.target = "host";
    }
    const auto missing = is_cuda(request.target) ? std::vector<std::string>() : features_missing(request.target, cpu().level);
    if (!missing.empty()) {
        throw UsageError(fmt::format("this processor cannot run what is built for {}: it has no {}; name a --target that it can run",
                                     request.target, join(missing, ", ")));
    }
    std::optional<Progress> progress;
    progress.emplace().say(fmt::format("building {}", request.op));
    const nlohmann::json record = cached_library(make_plan(request));
    progress.reset();
    fmt::print("{}\n", o.json ? record.dump(1) : record.at("path").get<std::string>());
}

}  // namespace

void add_library(CLI::App &app) {
    auto o = std::make_shared<LibraryOptions>();
    CLI::App *cmd = app.add_subcommand("library", "Build an op into the cache as a shared object, for programs that load it");
    cmd->add_option("op", o->op, "The op, as `halyard list` names it")->required()->type_name("OP");
    cmd->add_option("--schedule", o->schedule,
                    "A Lua file, the name of one that ships (unfused), or best: the best that the database knows for --shape")
        ->type_name("FILE|NAME");
    cmd->add_option("--shape", o->shape, "With --schedule best: the size, as rows=64,cols=4096")->type_name("DIMS");
    o->add(*cmd, "The instruction set [host]");
    cmd->add_flag("--json", o->json, "A record on standard output: its path, function, parameters and arguments");
    put_in_group(*cmd, group::kSchedule, {"--schedule"});
    put_in_group(*cmd, group::kDatabase, {"--shape"});
    put_in_group(*cmd, group::kOutput, {"--json"});
    cmd->footer("\nPrints the path. What was built before is found by the hash of all that it was made of. The shared object needs\n"
                "libhalyard_runtime.so.0, of which all libraries of a program share one.\n"
                "\nExamples:\n"
                "  halyard library rms_norm --param type=bfloat16\n"
                "  halyard library softmax --target cuda --devices sm_90a --json");
    cmd->callback([o] { library(*o); });
}

}  // namespace halyard
