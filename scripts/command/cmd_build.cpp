// halyard build: an op and a schedule become a static library and a header.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "command/build_record.h"
#include "command/commands.h"
#include "kernel/failure.h"
#include "language/diagnostics.h"
#include "command/option_table.h"
#include "command/naive_check.h"
#include "command/options.h"
#include "kernel/own_op.h"
#include "explore/store/pick.h"
#include "kernel/place.h"
#include "kernel/process.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard {

namespace {

struct BuildOptions : CommonOptions {
    std::string op, schedule, name, directory = ".", emit = "static_library,c_header", depfile, shape, gpu, constant;
    int threads = 0;
    bool quiet = false, no_db = false, json = false, no_lint = false;
};

// What is built for one size takes the best schedule known for it; what is built for all takes the one that ships, so
// that the same command gives the same library everywhere.
explore::Pick choose(const BuildOptions &o, const GenerateRequest &request) {
    explore::Pick shipped;
    shipped.request = request;
    if (!o.gpu.empty() && (o.target.empty() || !is_cuda(o.target))) {
        throw UsageError("--gpu is for CUDA; add --target cuda-sm_90a");
    }
    o.check_database({o.schedule}, !o.shape.empty());
    if (o.shape.empty()) {
        if (o.threads > 0) {
            throw UsageError("--threads says which schedule of the database is meant, and needs --shape");
        }
        return shipped;
    }
    if (request.generator.empty()) {
        check_shape(find_op(request.op), parse_shape(o.shape));
    }
    const Dims given = request.generator.empty() ? parse_shape(o.shape) : parse_own_shape(o.shape);
    if (o.no_db || !o.schedule.empty()) {
        return shipped;
    }
    // A search has the sizes of all arrays.
    const Dims shape = request.generator.empty() ? given : NaiveSchedule(request, request.params).whole_sizes(given);
    return explore::pick(o.database(), request, shape, o.threads, o.gpu);
}

// A generation that failed; the report of the plugin may have its place.
class BuildFailure : public Failure {
public:
    explicit BuildFailure(const Generated &generated) : Failure(generated.error), report(generated.report) {}
    nlohmann::json report;
};

void print_json(const nlohmann::json &record) {
    fmt::print("{}\n", record.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void build(const BuildOptions &o) {
    const auto start = std::chrono::steady_clock::now();
    const Dims size = o.shape.empty() ? Dims() : o.generator.empty() ? parse_shape(o.shape) : parse_own_shape(o.shape);
    GenerateRequest request = o.request(o.op, o.schedule, o.shape.empty() ? nullptr : &size);
    request.function = o.name;
    request.emit = split(o.emit, ',');
    request.lint = !o.no_lint;
    request.constant = split(o.constant, ',');
    // Of a generator of one's own the sizes are those of its arrays, of which lint knows nothing.
    request.lint_shape = o.shape.empty() || !request.generator.empty() ? Dims() : parse_shape(o.shape);
    const explore::Pick picked = choose(o, request);
    std::vector<std::string> notes;
    const auto note = [&](const std::string &text) {
        notes.push_back(text);
        if (!o.json) {
            fmt::print(stderr, "{}\n", text);
        }
    };
    if (!picked.why.empty()) {
        note(fmt::format("{}: {}", request.op, picked.why));
    }
    Plan plan = make_plan(picked.request);

    std::optional<Progress> progress;
    progress.emplace().say(fmt::format("building {} for {} target(s)", plan.op, plan.targets.size()));
    auto work = std::make_unique<TemporaryDirectory>(o.directory);
    check_outputs({o.depfile});
    Generated result = generate(plan, work->path());
    if (!result.ok && picked.found) {
        // A record may hold anything; it costs no more than its time.
        progress.emplace();
        note(fmt::format("{}: the shipped schedule, as {} does not build: {}", request.op, picked.schedule, result.error));
        plan = make_plan(request);
        work = std::make_unique<TemporaryDirectory>(o.directory);
        result = generate(plan, work->path());
    }
    if (!result.ok) {
        throw BuildFailure(result);
    }
    check_signals();
    const auto files = place_files(work->path(), plan.function, o.directory, o.depfile, plan.inputs);
    progress.reset();
    for (const auto &text : split(result.notes, '\n')) {
        note(text);
    }
    if (o.json) {
        notes.insert(notes.end(), result.slow.begin(), result.slow.end());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        print_json(build_record(plan, result, files, notes, seconds.count()));
        return;
    }
    print_notes(result.slow);
    for (const auto &file : o.quiet ? std::vector<std::string>() : files) {
        fmt::print("{}\n", std::filesystem::path(file).lexically_normal().string());
    }
}

// With --json what went wrong is a record too.
void run_build(const BuildOptions &o) {
    try {
        build(o);
    } catch (const ScriptError &e) {
        if (!o.json) {
            throw;
        }
        const Diagnostic &d = e.diagnostic;
        print_json(build_failure(
            o.op, d.text(),
            {{"error",
              {{"file", d.file}, {"line", d.line}, {"word", d.word}, {"message", d.message}, {"hint", d.hint}, {"text", d.text()}}}}));
        throw ExitCode{1};
    } catch (const BuildFailure &e) {
        if (!o.json) {
            throw;
        }
        print_json(build_failure(o.op, e.what(), e.report));
        throw ExitCode{1};
    } catch (const Failure &e) {
        if (!o.json) {
            throw;
        }
        print_json(build_failure(o.op, e.what()));
        throw ExitCode{1};
    } catch (const UsageError &e) {
        if (!o.json) {
            throw;
        }
        print_json(build_failure(o.op, e.what()));
        throw ExitCode{2};
    }
}

}  // namespace

void add_build(CLI::App &app) {
    auto o = std::make_shared<BuildOptions>();
    CLI::App *cmd = app.add_subcommand("build", "Compile an op with a schedule into a static library and a C header");
    cmd->add_option("op", o->op, "The op, as `halyard list` names it")->required()->type_name("OP");
    cmd->add_option("--schedule", o->schedule, "A Lua file, or the name of one that ships (unfused); none takes the generator's own")
        ->type_name("FILE|NAME");
    o->add(*cmd,
           fmt::format("Instruction sets, with commas: {}, host, or Halide's strings [{}]", join(level_names(), ", "), kDefaultTargets));
    cmd->add_option("--name", o->name, "Name of the C function and of the files [OP]")->type_name("FUNCTION");
    add_output(*cmd, "-o,--output", o->directory, "Where the files go")->type_name("DIR")->capture_default_str();
    cmd->add_option("--emit", o->emit, "What to write, with commas; also stmt, conceptual_stmt, assembly, object, ...")
        ->type_name("OUTPUTS")
        ->capture_default_str();
    cmd->add_option("--shape", o->shape,
                    "Build for this size: the best schedule of the database for it, as rows=64,cols=4096; "
                    "without, one for all sizes")
        ->type_name("DIMS");
    cmd->add_option("--threads", o->threads, "With --shape: of those found for so many threads [all processors first]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
    cmd->add_option("--gpu", o->gpu,
                    "With --shape, for CUDA: the device whose measurements count: how its name begins [this "
                    "machine's, else the last imported]")
        ->type_name("NAME");
    cmd->add_flag("--no-db", o->no_db, "Do not look into the database: the schedule that ships");
    cmd->add_flag("--json", o->json, "What was built as an object on standard output, or the error");
    add_no_lint(*cmd, o->no_lint);
    cmd->add_flag("-q,--quiet", o->quiet, "Do not print the names of the files written");
    add_output(*cmd, "--depfile", o->depfile, "Write a make rule: the files depend on script, generator and plugin");
    needs(*cmd, "--gpu", "--shape");
    leaves_out(*cmd, "--schedule", {"--threads", "--gpu"});
    leaves_out(*cmd, "--no-db", {"--threads", "--gpu", "--db"});
    cmd->add_option("--constant", o->constant,
                    "With --target cuda: inputs, with commas, that no kernel writes which may still run when the library is called, as "
                    "weights: they are read before it waits for that one")
        ->type_name("INPUTS");
    put_in_group(*cmd, group::kOp, {"--name"});
    put_in_group(*cmd, group::kTarget, {"--constant"});
    put_in_group(*cmd, group::kSchedule, {"--schedule"});
    put_in_group(*cmd, group::kDatabase, {"--shape", "--threads", "--gpu", "--no-db"});
    put_in_group(*cmd, group::kOutput, {"--output", "--emit", "--depfile", "--json", "--quiet", "--no-lint"});
    cmd->footer("\nPrints the files that it wrote. A failed or interrupted build leaves what was there before.\n"
                "With --shape it says on standard error which schedule it took, and why.\n"
                "\n--json: ok, op, function, files, targets, devices, params, set, facts, arguments, schedule, generator, notes,\n"
                "seconds; or ok and error, which has text, and file, line, word, message and hint where a script is wrong. A\n"
                "command line that cannot be read is text on standard error, as ever.\n"
                "\nExamples:\n"
                "  halyard build rms_norm -o out\n"
                "  halyard build rms_norm --schedule my.lua --set rows=16 --param type=float16 --name rms_norm_f16\n"
                "  halyard build rms_norm --target host --emit stmt,assembly\n"
                "  halyard build rms_norm --json | jq -r '.files[]'\n"
                "  halyard build rms_norm --target host --shape rows=64,cols=4096\n"
                "  halyard build blur --generator ./my.generator --schedule blur.lua");
    cmd->callback([o] { run_build(*o); });
}

}  // namespace halyard
