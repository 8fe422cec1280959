// halyard bench: schedules of an op against each other and against the machine.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command/bench_table.h"
#include "command/naive_check.h"
#include "command/commands.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/heads.h"
#include "kernel/measure.h"
#include "command/option_table.h"
#include "kernel/own_op.h"
#include "command/options.h"
#include "kernel/paths.h"
#include "explain/peak.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard {

namespace {

struct BenchOptions : CommonOptions {
    std::vector<std::string> ops, schedules, shapes;
    std::string threads;
    bool all_schedules = false, json = false, again = false;
    double seconds = 0.5;
};

std::vector<int> thread_counts(const BenchOptions &o) {
    std::vector<int> counts;
    for (const auto &item : split(o.threads, ',')) {
        if (item.size() > 4 || item.find_first_not_of("0123456789") != std::string::npos || std::stoi(item) == 0) {
            throw UsageError(fmt::format("--threads \"{}\" is not a list of counts, as 1,2", o.threads));
        }
        counts.push_back(std::stoi(item));
    }
    return counts.empty() ? std::vector<int>{cpu().processors} : counts;
}

std::vector<Dims> shapes_of(const BenchOptions &o, const Op &op) {
    std::vector<Dims> shapes;
    for (const auto &text : o.shapes) {
        for (const auto &one : split(text, ';')) {
            shapes.push_back(parse_shape(one));
            check_shape(op, shapes.back());
        }
    }
    return shapes.empty() ? op.shapes : shapes;
}

// With --all-schedules, those that the target can run.
std::vector<std::string> schedules_for(const BenchOptions &o, const Op &op) {
    if (!o.all_schedules) {
        return o.schedules.empty() ? std::vector<std::string>{""} : o.schedules;
    }
    if (!o.generator.empty()) {
        throw UsageError("--all-schedules are those that ship, and for a generator of your own none does; name yours with --schedule");
    }
    const auto features = target_features(resolve_targets(o.target.empty() ? "host" : o.target).front());
    std::vector<std::string> scripts = o.schedules;
    for (const auto &s : schedules_of(op.name)) {
        if (s.place != (features.count("cuda") ? "cuda" : "cpu")) {
            continue;
        }
        ScriptOptions options;
        options.lib_dirs = {paths().schedules};
        bool runs = true;
        for (const auto &feature : read_head(s.path, options, o.timeout).requires_features) {
            runs = runs && features.count(feature) > 0;
        }
        if (runs) {
            scripts.push_back(s.path);
        } else {
            fmt::print(stderr, "{}: left out, the target lacks what it requires\n", s.name);
        }
    }
    if (scripts.empty()) {
        throw Failure(fmt::format("{} has no schedule in {}", op.name, paths().schedules));
    }
    return scripts;
}

// Together the sets are twice the last level of cache, so that the next one is never in it.
std::vector<KernelArguments> make_sets(const Op &op, const CompiledKernel &kernel, const Dims &dims) {
    std::vector<KernelArguments> sets;
    sets.push_back(make_arguments(op, kernel, dims, 1));
    const size_t wanted = size_t(2 * cpu().last_level());
    const size_t count = std::min<size_t>(wanted / std::max<size_t>(sets.front().bytes(), 1) + 1, 4096);
    while (sets.size() < count) {
        sets.push_back(make_arguments(op, kernel, dims, sets.size() + 1));
    }
    return sets;
}

class Bench {
public:
    explicit Bench(const BenchOptions &o) : o_(o), threads_(thread_counts(o)) {}

    void run() {
        o_.check_database(o_.schedules);
        for (const auto &name : o_.ops) {
            if (o_.generator.empty()) {
                find_op(name);  // before anything is built
            }
        }
        for (const auto &name : o_.ops) {
            o_.generator.empty() ? bench_op(find_op(name)) : bench_own(name);
        }
        progress_.say("");
        if (o_.json) {
            fmt::print("{}\n", table_json(rows_).dump(1));
        } else {
            print_table(rows_);
        }
    }

private:
    void bench_op(const Op &op) {
        const auto shapes = shapes_of(o_, op);
        std::vector<CompiledKernel> kernels;
        for (const auto &schedule : schedules_for(o_, op)) {
            progress_.say(fmt::format("{}: building {}", op.name, schedule.empty() ? "" : schedule));
            GenerateRequest request = o_.request(op.name, schedule, shapes.size() == 1 ? &shapes.front() : nullptr);
            kernels.push_back(CompiledKernel::build(request));
        }
        for (const auto &dims : shapes) {
            bench_kernels(op, dims, kernels);
        }
    }

    // Of a generator of the user's, which may have no schedule.
    void bench_own(const std::string &name) {
        std::vector<Dims> shapes;
        for (const auto &text : o_.shapes) {
            for (const auto &one : split(text, ';')) {
                shapes.push_back(parse_own_shape(one));
            }
        }
        if (shapes.empty()) {
            shapes.emplace_back();  // those that it estimates
        }
        Op op;
        op.name = name;
        std::vector<CompiledKernel> kernels;
        std::unique_ptr<NaiveSchedule> naive;
        for (const auto &schedule : schedules_for(o_, op)) {
            progress_.say(fmt::format("{}: building {}", name, schedule));
            const GenerateRequest request = o_.request(name, schedule, shapes.size() == 1 ? &shapes.front() : nullptr);
            kernels.push_back(CompiledKernel::build(request));
            naive = naive ? std::move(naive) : std::make_unique<NaiveSchedule>(request, kernels.front().params());
        }
        for (const auto &dims : shapes) {
            op = own_op(name, kernels.front(), dims);
            progress_.say(fmt::format("{}: checking against the naive schedule", name));
            for (const auto &kernel : kernels) {
                naive->check(kernel, kernel.script().empty() ? name : kernel.script(), dims);
            }
            bench_kernels(op, dims, kernels);
        }
    }

    void bench_kernels(const Op &op, const Dims &dims, const std::vector<CompiledKernel> &kernels) {
        std::vector<Contestant> contestants(kernels.size());
        for (size_t i = 0; i < kernels.size(); i++) {
            contestants[i].name = kernels[i].script().empty() ? "none" : schedule_name(kernels[i].script());
            contestants[i].kernel = &kernels[i];
            contestants[i].sets = make_sets(op, kernels[i], dims);
        }
        for (int threads : threads_) {
            bench_shape(op, dims, threads, contestants);
        }
    }

    void bench_shape(const Op &op, const Dims &dims, int threads, std::vector<Contestant> &contestants) {
        progress_.say(fmt::format("{} {}: {} thread(s)", op.name, shape_text(op, dims), threads));
        const Peak peak = machine_peak(threads, o_.again && measured_.insert(threads).second);
        for (auto &c : contestants) {
            c.kernel->set_threads(threads);
        }
        const Contest warm = measure(contestants, {false, o_.seconds, threads});
        const Contest cold = measure(contestants, {true, o_.seconds, threads});
        for (size_t i = 0; i < contestants.size(); i++) {
            const Contestant &c = contestants[i];
            BenchRow row;
            row.op = op.name;
            row.shape = shape_text(op, dims);
            row.type = type_of(*c.kernel);
            row.target = c.kernel->target();
            row.schedule = c.name;
            row.threads = threads;
            row.bytes = double(c.sets.front().bytes());
            row.flops = flops_of(op, with_params(op, dims, c.kernel->params()));
            row.warm = warm.all[i].timing;
            row.cold = cold.all[i].timing;
            row.busy = warm.busy.empty() ? cold.busy : warm.busy;
            row.warm_noise = warm.noise;
            row.cold_noise = cold.noise;
            if (i > 0) {
                const std::string &first = contestants.front().name;
                row.warm_verdict = warm.verdict(0, i, first, c.name);
                row.cold_verdict = cold.verdict(0, i, first, c.name);
                row.warm_tie = warm.tie(0, i);
                row.cold_tie = cold.tie(0, i);
                row.warm_times = warm.ratio(i, 0).times;
                row.cold_times = cold.ratio(i, 0).times;
            }
            const double arithmetic = row.flops / peak.flops;
            row.warm_floor = std::max(row.bytes / peak.bandwidth(int64_t(row.bytes)), arithmetic);
            row.cold_floor = std::max(row.bytes / peak.memory_bandwidth(), arithmetic);
            row.arithmetic_bound = arithmetic >= row.bytes / peak.memory_bandwidth();
            rows_.push_back(row);
        }
    }

    const BenchOptions &o_;
    const std::vector<int> threads_;
    std::set<int> measured_;
    std::vector<BenchRow> rows_;
    Progress progress_;
};

}  // namespace

void add_bench(CLI::App &app) {
    auto o = std::make_shared<BenchOptions>();
    CLI::App *cmd = app.add_subcommand("bench", "Time schedules, beside what the machine can do");
    cmd->add_option("op", o->ops, "Ops, as `halyard list` names them, or generators of --generator")->required()->type_name("OP");
    add_repeated(*cmd, "--schedule", o->schedules, "A Lua file, the name of one that ships, db:ID or best; several are interleaved")
        ->type_name("FILE|NAME");
    cmd->add_flag("--all-schedules", o->all_schedules, "Every schedule that ships for the op");
    add_repeated(*cmd, "--shape", o->shapes,
                 "A size, as rows=64,cols=4096, or of the arrays of your --generator, as x=4096x64,y=4096x64 [those of the registry, "
                 "or that it estimates]")
        ->type_name("DIMS");
    cmd->add_option("--threads", o->threads, "Thread counts, as 1,2 [all processors]")->type_name("LIST");
    cmd->add_option("--seconds", o->seconds, "Time for each kernel and size, about")
        ->type_name("SEC")
        ->check(positive_seconds())
        ->capture_default_str();
    cmd->add_flag("--measure-again", o->again, "Measure the machine's peaks, also if they are in the cache");
    cmd->add_flag("--json", o->json, "A list of records on standard output, one for warm and one for cold");
    o->add(*cmd, "The instruction set [host]");
    put_in_group(*cmd, group::kSchedule, {"--schedule", "--all-schedules"});
    put_in_group(*cmd, group::kMeasurement, {"--shape", "--threads", "--seconds", "--measure-again"});
    put_in_group(*cmd, group::kOutput, {"--json"});
    cmd->footer("\nwarm takes buffers that are in the cache; cold goes through twice the last level of cache.\n"
                "Times are medians; middle half is how far the quartiles lie from it. Several schedules take turns, and\n"
                "the first runs beside itself too: what differs less than that is a tie. On one thread it is the\n"
                "processor's time that counts.\n"
                "The roof is the larger of bytes over the bandwidth of a copy (warm: in the cache that holds the\n"
                "data) and flops over the f32 multiply-add peak, both measured here with as many threads.\n"
                "\nExamples:\n"
                "  halyard bench rms_norm --all-schedules --threads 1,2\n"
                "  halyard bench softmax --schedule softmax --schedule my.lua --shape rows=64,cols=4096\n"
                "  halyard bench gemm --json\n"
                "  halyard bench blur --generator ./my.generator --schedule blur.lua --schedule none --shape y=4096x64\n"
                "What a generator of your own computes is checked against its naive schedule first, and its flops are not counted:\n"
                "the roof is that of its bytes.");
    cmd->callback([o] { Bench(*o).run(); });
}

}  // namespace halyard
