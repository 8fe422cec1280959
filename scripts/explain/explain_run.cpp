#include "explain/explain_run.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "explain/assembly.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/generator_params.h"
#include "explain/peak.h"
#include "kernel/outputs.h"
#include "kernel/process.h"
#include "explain/sampler.h"
#include "kernel/schedules.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard {

namespace {

const char *const kNeedsSchedule = "explain needs a schedule: name a Lua file with --schedule";

// "f32" for "float32"
std::string short_type(const std::string &type) {
    return type == "float32" ? "f32" : type == "float16" ? "f16" : type == "bfloat16" ? "bf16" : type;
}

// Threads have an L1 and an L2 of their own, and share what is beyond.
std::string caches_text(int threads) {
    return fmt::format("l1:{},l2:{},l3:{}", cpu().l1 > 0 ? cpu().l1 : 32 << 10, cpu().l2, cpu().l3 / threads);
}

// Together twice the last level of cache. Where nothing is called, one, and nothing in it: only sizes are asked for.
std::vector<KernelArguments> make_sets(const Op &op, const CompiledKernel &kernel, const Dims &dims, bool called) {
    std::vector<KernelArguments> sets;
    sets.push_back(make_arguments(op, kernel, dims, 1, called));
    if (!called) {
        return sets;
    }
    const size_t count = std::min<size_t>(size_t(2 * cpu().last_level()) / std::max<size_t>(sets.front().bytes(), 1) + 1, 4096);
    while (sets.size() < count) {
        sets.push_back(make_arguments(op, kernel, dims, sets.size() + 1));
    }
    return sets;
}

Bytes argument_bytes(const CompiledKernel &kernel, KernelArguments &set) {
    Bytes b;
    for (const auto &a : kernel.arguments()) {
        if (a.is_buffer) {
            (a.is_output ? b.written : b.read) += double(set.buffer(a.name).bytes());
        }
    }
    return b;
}

// The same of what the plugin says.
Bytes argument_bytes(const Op &op, const nlohmann::json &arrays) {
    Bytes b;
    for (const auto &a : arrays) {
        const OpArgument *registered = a.at("argument") ? op.argument(a.at("name")) : nullptr;
        if (registered) {
            (registered->output ? b.written : b.read) += a.at("bytes").get<double>();
        }
    }
    return b;
}

// What a call reads and writes at least, at the bandwidths and from the level that holds all of it: where little is written a copy is no measure.
double arguments_once(const Bytes &b, const Machine &machine, bool cold) {
    const auto found = std::find_if(machine.levels.begin(), machine.levels.end(),
                                    [&](const MemoryLevel &l) { return !cold && double(l.bytes) >= b.both(); });
    const MemoryLevel &level = found == machine.levels.end() ? machine.levels.back() : *found;
    const double written = level.bytes == 0 ? std::max(level.written, machine.streamed) : level.written;
    return b.read / level.read + b.written / written;
}

// The loops of the assembly that are the loop of the tree. LLVM may have made copies; and a version of the loops that only the
// finishing step makes, as for stream, is not there: then those of the same name.
std::vector<size_t> copies_of(const ExplainedLoop &loop, const Assembly &assembly) {
    std::vector<size_t> copies, others;
    for (size_t i = 0; i < assembly.loops.size(); i++) {
        if (assembly.loops[i].name == loop.halide) {
            (assembly.loops[i].occurrence == loop.occurrence ? copies : others).push_back(i);
        }
    }
    return copies.empty() ? others : copies;
}

void add_cycles(Explained &e, const Assembly &assembly, const Samples &samples) {
    std::vector<std::vector<std::string>> texts;
    std::vector<size_t> loops;
    for (size_t i = 0; i < e.loops.size(); i++) {
        size_t best = assembly.loops.size();
        for (const size_t c : copies_of(e.loops[i], assembly)) {
            const auto weight = [&](size_t k) {
                return std::make_pair(k < samples.by_loop.size() ? samples.by_loop[k] : 0, assembly.loops[k].instructions.size());
            };
            if (best == assembly.loops.size() || weight(c) > weight(best)) {
                best = c;
            }
        }
        if (best < assembly.loops.size() && !assembly.loops[best].instructions.empty()) {
            texts.push_back(assembly.loops[best].instructions);
            loops.push_back(i);
        }
    }
    const McaResult mca = analyse_loops(texts, "native");
    e.mca_program = mca.program;
    e.mca_processor = mca.processor;
    e.mca_error = mca.error;
    for (size_t k = 0; k < loops.size(); k++) {
        e.loops[loops[k]].mca = mca.loops[k];
    }
}

// Samples go to the stage whose loop they are in.
void add_samples(Explained &e, const Assembly &assembly, const Samples &samples) {
    e.samples = samples.total;
    e.sample_error = samples.error;
    if (samples.total < 50) {
        e.sample_error = samples.error.empty() ? "too few samples" : samples.error;
        return;
    }
    std::map<std::string, int> stage_of;
    for (const auto &l : e.loops) {
        stage_of.emplace(l.halide, l.stage);
    }
    std::vector<double> shares(e.stages.size());
    for (size_t i = 0; i < assembly.loops.size(); i++) {
        const double share = double(samples.by_loop[i]) / samples.total;
        const auto stage = stage_of.find(assembly.loops[i].name);
        if (stage != stage_of.end() && stage->second >= 0) {
            shares[size_t(stage->second)] += share;
        }
        for (auto &l : e.loops) {
            if (l.halide == assembly.loops[i].name && l.occurrence == assembly.loops[i].occurrence) {
                l.share = l.share.value_or(0) + share;
            }
        }
    }
    for (size_t i = 0; i < e.stages.size(); i++) {
        const bool has_loop =
            std::any_of(e.loops.begin(), e.loops.end(), [&](const ExplainedLoop &l) { return l.stage == int(i) && l.share; });
        if (has_loop && e.warm.measured) {
            e.stages[i].warm.measured = shares[i] * *e.warm.measured;
        }
    }
}

// One run of the generator, which compiles nothing and reports what the plugin counts.
Explained counted(const Op &op, GenerateRequest g, const ExplainRequest &request) {
    g.emit = {"c_header"};
    g.caches = caches_text(request.threads);
    g.target = g.target.empty() ? "host" : g.target;
    const Plan plan = make_plan(g);
    if (plan.script.empty()) {
        throw UsageError(kNeedsSchedule);
    }
    const TemporaryDirectory work(temporary_root());
    const Generated made = generate(plan, work.path());
    if (!made.ok) {
        throw Failure(made.error);
    }
    if (!made.report.is_object() || !made.report.contains("traffic")) {
        throw Failure(fmt::format("{}: error: the plugin {} reported no traffic", plan.script, plan.inputs.at(1)));
    }
    Explained e;
    e.op = op.name;
    e.script = plan.script;
    e.schedule = schedule_name(e.script);
    e.shape = shape_text(op, request.shape);
    e.target = plan.targets.front();
    e.threads = request.threads;
    e.arguments = argument_bytes(op, made.report.at("traffic").at("arrays"));
    e.needed_bytes = e.arguments.both();
    read_report(e, made.report);
    return e;
}

// Of a generator's parameters those that nobody gave, too.
Assignments all_params(const GenerateRequest &g) {
    const Plan plan = make_plan(g);
    Assignments all = plan.params;
    for (const auto &p : generator_params(plan.executable, plan.op)) {
        all.emplace(p.name, p.value);
    }
    return all;
}

void set_floors(Explained &e, const Op &op, const Assignments &params, const Dims &shape, const Machine &machine, const Peak &peak) {
    // Some schedules leave out padding or what a causal mask hides.
    const double operations = op.is_own() ? e.flops : std::min(flops_of(op, with_params(op, shape, params)), e.flops);
    const double flops = operations / std::max(peak.flops, product_rate(e, machine));
    const double warm = e.needed_bytes / peak.bandwidth(int64_t(e.needed_bytes)), cold = e.needed_bytes / peak.memory_bandwidth();
    e.warm_floor = std::max(flops, std::min(warm, arguments_once(e.arguments, machine, false)));
    e.cold_floor = std::max(flops, std::min(cold, arguments_once(e.arguments, machine, true)));
}

}  // namespace

std::vector<Explained> count_schedules(const Op &op, const ExplainRequest &request) {
    check_shape(op, request.shape);
    std::vector<Explained> all;
    std::vector<Assignments> params;
    for (GenerateRequest g : request.schedules) {
        g.target = g.target.empty() ? "host" : g.target;
        params.push_back(all_params(g));
        g.sizes = sizes_text(op, with_params(op, request.shape, params.back()));
        Explained e = counted(op, g, request);
        const auto type = params.back().find("type");
        e.type = type == params.back().end() ? "" : short_type(type->second);
        e.mca_error = "not asked, as nothing was compiled (--count): two vector instructions a cycle are assumed";
        all.push_back(std::move(e));
    }
    const Machine machine = measured_machine(request.threads, request.again);
    const Peak peak = machine_peak(request.threads, false);
    for (size_t i = 0; i < all.size(); i++) {
        predict(all[i], machine);
        set_floors(all[i], op, params[i], request.shape, machine, peak);
    }
    return all;
}

std::vector<Explained> explain_schedules(const Op &op, const ExplainRequest &request, const std::function<void(const std::string &)> &say) {
    check_shape(op, request.shape);
    std::vector<Explained> all;
    std::vector<CompiledKernel> kernels;
    std::vector<Assembly> assemblies;
    std::vector<std::vector<KernelArguments>> sets;
    for (GenerateRequest g : request.schedules) {
        say("building " + g.op + " " + g.schedule);
        kernels.push_back(CompiledKernel::build(g));
        const CompiledKernel &kernel = kernels.back();
        if (kernel.script().empty()) {
            throw UsageError(kNeedsSchedule);
        }
        sets.push_back(make_sets(op, kernel, request.shape, request.measure));

        g.sizes = sizes_text(op, request.shape, kernel, sets.back().front());
        g.target = g.target.empty() ? "host" : g.target;
        Explained e = counted(op, g, request);
        e.type = type_of(kernel);
        e.target = kernel.target();
        e.arguments = argument_bytes(kernel, sets.back().front());
        e.needed_bytes = e.arguments.both();
        all.push_back(std::move(e));

        const TemporaryDirectory work(temporary_root());
        g.emit = {"assembly"};
        g.caches = caches_text(request.threads);
        Plan plan = make_plan(g);
        plan.finish = false;
        const Generated named = generate(plan, work.path());
        if (!named.ok) {
            throw Failure(named.error);
        }
        assemblies.push_back(read_assembly(read_file((std::filesystem::path(work.path()) / (plan.function + ".s")).string(), kMostText)));
    }

    // After the schedules: a cold measurement takes longer than it takes to find what is wrong with one.
    say("measuring the machine");
    const Machine machine = measured_machine(request.threads, request.again);
    const Peak peak = machine_peak(request.threads, false);
    std::vector<Samples> samples(all.size());
    if (request.measure) {
        say("measuring");
        std::vector<Contestant> contestants(all.size());
        for (size_t i = 0; i < all.size(); i++) {
            kernels[i].set_threads(request.threads);
            contestants[i].name = all[i].schedule;
            contestants[i].kernel = &kernels[i];
            contestants[i].sets = std::move(sets[i]);
        }
        const auto warm = std::make_shared<const Contest>(measure(contestants, {false, request.seconds, request.threads}));
        const auto cold = std::make_shared<const Contest>(measure(contestants, {true, request.seconds, request.threads}));
        for (size_t i = 0; i < all.size(); i++) {
            all[i].warm_turns = {warm, i};
            all[i].cold_turns = {cold, i};
            all[i].warm.measured = warm->all[i].timing.median;
            all[i].cold.measured = cold->all[i].timing.median;
            auto addresses = contestants[i].sets.front().addresses();
            all[i].counters = count_events([&] { kernels[i].call(addresses.data()); });
            samples[i] = sample_kernel(assemblies[i], op.name, addresses, std::max(request.seconds, 4 * warm->all[i].timing.median));
        }
    }
    for (size_t i = 0; i < all.size(); i++) {
        say("llvm-mca on the loops of " + all[i].schedule);
        add_cycles(all[i], assemblies[i], samples[i]);
        predict(all[i], machine);
        if (request.measure) {
            add_samples(all[i], assemblies[i], samples[i]);
        }
        set_floors(all[i], op, kernels[i].params(), request.shape, machine, peak);
    }
    return all;
}

}  // namespace halyard
