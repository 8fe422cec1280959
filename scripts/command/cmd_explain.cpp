// halyard explain: what a schedule moves and computes, where, and why that is fast or slow.

#include <functional>
#include <memory>

#include <fmt/format.h>

#include "command/commands.h"
#include "explain/explain_device_html.h"
#include "explain/explain_device_table.h"
#include "explain/explain_html.h"
#include "explain/explain_run.h"
#include "explain/explain_table.h"
#include "command/explore_compare.h"
#include "command/explore_device.h"
#include "kernel/failure.h"
#include "command/option_table.h"
#include "command/naive_check.h"
#include "command/options.h"
#include "kernel/own_op.h"
#include "kernel/place.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"
#include "kernel/workload.h"
#include "models/explain_model.h"

namespace halyard {

namespace {

constexpr double kSeconds = 0.3;

struct ExplainOptions : CommonOptions {
    std::string op, shape, html, gpu;
    std::vector<std::string> schedules;
    int threads = 1;
    double seconds = kSeconds;
    bool json = false, cold = false, again = false, predict_only = false, count = false;
};

bool for_cuda(const ExplainOptions &o) {
    return !o.target.empty() && is_cuda(o.target);
}

// Fused against unfused is what the question is about, where both ship.
std::vector<std::string> schedules_for(const ExplainOptions &o) {
    if (!o.schedules.empty()) {
        return o.schedules;
    }
    std::vector<std::string> names = {""};
    for (const auto &s : schedules_of(o.op)) {
        if (s.name == o.op + ".unfused" && s.place == (for_cuda(o) ? "cuda" : "cpu")) {
            names.push_back("unfused");
        }
    }
    return names;
}

// As a page, as JSON or as a table.
void show(const ExplainOptions &o, const std::function<std::string()> &page, const std::function<nlohmann::json()> &json,
          const std::function<void()> &print) {
    if (!o.html.empty()) {
        write_output(o.html, page());
    }
    if (o.json && !o.html.empty()) {
        fmt::print(stderr, "{}\n", o.html);
    }
    if (o.json) {
        fmt::print("{}\n", json().dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else if (o.html.empty()) {
        print();
    } else {
        fmt::print("{}\n", o.html);
    }
}

void check_own_schedules(const ExplainOptions &o) {
    if (o.schedules.empty()) {
        throw UsageError("explain needs a schedule for a generator of your own: name a Lua file with --schedule");
    }
}

// For CUDA: the first against the others, on the device here, or one that is known.
void explain_cuda(const ExplainOptions &o) {
    if (o.cold || o.again || o.count || o.threads != 1 || o.seconds != kSeconds || !o.facts.empty()) {
        throw UsageError("--cold, --count, --fact, --measure-again, --seconds and --threads are for the host");
    }
    explore::Task task;
    task.limits.build_seconds = o.timeout;
    task.op = o.op;
    task.generator = o.generator;
    task.params = parse_options(o.params, "--param");
    if (o.generator.empty()) {
        const Op &op = find_op(o.op);
        task.shape = o.shape.empty() ? op.shapes.front() : parse_shape(o.shape);
        check_shape(op, task.shape);
    } else {
        check_own_schedules(o);
        task.shape = NaiveSchedule(o.request(o.op, ""), task.params).whole_sizes(o.shape.empty() ? Dims() : parse_own_shape(o.shape));
    }
    task.target = o.target;
    const auto schedules = schedules_for(o);
    auto contenders = contenders_of(o, task, schedules);
    for (size_t i = 0; i < contenders.size(); i++) {
        GenerateRequest request = o.request(o.op, schedules[i], &task.shape);
        if (i > 0 && o.schedules.empty()) {  // values are for the parameters of the first
            request.set.clear();
            contenders[i].candidate.set.clear();
        }
        make_plan(request);  // what is wrong with it is said before the device is measured
    }
    explore::OnDevice device = compared_device(o, o.gpu, task);
    device.measure = device.measure && !o.predict_only;
    device.known = o.predict_only ? nullptr : device.known;
    Progress progress;
    std::vector<Explained> all;
    for (auto &a : alternatives_on_device(task, contenders, device, [&](const std::string &what) { progress.say(what); })) {
        if (a.failed()) {
            throw Failure(fmt::format("{}: error: {}: {}", a.name, status_name(a.measured.status), a.measured.message));
        }
        all.push_back(std::move(*a.explained));
    }
    progress.say("");
    show(
        o, [&] { return explanation_html(all, device.gpu); }, [&] { return explanation_json(all, device.gpu); },
        [&] { print_explanation(all, device.gpu); });
}

// An op of the user's generator, at one size, after all its schedules were found to compute what the naive one does.
Op checked_own_op(const ExplainOptions &o, Progress &progress) {
    const Dims shape = o.shape.empty() ? Dims() : parse_own_shape(o.shape);
    check_own_schedules(o);
    std::vector<CompiledKernel> kernels;
    for (const auto &schedule : o.schedules) {
        progress.say(fmt::format("{}: building {}", o.op, schedule));
        kernels.push_back(CompiledKernel::build(o.request(o.op, schedule, &shape)));
    }
    Op op = own_op(o.op, kernels.front(), shape);
    if (!o.count) {
        progress.say(fmt::format("{}: checking against the naive schedule", o.op));
        NaiveSchedule naive(o.request(o.op, o.schedules.front(), &shape), kernels.front().params());
        for (const auto &kernel : kernels) {
            naive.check(kernel, kernel.script(), shape);
        }
    }
    return op;
}

// The report of halyard compile: a model, not an op.
bool is_report(const std::string &op) {
    return op.size() > 5 && op.compare(op.size() - 5, 5, ".json") == 0;
}

void explain_compiled(const ExplainOptions &o) {
    if (!o.schedules.empty() || !o.gpu.empty() || !o.target.empty() || !o.generator.empty() || !o.params.empty() || !o.set.empty() ||
        !o.facts.empty() || !o.devices.empty() || o.cold || o.count) {
        throw UsageError(
            "a model that is compiled has its schedule and its target; explain takes --shape, --threads, --seconds, --predict, --html and "
            "--json for it");
    }
    ExplainModelRequest request;
    request.report = o.op;
    request.threads = o.threads;
    request.seconds = o.seconds;
    request.measure = !o.predict_only;
    if (!o.shape.empty()) {
        for (const auto &[name, size] : parse_shape(o.shape)) {
            request.dims[name] = size;
        }
    }
    Progress progress;
    const Machine machine = measured_machine(o.threads, o.again);
    const ExplainedModel model = explain_model(request, machine, [&](const std::string &what) { progress.say(what); });
    progress.say("");
    show(
        o, [&] { return model_html(model); }, [&] { return model_json(model); }, [&] { print_model(model); });
}

void explain(const ExplainOptions &o) {
    check_outputs({o.html});
    if (o.threads < 1 || o.threads > 1024) {
        throw UsageError(fmt::format("--threads {} is not a number of threads", o.threads));
    }
    o.check_database(o.schedules, !is_report(o.op) && for_cuda(o));
    if (is_report(o.op)) {
        explain_compiled(o);
        return;
    }
    if (for_cuda(o)) {
        explain_cuda(o);
        return;
    }
    if (!o.gpu.empty()) {
        throw UsageError("--gpu is for CUDA; add --target cuda-sm_90a");
    }
    Progress progress;
    const Op op = o.generator.empty() ? find_op(o.op) : checked_own_op(o, progress);
    ExplainRequest request;
    request.shape = o.shape.empty() || op.is_own() ? op.shapes.front() : parse_shape(o.shape);
    check_shape(op, request.shape);
    request.threads = o.threads;
    request.seconds = o.seconds;
    request.again = o.again;
    request.measure = !o.predict_only;
    for (const auto &schedule : schedules_for(o)) {
        GenerateRequest g = o.request(o.op, schedule, &request.shape);
        if (split(g.target, ',').size() > 1) {
            throw UsageError("explain takes one target");
        }
        // A value for a parameter that only one of the schedules has goes to that one.
        if (o.schedules.empty() && schedule == "unfused") {
            g.set.clear();
        }
        request.schedules.push_back(g);
    }
    const auto all =
        o.count ? count_schedules(op, request) : explain_schedules(op, request, [&](const std::string &what) { progress.say(what); });
    progress.say("");
    const Machine machine = measured_machine(o.threads, false);
    show(
        o, [&] { return explanation_html(all, machine); }, [&] { return explanation_json(all, machine); },
        [&] { print_explanation(all, machine, o.cold); });
}

}  // namespace

void add_explain(CLI::App &app) {
    auto o = std::make_shared<ExplainOptions>();
    CLI::App *cmd = app.add_subcommand("explain", "Where bytes and time go, and why fusing pays or does not");
    cmd->add_option("op", o->op, "The op, as `halyard list` names it, or NAME.json, which `halyard compile` wrote")
        ->required()
        ->type_name("OP|NAME.json");
    add_repeated(*cmd, "--schedule", o->schedules,
                 "A Lua file or the name of one that ships; the first is compared with the others [the shipped one, unfused]")
        ->type_name("FILE|NAME");
    cmd->add_option("--shape", o->shape,
                    "A size, as rows=64,cols=4096, or of the arrays of your --generator, as x=4096x64,y=4096x64 [the registry's first, or "
                    "what it estimates]")
        ->type_name("DIMS");
    cmd->add_option("--threads", o->threads, "Number of threads")->type_name("N")->capture_default_str();
    cmd->add_option("--seconds", o->seconds, "Time to measure each kernel, about")
        ->type_name("SEC")
        ->check(positive_seconds())
        ->capture_default_str();
    cmd->add_flag("--cold", o->cold, "The table for data that comes from memory, instead of the cache");
    cmd->add_flag("--predict", o->predict_only, "Do not run the kernels");
    cmd->add_flag("--count", o->count, "Only what is counted: compile nothing, and ask no llvm-mca for cycles");
    cmd->add_flag("--measure-again", o->again, "Measure the machine's bandwidths, also if they are in the cache");
    cmd->add_option("--gpu", o->gpu,
                    "For CUDA: the device that is meant, as H200 [the one here, else the one that was measured "
                    "last, else one of the architecture]")
        ->type_name("NAME");
    cmd->add_flag("--json", o->json, "Everything, on standard output");
    add_output(*cmd, "--html", o->html, "Write a page with the roofline and the loop nest");
    o->add(*cmd, "The instruction set [host]");
    leaves_out(*cmd, "--count", {"--cold", "--predict", "--seconds", "--measure-again"});
    leaves_out(*cmd, "--predict", {"--seconds"});
    leaves_out(*cmd, "--cold", {"--json", "--html"});
    put_in_group(*cmd, group::kSchedule, {"--schedule"});
    put_in_group(*cmd, group::kTarget, {"--gpu"});
    put_in_group(*cmd, group::kMeasurement, {"--shape", "--threads", "--seconds", "--cold", "--predict", "--count", "--measure-again"});
    put_in_group(*cmd, group::kOutput, {"--json", "--html"});
    cmd->footer("\nr/w is what a stage reads from a level and writes to it. A stage takes as long as the slowest of its\n"
                "instructions (llvm-mca on its loops) and its bytes over each level's measured bandwidth.\n"
                "docs/guide/explain.md says how it is computed and where it is off.\n"
                "\nExamples:\n"
                "  halyard explain softmax\n"
                "  halyard explain attention --shape d=64,queries=1024,keys=1024,heads=8,key_heads=8,batch=1\n"
                "  halyard explain gemm --schedule gemm --schedule my.lua --param add_bias=true --cold\n"
                "  halyard explain layer_norm --html layer_norm.html\n"
                "  halyard explain rms_norm --target cuda-sm_90a --param type=bfloat16 --shape rows=16384,cols=4096\n"
                "  halyard explain out/model.json --shape batch=4,tokens=16 --threads 2 --html model.html\n"
                "  halyard explain blur --generator ./my.generator --schedule blur.lua --shape y=4096x64");
    cmd->callback([o] { explain(*o); });
}

}  // namespace halyard
